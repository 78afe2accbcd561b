/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Names that stand for functions whose name is not known. */
static bool is_placeholder(const char *name)
{
    static const char *const names[] = {
        "User function", "pthread function", "Executed OpenMP parallel function",
        "Unresolved",    "_NOT_Found",       "Not found",
        "Working",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Names of the functions that the user wrote, sorted. */
static size_t user_functions(const struct lull_trace *trace, struct lull_arena *arena,
                             const char ***ret_names)
{
    const char **names = lull_arena_zero(arena, trace->n_regions + 1, sizeof(*names));
    size_t count = 0;
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        bool written =
            region->paradigm == LULL_PARADIGM_USER || region->paradigm == LULL_PARADIGM_COMPILER;
        if (written && region->role == LULL_ROLE_FUNCTION && !is_placeholder(region->name))
            names[count++] = region->name;
    }
    if (count > 1)
        qsort(names, count, sizeof(*names), compare_names);
    *ret_names = names;
    return count;
}

/* If there are fewer functions, having none in common proves nothing: a tracer may have been told
 * to leave some out. */
#define ENOUGH_FUNCTIONS 3

/* Whether both runs have functions, but none in common. False, too, where that cannot be known:
 * runs of different formats, because tracers write names differently, and saved profiles, which do
 * not hold the functions. */
static bool strangers(const struct lull_run *a, const struct lull_run *b, struct lull_arena *arena)
{
    if (!a->trace || !b->trace || a->trace->format != b->trace->format)
        return false;
    const char **left, **right;
    size_t n_left = user_functions(a->trace, arena, &left);
    size_t n_right = user_functions(b->trace, arena, &right);
    if (n_left < ENOUGH_FUNCTIONS || n_right < ENOUGH_FUNCTIONS)
        return false;
    for (size_t i = 0; i < n_left; i++)
        if (bsearch(&left[i], right, n_right, sizeof(*right), compare_names))
            return false;
    return true;
}

static bool has_counter(const struct lull_breakdown *breakdown, const char *name)
{
    for (uint32_t i = 0; i < breakdown->n_counters; i++)
        if (strcmp(breakdown->counters[i].name, name) == 0)
            return true;
    return false;
}

/* The first counter of `a` that `b` lacks, or NULL. */
static const char *missing_counter(const struct lull_run *a, const struct lull_run *b)
{
    for (uint32_t i = 0; i < a->breakdown->n_counters; i++)
        if (!has_counter(b->breakdown, a->breakdown->counters[i].name))
            return a->breakdown->counters[i].name;
    return NULL;
}

static void note_counters(const struct lull_run *a, const struct lull_run *b,
                          struct lull_notices *notices)
{
    const char *lost = missing_counter(a, b);
    const char *gained = missing_counter(b, a);
    if (lost || gained)
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "The runs do not have the same counters: only %s has %s.",
                         lost ? a->name : b->name, lost ? lost : gained);
}

/* Warns if the instructions fit neither strong scaling (as many as before) nor weak scaling (as
 * many more as there are more units): a factor of `tolerated` off both. */
static void warn_of_growth(const struct lull_run *run, const struct lull_run *reference,
                           struct lull_notices *notices)
{
    static const double tolerated = 3;
    struct lull_scaling_evidence evidence;
    lull_scaling_guess(run->input, reference->input, &evidence);
    if (!isfinite(evidence.instructions) || evidence.instructions <= 0)
        return;
    double strong = fabs(log(evidence.instructions));
    double weak = fabs(log(evidence.instructions / evidence.units));
    if (strong > log(tolerated) && weak > log(tolerated))
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s executes %.3g times the instructions of %s on %.3g times the threads: "
                         "is it the same program on the same problem?",
                         run->path, evidence.instructions, reference->path, evidence.units);
}

/* Two versions of a program may be two files: this is no failure. */
static void warn_of_programs(const struct lull_run *run, const struct lull_run *reference,
                             struct lull_notices *notices)
{
    const char *is = run->trace ? lull_trace_property(run->trace, "program") : NULL;
    const char *was = reference->trace ? lull_trace_property(reference->trace, "program") : NULL;
    if (is && was && strcmp(is, was) != 0)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s is a run of '%s', %s one of '%s': are they the same program?",
                         run->path, is, reference->path, was);
}

lull_status lull_study_check(const struct lull_runs *runs, bool force, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_error *err)
{
    const struct lull_run *reference = &runs->runs[runs->reference];
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (run == reference)
            continue;
        if (!force && strangers(run, reference, arena))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: has no function in common with %s, expected runs of one "
                             "program (--force compares them all the same)",
                             run->path, reference->path);
        if (run->trace && reference->trace && strcmp(run->path, reference->path) == 0)
            lull_notices_add(notices, LULL_NOTICE_INFO, "%s is given twice.", run->path);
        warn_of_programs(run, reference, notices);
        note_counters(reference, run, notices);
        warn_of_growth(run, reference, notices);
    }
    return LULL_OK;
}

lull_status lull_study_reference(struct lull_runs *runs, const char *name, struct lull_arena *arena,
                                 struct lull_error *err)
{
    const char *known = "";
    runs->reference = 0;
    for (uint32_t i = 0; name && i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        if (strcmp(run->path, name) == 0 || strcmp(run->name, name) == 0) {
            runs->reference = i;
            return LULL_OK;
        }
        known = lull_arena_printf(arena, "%s%s%s", known, i ? ", " : "", run->name);
    }
    return name ? lull_fail(err, LULL_ERR_RANGE,
                            "reference '%s' is none of the runs, expected one of %s", name, known)
                : LULL_OK;
}

/* Guesses the scaling from the run with the most threads, the last one, compared with the
 * reference; if the last one is the reference, from the first. */
static enum lull_scaling guess(const struct lull_runs *runs, struct lull_notices *notices)
{
    const struct lull_run *reference = &runs->runs[runs->reference];
    const struct lull_run *run = &runs->runs[runs->count - 1];
    if (run == reference)
        run = &runs->runs[0];
    struct lull_scaling_evidence evidence;
    lull_scaling_guess(run->input, reference->input, &evidence);
    char instructions[64] = "";
    if (isfinite(evidence.instructions))
        snprintf(instructions, sizeof instructions, "%.2f times the instructions, ",
                 evidence.instructions);
    lull_notices_add(notices, LULL_NOTICE_INFO,
                     "Scaling: taken as %s, because %s, compared with %s, has %.4g times the "
                     "threads, %s%.2f times the mean useful time per thread and %.2f times the "
                     "runtime.",
                     evidence.guess == LULL_SCALING_WEAK ? "weak" : "strong", run->name,
                     reference->name, evidence.units, instructions, evidence.mean_useful,
                     evidence.runtime);
    return evidence.guess;
}

void lull_study_scaling(struct lull_runs *runs, enum lull_scaling_wish wish,
                        struct lull_notices *notices)
{
    runs->scaling = wish == LULL_SCALING_AS_WEAK ? LULL_SCALING_WEAK : LULL_SCALING_STRONG;
    if (runs->count < 2)
        return;
    switch (wish) {
    case LULL_SCALING_BY_EVIDENCE:
        runs->scaling = guess(runs, notices);
        break;
    case LULL_SCALING_AS_WEAK:
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "Scaling: weak (the problem grows with the threads), as asked for.");
        break;
    case LULL_SCALING_AS_STRONG:
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "Scaling: strong (the problem stays the same), as asked for.");
        break;
    case LULL_SCALING_NOT_SAID:
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "Scaling: strong (the problem stays the same) is assumed; --scaling "
                         "weak or auto changes that.");
        break;
    }
}

lull_status lull_study_compute(struct lull_runs *runs, struct lull_arena *arena,
                               struct lull_error *err)
{
    const struct lull_pop_input *reference =
        runs->count > 1 ? runs->runs[runs->reference].input : NULL;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct lull_run *run = &runs->runs[i];
        run->values = lull_arena_zero(arena, (size_t)lull_metric_count, sizeof(*run->values));
        lull_status status =
            lull_pop_compute(run->input, reference, runs->scaling, run->values, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s", run->path);
    }
    return LULL_OK;
}

lull_status lull_study_compare_loaded(struct lull_runs *runs,
                                      const struct lull_comparison_wish *wish,
                                      struct lull_notices *notices, struct lull_arena *arena,
                                      struct lull_error *err)
{
    lull_status status = lull_study_reference(runs, wish->reference, arena, err);
    if (status == LULL_OK)
        status = lull_study_check(runs, wish->force, notices, arena, err);
    if (status != LULL_OK)
        return status;
    lull_study_scaling(runs, wish->scaling, notices);
    return lull_study_compute(runs, arena, err);
}

lull_status lull_study_compare(const char *const *paths, uint32_t count,
                               const struct lull_runs_options *options,
                               const struct lull_comparison_wish *wish,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_runs *ret_runs, struct lull_error *err)
{
    lull_status status = lull_runs_load(paths, count, options, notices, arena, ret_runs, err);
    if (status != LULL_OK || !lull_team_is_first(options->team))
        return status; /* only the first member compares */
    return lull_study_compare_loaded(ret_runs, wish, notices, arena, err);
}
