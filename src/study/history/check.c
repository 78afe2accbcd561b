/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/history/check.h"

#include "base/file.h"
#include "study/compare.h"
#include "study/run_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ==== the runs ================================================================================ */

static int by_time_of_entry(const void *left, const void *right)
{
    const struct lull_history_entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Makes the entry of each run. Metrics that compare a run with another one have no value in it. */
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
        entries[i].line = run->order; /* runs of the same time keep the order of the operands */
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
    static const struct lull_code_options code = {.loops = false};
    const struct lull_asked asked = {.analysis = &lull_code_analysis, .options = &code};
    struct lull_runs_options wanted = *options;
    wanted.asked = &asked;
    wanted.n_asked = 1;
    lull_status status = lull_runs_load(paths, count, &wanted, notices, arena, &runs, err);
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

/* How many functions that compute an entry has, and how many of them the other entry has, too. */
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

/* Whether two runs may be of the same program. Three functions that all differ say no; fewer prove
 * nothing, because a tracer may have been told to leave some out. */
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

/* Where the last run of a series is from: "line 3 of perf.jsonl", or "old.lull", a run. */
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

/* ==== runs that confirm ======================================================================= */

/* Runs that are made to confirm a verdict. */

static lull_status make_run(const char *command, const char *path, struct lull_arena *arena,
                            struct lull_error *err)
{
    if (setenv("LULL_RUN", path, 1) != 0)
        return lull_fail_errno(err, "cannot set LULL_RUN");
    const int status = system(lull_arena_printf(arena, "{ %s\n} 1>&2", command));
    if (status == -1)
        return lull_fail_errno(err, "cannot run '%s'", command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return lull_fail(err, LULL_ERR_IO, "'%s' failed", command);
    return LULL_OK;
}

/* Runs the command `count` times. Each time the variable LULL_RUN of its environment holds the name
 * of the run that it is to write. Reads these runs, and removes them. What the command prints goes
 * to standard error. Fails where the command does. */
static lull_status confirm_run(const char *command, uint32_t count,
                               const struct lull_runs_options *options,
                               const struct lull_history_about *about, struct lull_notices *notices,
                               struct lull_arena *arena, struct lull_history_entry **ret_entries,
                               uint32_t *ret_count, struct lull_error *err)
{
    const char *folder, **paths = lull_arena_zero(arena, count + 1, sizeof(*paths));
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t i = 0; status == LULL_OK && i < count; i++) {
        paths[i] = lull_arena_printf(arena, "%s/again-%u.lull", folder, i + 1);
        status = make_run(command, paths[i], arena, err);
    }
    if (status == LULL_OK)
        status = lull_history_measure(paths, count, options, about, notices, arena, ret_entries,
                                      ret_count, err);
    lull_remove_tree(folder, NULL);
    return status;
}

/* ==== the check =============================================================================== */

static void judge_runs(const struct lull_check_wish *wish, struct lull_check_study *study,
                       struct lull_arena *arena)
{
    lull_gate_judge(wish->conditions, wish->n_conditions, study->runs, study->n_runs,
                    &study->history, &wish->gate, arena, &study->gate);
}

static lull_status confirm(const struct lull_check_wish *wish, struct lull_check_study *study,
                           struct lull_notices *notices, struct lull_arena *arena,
                           struct lull_error *err)
{
    struct lull_history_entry *all, *again;
    const uint32_t before = study->n_runs;
    lull_status status = confirm_run(wish->confirm, before, &wish->runs, &wish->about, notices,
                                     arena, &again, &study->n_confirming, err);
    if (status == LULL_OK)
        status = lull_history_check(&study->history, again, study->n_confirming, wish->runs.force,
                                    notices, err);
    if (status != LULL_OK)
        return lull_fail_prefix(err, status, "--confirm");
    study->n_runs = before + study->n_confirming;
    all = lull_arena_zero(arena, study->n_runs, sizeof(*all));
    for (uint32_t i = 0; i < study->n_runs; i++)
        all[i] = i < before ? study->runs[i] : again[i - before];
    study->runs = all;
    judge_runs(wish, study, arena);
    return LULL_OK;
}

lull_status lull_check_make(const char *const *paths, uint32_t count,
                            const struct lull_check_wish *wish, struct lull_notices *notices,
                            struct lull_arena *arena, struct lull_check_study *ret_study,
                            struct lull_error *err)
{
    struct lull_history_entry *runs;
    *ret_study = (struct lull_check_study){0};
    lull_status status = lull_history_measure(paths, count, &wish->runs, &wish->about, notices,
                                              arena, &runs, &ret_study->n_runs, err);
    if (status == LULL_OK)
        status = lull_history_read_series(wish->against, &runs->key, runs->commit, arena,
                                          &ret_study->history, err);
    if (status == LULL_OK) {
        lull_history_follow_edit(ret_study->history.entries, ret_study->history.count, &runs[0],
                                 notices);
        status = lull_history_check(&ret_study->history, runs, ret_study->n_runs, wish->runs.force,
                                    notices, err);
    }
    if (status != LULL_OK)
        return status;
    const struct lull_history *history = &ret_study->history;
    if (history->of_same_commit > 0 && history->count == 0)
        lull_notices_add(
            notices, LULL_NOTICE_INFO,
            "%s has no runs but of commit %s, which is judged here: only runs of other "
            "commits are a baseline.",
            wish->against, runs->commit);
    ret_study->runs = runs;
    judge_runs(wish, ret_study, arena);
    return wish->confirm && ret_study->gate.verdict == LULL_GATE_FAIL
               ? confirm(wish, ret_study, notices, arena, err)
               : LULL_OK;
}
