#include "study/history/measured.h"

#include "study/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *left, const void *right)
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
        qsort(entries, runs.count, sizeof(*entries), by_time);
        for (uint32_t i = 0; i < runs.count; i++)
            entries[i].line = 0;
        *ret_entries = entries;
        *ret_count = runs.count;
    }
    lull_runs_close(&runs);
    return status;
}

/* ---- do they belong together ----------------------------------------------------------------- */

static bool has_function(const struct lull_history_entry *entry, const char *region)
{
    for (uint32_t i = 0; i < entry->parts.count; i++) {
        const struct lull_part *part = &entry->parts.parts[i];
        if (part->activity == LULL_USEFUL && strcmp(part->region, region) == 0)
            return true;
    }
    return false;
}

/* Functions that compute, and how many of them the other one has, too. */
static void count_functions(const struct lull_history_entry *entry,
                            const struct lull_history_entry *other, uint32_t *ret_all,
                            uint32_t *ret_common)
{
    *ret_all = *ret_common = 0;
    for (uint32_t i = 0; i < entry->parts.count; i++) {
        const struct lull_part *part = &entry->parts.parts[i];
        if (part->activity != LULL_USEFUL || !*part->region)
            continue;
        ++*ret_all;
        *ret_common += has_function(other, part->region);
    }
}

static bool are_strangers(const struct lull_history_entry *a, const struct lull_history_entry *b)
{
    enum { ENOUGH = 3 };
    uint32_t of_a, of_b, common;
    count_functions(a, b, &of_a, &common);
    count_functions(b, a, &of_b, &common);
    return of_a >= ENOUGH && of_b >= ENOUGH && common == 0;
}

static lull_status fail_of_strangers(const struct lull_history *series,
                                     const struct lull_history_entry *last,
                                     const struct lull_history_entry *run, struct lull_error *err)
{
    char line[32] = "";
    if (last->line)
        snprintf(line, sizeof line, "line %u of ", last->line);
    return lull_fail(err, LULL_ERR_RANGE,
                     "%s has no function in common with %s%s, expected runs of one program "
                     "(--force compares them all the same)",
                     run->run, line, series->path);
}

lull_status lull_history_check(const struct lull_history *series,
                               const struct lull_history_entry *runs, uint32_t count, bool force,
                               struct lull_error *err)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(runs[0].key.layout, runs[i].key.layout) != 0)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s has layout %s and %s has %s, expected runs with the same "
                             "processes and threads",
                             runs[0].run, runs[0].key.layout, runs[i].run, runs[i].key.layout);
    const struct lull_history_entry *last =
        series->count ? &series->entries[series->count - 1] : NULL;
    for (uint32_t i = 0; last && !force && i < count; i++)
        if (are_strangers(&runs[i], last))
            return fail_of_strangers(series, last, &runs[i], err);
    return LULL_OK;
}
