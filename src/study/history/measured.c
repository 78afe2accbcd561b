#include "study/history/measured.h"

#include "study/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_time_of_entry(const void *left, const void *right)
{
    const struct lull_history_entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Metrics that compare a run with another one have no value here. */
static lull_status make_entries(struct lull_runs *runs, const struct lull_history_about *about,
                                struct lull_arena *arena, struct lull_history_entry *entries,
                                struct lull_error *err)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        struct lull_run *run = &runs->runs[i];
        run->values = lull_arena_zero(arena, (size_t)lull_metric_count, sizeof(*run->values));
        lull_status status =
            lull_pop_compute(run->input, NULL, LULL_SCALING_STRONG, run->values, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s", run->path);
        lull_history_entry_of(run, about, arena, &entries[i]);
        entries[i].line =
            run->order; /* of runs at the same time the order of the operands counts */
    }
    return LULL_OK;
}

lull_status lull_history_measure(const char *const *paths, uint32_t count,
                                 const struct lull_runs_options *options,
                                 const struct lull_history_about *about,
                                 struct lull_notices *notices, struct lull_arena *arena,
                                 struct lull_history_entry **ret_entries, uint32_t *ret_count,
                                 struct lull_error *err)
{
    struct lull_runs runs;
    struct lull_history_entry *entries = NULL;
    lull_status status = lull_runs_load(paths, count, options, notices, arena, &runs, err);
    if (status == LULL_OK)
        status = lull_study_check(&runs, options->force, notices, arena, err);
    if (status == LULL_OK) {
        entries = lull_arena_zero(arena, runs.count + 1, sizeof(*entries));
        status = make_entries(&runs, about, arena, entries, err);
    }
    if (status == LULL_OK) {
        qsort(entries, runs.count, sizeof(*entries), by_time_of_entry);
        for (uint32_t i = 0; i < runs.count; i++)
            entries[i].line = 0;
        *ret_entries = entries;
        *ret_count = runs.count;
    }
    lull_runs_close(&runs);
    return status;
}

/* ---- do they belong together ----------------------------------------------------------------- */

static bool is_function(const struct lull_part *part)
{
    return part->activity == LULL_USEFUL && *part->region;
}

static bool has_function(const struct lull_history_entry *entry, const char *region)
{
    for (uint32_t i = 0; i < entry->parts.count; i++)
        if (is_function(&entry->parts.parts[i]) &&
            strcmp(entry->parts.parts[i].region, region) == 0)
            return true;
    return false;
}

/* Functions that compute, and how many of them the other one has, too. */
static uint32_t count_functions(const struct lull_history_entry *entry,
                                const struct lull_history_entry *other, uint32_t *ret_common)
{
    uint32_t all = 0;
    *ret_common = 0;
    for (uint32_t i = 0; i < entry->parts.count; i++) {
        const struct lull_part *part = &entry->parts.parts[i];
        if (!is_function(part))
            continue;
        all++;
        *ret_common += has_function(other, part->region);
    }
    return all;
}

enum kinship { KIN, PERHAPS_STRANGERS, STRANGERS };

/* Few functions prove nothing: a tracer may have been told to leave some out. */
static enum kinship kinship_of(const struct lull_history_entry *a,
                               const struct lull_history_entry *b)
{
    enum { ENOUGH = 3 };
    uint32_t common;
    const uint32_t of_a = count_functions(a, b, &common), of_b = count_functions(b, a, &common);
    if (of_a == 0 || of_b == 0 || common > 0)
        return KIN;
    return of_a >= ENOUGH && of_b >= ENOUGH ? STRANGERS : PERHAPS_STRANGERS;
}

/* "line 3 of perf.jsonl", "old.lull". */
static const char *describe_last(const struct lull_history *series,
                                 const struct lull_history_entry *last, struct lull_arena *arena)
{
    return last->line ? lull_arena_printf(arena, "line %u of %s", last->line, series->path)
                      : series->path;
}

static lull_status check_layouts(const struct lull_history_entry *runs, uint32_t count,
                                 struct lull_error *err)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(runs[0].key.layout, runs[i].key.layout) != 0)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s has layout %s and %s has %s, expected runs with the same "
                             "processes and threads",
                             runs[0].run, runs[0].key.layout, runs[i].run, runs[i].key.layout);
    return LULL_OK;
}

static lull_status check_program(const struct lull_history *series,
                                 const struct lull_history_entry *run, bool force,
                                 struct lull_notices *notices, struct lull_error *err)
{
    const struct lull_history_entry *last = &series->entries[series->count - 1];
    const enum kinship kinship = kinship_of(run, last);
    if (kinship == KIN || (kinship == STRANGERS && force))
        return LULL_OK;
    const char *other = describe_last(series, last, notices->arena);
    if (kinship == STRANGERS)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s has no function in common with %s, expected runs of one program "
                         "(--force compares them all the same)",
                         run->run, other);
    lull_notices_add(notices, LULL_NOTICE_WARNING,
                     "%s has no function in common with %s: are they runs of one program?",
                     run->run, other);
    return LULL_OK;
}

lull_status lull_history_check(const struct lull_history *series,
                               const struct lull_history_entry *runs, uint32_t count, bool force,
                               struct lull_notices *notices, struct lull_error *err)
{
    lull_status status = check_layouts(runs, count, err);
    for (uint32_t i = 0; status == LULL_OK && series->count && i < count; i++)
        status = check_program(series, &runs[i], force, notices, err);
    return status;
}

void lull_history_follow_edit(struct lull_history_entry *entries, uint32_t count,
                              const struct lull_history_entry *edited, struct lull_notices *notices)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t moved =
            lull_parts_follow_edit(&entries[i].parts, &edited->parts, notices->arena);
        most = moved > most ? moved : most;
    }
    if (most > 0)
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "%u region%s or call site%s at other lines in %s than before: they are "
                         "taken for the same, in their order.",
                         most, most == 1 ? "" : "s", most == 1 ? " is" : "s are", edited->run);
}
