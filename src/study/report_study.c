/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/report_study.h"

#include "base/array.h"
#include "study/call_paths.h"
#include "study/joint_pass.h"
#include "study/run_code.h"
#include "wave/field.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== iterations ============================================================================== */

/* Iterations are found in a pass beside other analyses. Their memory grows with the MPI calls that
 * wait, so the search is given up after this many spans, or calls, of master threads. */
#define ITERATIONS_MOST UINT64_C(4000000)

struct iterations {
    struct lull_wave_collector *collector;
    struct lull_consumer inner;
    uint8_t counted; /* enum lull_step_kind, of what `steps` counts */
    const struct lull_trace *trace;
    atomic_uint_fast64_t steps; /* of masters, so far: spans, or ends of calls */
};

static bool gave_up(const struct iterations *iterations)
{
    return atomic_load_explicit(&iterations->steps, memory_order_relaxed) > ITERATIONS_MOST;
}

static lull_status pass_on_iterations(void *context, unsigned worker,
                                      const struct lull_steps *steps, struct lull_error *err)
{
    struct iterations *iterations = context;
    const uint32_t process = iterations->trace->locations[steps->location].process;
    uint64_t seen = 0;
    if (gave_up(iterations) ||
        iterations->trace->processes[process].first_location != steps->location)
        return LULL_OK;
    for (uint32_t i = 0; i < steps->count; i++)
        seen += steps->steps[i].kind == iterations->counted;
    atomic_fetch_add_explicit(&iterations->steps, seen, memory_order_relaxed);
    return iterations->inner.steps(iterations->inner.context, worker, steps, err);
}

/* Options: lull_runs_options. If waits are followed, too, the pass tells each MPI call with its
 * begin and end. Otherwise each SPAN in MPI is taken for a call, and calls that take no time are
 * not seen. */
static lull_status iterations_create(void *state, const void *options,
                                     struct lull_joint_pass *joint, struct lull_error *err)
{
    struct iterations *iterations = state;
    const bool calls_in_full = lull_runs_follow_waits(options, joint->trace);
    iterations->trace = joint->trace;
    iterations->counted = calls_in_full ? LULL_STEP_CALL_END : LULL_STEP_SPAN;
    lull_status status = lull_wave_collector_create(joint->trace, joint->reading->application, NULL,
                                                    &iterations->collector, err);
    if (status == LULL_OK && calls_in_full)
        iterations->inner = lull_wave_collector_consumer(iterations->collector);
    else if (status == LULL_OK)
        status =
            lull_wave_collector_consumer_of_spans(iterations->collector, &iterations->inner, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, (struct lull_consumer){.context = iterations,
                                                          .wants = iterations->inner.wants,
                                                          .steps = pass_on_iterations});
    return status;
}

/* Adds up the steps of all members, which decide whether to give up, and gathers the iterations. */
static lull_status iterations_gather(void *state, const struct lull_joint_pass *joint,
                                     struct lull_error *err)
{
    struct iterations *iterations = state;
    const struct lull_division *division = joint->reading->division;
    if (!division)
        return LULL_OK;
    int64_t steps = (int64_t)atomic_load(&iterations->steps);
    lull_status status = lull_team_sum_to_all(division->team, &steps, 1, err);
    status = lull_team_agree(division->team, status, err);
    if (status != LULL_OK)
        return status;
    atomic_store(&iterations->steps, (uint64_t)steps);
    if (gave_up(iterations))
        return LULL_OK;
    lull_wave_collector_share_processes(iterations->collector, division);
    return lull_wave_collector_gather(iterations->collector, err);
}

static void iterations_release(void *state)
{
    const struct iterations *iterations = state;
    lull_wave_collector_destroy(iterations->collector);
}

static const struct lull_analysis iterations_analysis = {.size = sizeof(struct iterations),
                                                         .create = iterations_create,
                                                         .gather = iterations_gather,
                                                         .release = iterations_release};

/* The field of a run's iterations. NULL: there is none, and *ret_absent says why, as a sentence in
 * `arena`. */
static const struct lull_wave_field *find_field(const struct iterations *iterations,
                                                struct lull_arena *arena, const char **ret_absent)
{
    const struct lull_wave_field *field;
    struct lull_error err = {""};
    if (gave_up(iterations)) {
        *ret_absent = lull_arena_printf(
            arena, "Iterations are looked for in runs whose masters have up to %llu steps.",
            (unsigned long long)ITERATIONS_MOST);
        return NULL;
    }
    if (lull_wave_collector_conclude(iterations->collector, &field, &err) == LULL_OK)
        return field;
    const char *text = err.text;
    const size_t length = strlen(iterations->trace->path);
    if (strncmp(text, iterations->trace->path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    *ret_absent = lull_arena_printf(arena, "No iterations were found: the run %s.", text);
    return NULL;
}

/* ==== the timeline ============================================================================ */

struct timeline_state {
    struct lull_timeline_builder *builder;
    const struct lull_timeline *timeline; /* part of the builder; on the first member only */
};

/* Options: lull_report_options. */
static lull_status timeline_create(void *state, const void *options, struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    struct timeline_state *timeline = state;
    const struct lull_report_options *report = options;
    const struct lull_timeline_options wanted = {.reading = joint->reading,
                                                 .fine = report->fine,
                                                 .most_steps = report->most_steps,
                                                 .most_messages = report->most_messages};
    lull_status status =
        lull_timeline_create(joint->trace, &wanted, joint->workers, &timeline->builder, err);
    if (status == LULL_OK)
        lull_joint_pass_add(joint, lull_timeline_consumer(timeline->builder));
    return status;
}

static lull_status timeline_gather(void *state, const struct lull_joint_pass *joint,
                                   struct lull_error *err)
{
    const struct timeline_state *timeline = state;
    return lull_timeline_gather(timeline->builder, joint->reading->division, err);
}

static lull_status timeline_conclude(void *state, const struct lull_joint_pass *joint,
                                     struct lull_error *err)
{
    struct timeline_state *timeline = state;
    return joint->is_first ? lull_timeline_conclude(timeline->builder, &timeline->timeline, err)
                           : LULL_OK;
}

static void timeline_release(void *state)
{
    const struct timeline_state *timeline = state;
    lull_timeline_destroy(timeline->builder);
}

static const struct lull_analysis timeline_analysis = {.size = sizeof(struct timeline_state),
                                                       .create = timeline_create,
                                                       .gather = timeline_gather,
                                                       .conclude = timeline_conclude,
                                                       .release = timeline_release};

/* ==== the study =============================================================================== */

void lull_report_budget(uint64_t bytes, struct lull_report_options *options)
{
    /* A step takes 5 bytes of a page, or less where steps repeat each other, and 16 in memory. */
    static const uint64_t usual = 16000000, most = 10 * usual;
    const uint64_t room = bytes < most ? bytes : most;
    options->most_steps = 2500000 * room / usual;
    options->most_messages = 200000 * room / usual;
    options->fine = LULL_TIMELINE_FINEST;
    for (uint64_t small = bytes; small < usual / 4 && options->fine > LULL_TIMELINE_COARSE;
         small *= 2)
        options->fine--;
}

/* ---- who differs ----------------------------------------------------------------------------- */

struct amount {
    uint32_t row;
    int64_t ns;
};

static int compare_amounts(const void *a, const void *b)
{
    const struct amount *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int64_t distance(const struct lull_report_difference *difference)
{
    return llabs((long long)(difference->useful_ns - difference->median_ns));
}

static void add_difference(struct lull_report_run *run,
                           const struct lull_report_difference *difference)
{
    uint32_t at = run->n_differences;
    while (at > 0 && distance(&run->differences[at - 1]) < distance(difference))
        at--;
    lull_array_insert(run->differences, &run->n_differences, LULL_REPORT_DIFFERENCES, at,
                      difference, sizeof *difference);
}

/* Mean useful time of the CPU threads of a row, in ns; -1: it has none. Device streams do not
 * count. */
static int64_t useful_of_row(const struct lull_timeline *timeline, uint32_t row)
{
    int64_t ns[LULL_STEP_ACTIVITIES], sum = 0, threads = 0;
    const struct lull_timeline_row *at = &timeline->rows[row];
    for (uint32_t l = at->first_leaf; l < at->first_leaf + at->n_leaves; l++) {
        const struct lull_timeline_leaf *leaf = &timeline->leaves[l];
        if (timeline->trace->locations[leaf->location].kind != LULL_LOCATION_THREAD)
            continue;
        lull_timeline_cells(timeline, leaf->row, 0, 0, 1, ns);
        sum += ns[LULL_USEFUL];
        threads++;
    }
    return threads ? sum / threads : -1;
}

/* Compares rows of one kind: processes if there are several, else threads. */
static void find_differences(struct lull_report_run *run, struct lull_arena *arena)
{
    const struct lull_timeline *timeline = run->timeline;
    uint32_t of_kind[LULL_TIMELINE_ROW_KINDS] = {0};
    for (uint32_t row = 0; row < timeline->n_rows; row++)
        of_kind[timeline->rows[row].kind]++;
    const uint8_t kind =
        of_kind[LULL_TIMELINE_PROCESS] > 1 ? LULL_TIMELINE_PROCESS : LULL_TIMELINE_THREAD;
    if (of_kind[kind] < 2 || timeline->end <= timeline->begin)
        return;
    struct amount *amounts = lull_arena_zero(arena, of_kind[kind], sizeof *amounts);
    uint32_t n = 0;
    for (uint32_t row = 0; row < timeline->n_rows; row++) {
        const int64_t ns = timeline->rows[row].kind == kind ? useful_of_row(timeline, row) : -1;
        if (ns >= 0)
            amounts[n++] = (struct amount){row, ns};
    }
    if (n < 2)
        return;
    run->peers = kind == LULL_TIMELINE_PROCESS ? "rank" : "thread";
    qsort(amounts, n, sizeof *amounts, compare_amounts);
    const int64_t low = amounts[(n - 1) / 2].ns, median = low + (amounts[n / 2].ns - low) / 2;
    const double least = LULL_REPORT_DIFFERS_LEAST * (double)(timeline->end - timeline->begin);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_report_difference difference = {amounts[i].row, amounts[i].ns, median};
        if ((double)distance(&difference) >= least)
            add_difference(run, &difference);
    }
}

/* ---- the report ------------------------------------------------------------------------------ */

static const char *why_absent(const struct lull_run *run, struct lull_arena *arena)
{
    if (!run->trace)
        return "It is a saved profile: sums without times. A timeline needs the trace.";
    if (run->trace->events == LULL_EVENTS_LAST)
        return lull_arena_printf(
            arena,
            "Its earlier events were not kept, and the numbers are from its sums: "
            "--window %.9gs: shows the part that has events.",
            1e-9 * (double)run->trace->events_begin);
    if (run->trace->events == LULL_EVENTS_FIRST)
        return lull_arena_printf(
            arena,
            "Its events end before it does, and the numbers are from its sums: "
            "--window 0s:%.9gs shows the part that has events.",
            1e-9 * (double)run->trace->events_end);
    return "Only sums were recorded, and no events: they do not tell what happened when.";
}

static void describe_run(const struct lull_run *run, struct lull_report_run *of,
                         struct lull_arena *arena)
{
    const struct timeline_state *timeline = lull_run_state(run, &timeline_analysis);
    const struct iterations *iterations = lull_run_state(run, &iterations_analysis);
    if (!timeline) {
        of->absent = why_absent(run, arena);
        return;
    }
    of->timeline = timeline->timeline;
    of->field = find_field(iterations, arena, &of->no_field);
    find_differences(of, arena);
}

lull_status lull_report_load(const char *const *paths, uint32_t count,
                             const struct lull_report_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_report *ret_report, struct lull_error *err)
{
    const struct lull_code_options code = {.loops = options->hot_loops, .bins = LULL_REPORT_BINS};
    const struct lull_asked asked[] = {
        {.analysis = &timeline_analysis, .options = options},
        {.analysis = &iterations_analysis, .options = &options->runs},
        {.analysis = &lull_code_analysis, .options = &code},
        {.analysis = &lull_path_analysis},
        {.analysis = &lull_evidence_analysis}};
    struct lull_runs_options wanted = options->runs;
    wanted.operations = true;
    wanted.asked = asked;
    wanted.n_asked = sizeof asked / sizeof *asked;
    *ret_report = (struct lull_report){0};
    lull_status status =
        lull_runs_load(paths, count, &wanted, notices, arena, &ret_report->runs, err);
    if (status != LULL_OK || !lull_team_is_first(wanted.team))
        return status;
    ret_report->n_of = ret_report->runs.count;
    ret_report->of = lull_arena_zero(arena, ret_report->n_of + (size_t)1, sizeof *ret_report->of);
    for (uint32_t i = 0; i < ret_report->n_of; i++)
        describe_run(&ret_report->runs.runs[i], &ret_report->of[i], arena);
    return LULL_OK;
}

static struct lull_diagnosis_options wanted_of(const struct lull_report_options *options,
                                               const struct lull_run *run)
{
    return (struct lull_diagnosis_options){
        .no_prices = options->no_prices ||
                     (run->trace && lull_runs_leave_replay(&options->runs, run->trace)),
        .machine = options->machine};
}

/* The hot loops of a run beside the machine; NULL: there is none, or it has no trace. */
static const struct lull_hot_loops *find_hot(const struct lull_report_options *options,
                                             const struct lull_run *run, struct lull_arena *arena)
{
    struct lull_hot_loops *hot = lull_arena_zero(arena, 1, sizeof *hot);
    struct lull_error err;
    if (!options->machine || !run->trace)
        return NULL;
    if (lull_hot_loops_find(run, &options->hot, arena, hot, &err) != LULL_OK)
        hot->absent = lull_arena_strdup(arena, err.text);
    return hot;
}

static struct lull_run *find_by_order(const struct lull_runs *runs, uint32_t order)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->runs[i].order == order)
            return &runs->runs[i];
    return NULL;
}

lull_status lull_report_diagnose(struct lull_report *report,
                                 const struct lull_report_options *options,
                                 struct lull_arena *arena, struct lull_error *err)
{
    const struct lull_runs *runs = &report->runs;
    const struct lull_run *reference = runs->count > 1 ? &runs->runs[runs->reference] : NULL;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; i < report->n_of; i++) {
        struct lull_report_run *of = &report->of[i];
        struct lull_diagnosis_options wanted = wanted_of(options, &runs->runs[i]);
        of->hot = wanted.hot = find_hot(options, &runs->runs[i], arena);
        lull_diagnosis_make(&runs->runs[i], reference, runs->scaling, of->field, &wanted, arena,
                            &of->diagnosis);
    }
    /* Members price together, so all take the runs in the order of the operands. */
    for (uint32_t i = 0; i < runs->count && status == LULL_OK; i++) {
        const struct lull_run *run = find_by_order(runs, i);
        const struct lull_diagnosis_options wanted = wanted_of(options, run);
        const size_t at = (size_t)(run - runs->runs);
        status = lull_diagnosis_price(
            run, &wanted, at < report->n_of ? &report->of[at].diagnosis : NULL, arena, err);
    }
    return status;
}

void lull_report_close(struct lull_report *report)
{
    lull_runs_close(&report->runs);
}
