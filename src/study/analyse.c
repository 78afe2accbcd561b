#include "study/analyse.h"

#include "study/joint_pass.h"
#include "study/left_out.h"
#include "study/replay/measured.h"
#include "study/run_part.h"
#include "trace/scan.h"
#include "trace/sums.h"

#include <math.h>
#include <string.h>

lull_status lull_run_fail(const struct lull_run *run, lull_status status, struct lull_error *err)
{
    if (status == LULL_OK || !err || strncmp(err->text, run->path, strlen(run->path)) == 0)
        return status;
    return lull_fail_prefix(err, status, "%s", run->path);
}

/* ---- the numbers --------------------------------------------------------------------------- */

static void count_threads_of_run(struct lull_run *run)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    run->processes = breakdown->n_processes;
    run->min_threads = UINT32_MAX;
    for (uint32_t i = 0; i < breakdown->n_processes; i++) {
        uint32_t threads = breakdown->processes[i].n_cpu_threads;
        run->threads += threads;
        run->min_threads = threads < run->min_threads ? threads : run->min_threads;
        run->max_threads = threads > run->max_threads ? threads : run->max_threads;
    }
}

static void warn_of_flushing(const struct lull_run *run, struct lull_notices *notices)
{
    const struct lull_pop_input *input = run->input;
    if (input->flush_share > LULL_FLUSH_WARNING)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: the tracer wrote its buffer for up to %.1f %% of the runtime of a "
                         "thread, which disturbs the run that was measured%s",
                         run->path, 100 * input->flush_share,
                         input->flush <= LULL_FLUSH_SHORT ? "; a longer run says more" : "");
}

/* Says so where force would help. */
static lull_status fail_of_metrics(const struct lull_run *run, lull_status status,
                                   struct lull_arena *arena, struct lull_error *err)
{
    struct lull_pop_input *forced;
    struct lull_error ignored;
    lull_run_fail(run, status, err);
    if (!err || lull_pop_from_breakdown(run->breakdown, true, arena, &forced, &ignored) != LULL_OK)
        return status;
    const struct lull_error doubted = *err;
    return lull_fail(err, status, "%s; --force prints them all the same", doubted.text);
}

lull_status lull_run_evaluate(struct lull_run *run, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_error *err)
{
    count_threads_of_run(run);
    lull_status status =
        lull_pop_from_breakdown(run->breakdown, options->force, arena, &run->input, err);
    if (status != LULL_OK)
        return fail_of_metrics(run, status, arena, err);
    warn_of_flushing(run, notices);
    return LULL_OK;
}

const bool *lull_run_callers(const struct lull_run *run, uint32_t application,
                             struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    const struct lull_trace *trace = run->trace;
    bool *callers = NULL;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        int64_t ns = 0;
        for (int parallel = 0; parallel < 2; parallel++)
            ns += thread->times.ns[LULL_MPI_P2P][parallel] +
                  thread->times.ns[LULL_MPI_COLLECTIVE][parallel];
        if (thread->master || ns == 0)
            continue;
        if (!callers)
            callers = lull_arena_zero(arena, trace->n_locations, sizeof *callers);
        uint32_t rank = breakdown->processes[thread->process].rank;
        for (uint32_t l = 0; l < trace->n_locations; l++) {
            const struct lull_process *process = &trace->processes[trace->locations[l].process];
            if (process->application == application && process->rank == rank &&
                trace->locations[l].kind == thread->kind &&
                trace->locations[l].number == thread->number)
                callers[l] = true;
        }
    }
    return callers;
}

/* ---- the runtime on an ideal network ------------------------------------------------------- */

/* W: the longest time that a process spends outside MPI. */
static double longest_outside(const struct lull_pop_input *input)
{
    double longest = 0;
    for (uint32_t i = 0; i < input->n_processes; i++) {
        const struct lull_pop_process *p = &input->processes[i];
        longest = fmax(longest, p->serial_useful + p->parallel + p->other);
    }
    return longest;
}

static int64_t longest_useful(const struct lull_breakdown *breakdown)
{
    int64_t longest = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++) {
        const struct lull_thread_breakdown *thread = &breakdown->threads[t];
        int64_t useful = thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1];
        if (thread->kind == LULL_LOCATION_THREAD && useful > longest)
            longest = useful;
    }
    return longest;
}

static bool was_paused(const struct lull_breakdown *breakdown)
{
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].disabled_ns > 0)
            return true;
    return false;
}

/* A runtime that contradicts what was measured is not shown. */
static void take_ideal(struct lull_run *run, const struct lull_ideal_result *ideal,
                       struct lull_notices *notices)
{
    static const double rounding = 1e-9;
    struct lull_breakdown *breakdown = run->breakdown;
    int64_t busiest = longest_useful(breakdown); /* no network shortens what a thread computes */
    int64_t runtime_ns = ideal->runtime > busiest ? ideal->runtime : busiest;
    double runtime = 1e-9 * (double)runtime_ns, slack = rounding * run->input->runtime;
    const char *detail = ideal->detail;
    breakdown->ideal_absent = ideal->absent;
    if (!ideal->absent && runtime > run->input->runtime + slack) {
        bool paused = was_paused(breakdown);
        breakdown->ideal_absent = paused ? "recording was paused at different times"
                                         : "messages arrive before they are sent";
        detail =
            paused ? "it would be longer than the run, whose threads were paused at different times"
                   : "it would be longer than the run, so that the clocks of the processes must "
                     "differ";
    } else if (!ideal->absent && runtime < longest_outside(run->input) - slack) {
        breakdown->ideal_absent = "the times of threads contradict each other";
        detail = "it would be shorter than the time that a process spends outside MPI";
    }
    if (breakdown->ideal_absent)
        lull_notices_add(notices, LULL_NOTICE_INFO, "%s has no runtime on an ideal network: %s.",
                         run->name, detail);
    else
        breakdown->ideal_runtime_ns = runtime_ns;
}

/* Where the numbers so far leave it open. */
static void complete_ideal(struct lull_run *run, const struct lull_runs_options *options,
                           struct lull_notices *notices)
{
    if (options->no_replay || isfinite(run->input->ideal_runtime))
        return;
    if (run->breakdown->from_sums)
        run->breakdown->ideal_absent = "needs events; there are sums only";
    else if (options->region)
        run->breakdown->ideal_absent = "only known for the whole run or a window of time";
    else if (lull_runs_leave_replay(options, run->trace))
        run->breakdown->ideal_absent = "so many threads are replayed with --replay only";
    else if (run->ideal)
        take_ideal(run, run->ideal, notices);
}

/* ---- the events ---------------------------------------------------------------------------- */

static void ignore_update(void *context, double share)
{
    (void)context;
    (void)share;
}

static void ignore_begin(void *context, const char *what)
{
    (void)context;
    (void)what;
}

static void ignore_end(void *context)
{
    (void)context;
}

static const struct lull_study_progress silence = {ignore_begin, ignore_update, ignore_end, NULL};

/* Where no process can be in MPI, the runtime on an ideal network is the measured one. */
static bool may_communicate(const struct lull_trace *trace)
{
    bool any = trace->has_states;
    for (uint32_t i = 0; i < trace->n_regions; i++)
        any |= trace->regions[i].paradigm == LULL_PARADIGM_MPI;
    return any;
}

/* What the reading of events is to tell of the ideal network; false: nothing. */
static bool wants_ideal(const struct lull_run *run, const struct lull_runs_options *options,
                        const struct lull_windows *windows, struct lull_ideal_options *ret_ideal)
{
    bool one_span = windows && !options->region; /* the same for all processes */
    *ret_ideal = (struct lull_ideal_options){.has_span = one_span};
    if (one_span && windows->counts[0] > 0) {
        ret_ideal->from = windows->intervals[0][0].begin;
        ret_ideal->to = windows->intervals[0][0].end;
    }
    return !options->no_replay && !options->region && may_communicate(run->trace) &&
           !lull_runs_leave_replay(options, run->trace);
}

/* Who looks for files and for waits rides on the reading of the run, behind another companion. */
struct file_rider {
    const struct lull_runs_options *options;
    struct lull_file_reader *files; /* NULL: not wanted ... */
    struct lull_waits *waits;       /* ... likewise */
    struct lull_arena *arena;
};

static void join_files(struct file_rider *rider, struct lull_joint_pass *joint)
{
    rider->files =
        lull_file_reader_create(joint->trace, joint->pass.windows, joint->workers, rider->arena);
    joint->pass.visits = lull_file_reader_visits(rider->files);
    joint->consumers[joint->n_consumers++] = lull_file_reader_consumer(rider->files);
}

static lull_status join_waits(struct file_rider *rider, struct lull_joint_pass *joint,
                              struct lull_error *err)
{
    const struct lull_wait_options wanted = {.application = rider->options->application,
                                             .windows = joint->pass.windows,
                                             .division = joint->ideal.division,
                                             .workers = joint->workers,
                                             .threads = true};
    joint->ideal.calls_in_full = true;
    lull_status status = lull_waits_create(joint->trace, &wanted, &rider->waits, err);
    if (status != LULL_OK)
        return status;
    joint->pass.visits = lull_waits_visits(rider->waits, joint->pass.visits);
    joint->consumers[joint->n_consumers++] = lull_waits_consumer(rider->waits);
    return LULL_OK;
}

static lull_status join_riders(void *context, struct lull_joint_pass *joint, struct lull_error *err)
{
    struct file_rider *rider = context;
    const struct lull_companion *other = rider->options->companion;
    lull_status status = other ? other->join(other->context, joint, err) : LULL_OK;
    if (status == LULL_OK && rider->options->files)
        join_files(rider, joint);
    if (status == LULL_OK && lull_runs_follow_waits(rider->options, joint->trace))
        status = join_waits(rider, joint, err);
    return status;
}

/* A pass for waits alone, in which each thread is followed. */
static lull_status read_waits(const struct file_rider *rider, const struct lull_run *run,
                              const struct lull_breakdown_options *wanted,
                              struct lull_wait_result *ret_result, struct lull_error *err)
{
    struct lull_pass_options pass = {.windows = wanted->windows,
                                     .application = wanted->application,
                                     .range = lull_pass_range(wanted->division),
                                     .workers = wanted->workers,
                                     .progress = wanted->progress,
                                     .progress_context = wanted->progress_context};
    const struct lull_wait_options options = {.application = wanted->application,
                                              .windows = wanted->windows,
                                              .division = wanted->division,
                                              .workers = lull_pass_workers(run->trace, &pass),
                                              .each_thread = true,
                                              .threads = true};
    struct lull_waits *waits = NULL;
    lull_status status = lull_waits_create(run->trace, &options, &waits, err);
    if (status == LULL_OK) {
        const struct lull_consumer consumer = lull_waits_consumer(waits);
        pass.visits = lull_waits_visits(waits, NULL);
        status = lull_pass_run(run->trace, &pass, &consumer, 1, err);
    }
    status = lull_team_agree(rider->options->team, status, err);
    if (status == LULL_OK)
        status = lull_waits_conclude(waits, rider->arena, ret_result, err);
    lull_waits_destroy(waits);
    return status;
}

/* Where threads communicate beside the masters, against presumption, the run is read once more. */
static lull_status conclude_waits(const struct file_rider *rider, struct lull_run *run,
                                  const struct lull_breakdown_options *wanted,
                                  struct lull_error *err)
{
    struct lull_wait_result result;
    lull_status status = lull_waits_conclude(rider->waits, rider->arena, &result, err);
    if (status == LULL_OK && result.needs_each_thread)
        status = read_waits(rider, run, wanted, &result, err);
    if (status == LULL_OK && lull_team_is_first(rider->options->team)) {
        run->waits = lull_arena_zero(rider->arena, 1, sizeof *run->waits);
        *run->waits = result;
    }
    return status;
}

static lull_status conclude_riders(const struct file_rider *rider, struct lull_run *run,
                                   const struct lull_breakdown_options *wanted,
                                   struct lull_error *err)
{
    struct lull_team *team = rider->options->team;
    lull_status status = rider->files ? lull_file_reader_gather(rider->files, team, err) : LULL_OK;
    if (status == LULL_OK && rider->files && lull_team_is_first(team)) {
        run->files = lull_arena_zero(rider->arena, 1, sizeof *run->files);
        lull_file_reader_conclude(rider->files, rider->arena, run->files);
    }
    if (status == LULL_OK && rider->waits)
        return conclude_waits(rider, run, wanted, err);
    if (status == LULL_OK && rider->options->waits && lull_team_is_first(team))
        run->waits = lull_waits_left_out(rider->options, run->trace, rider->arena);
    return status;
}

static lull_status read_events_of_run(struct lull_run *run, const struct lull_runs_options *options,
                                      const struct lull_breakdown_options *wanted,
                                      const struct lull_ideal_options *ideal,
                                      struct lull_arena *arena, struct lull_error *err)
{
    struct file_rider rider = {.options = options, .arena = arena};
    const struct lull_companion riders = {join_riders, &rider};
    lull_status status = lull_joint_pass_run(run->trace, wanted, ideal, &riders, arena,
                                             &run->breakdown, &run->ideal, err);
    if (status == LULL_OK)
        status = conclude_riders(&rider, run, wanted, err);
    lull_waits_destroy(rider.waits);
    return status;
}

/* Beside sums there may be some events. */
static lull_status read_files(struct lull_run *run, const struct lull_runs_options *options,
                              struct lull_arena *arena, struct lull_error *err)
{
    if (!options->files || run->trace->events == LULL_EVENTS_NONE)
        return LULL_OK;
    run->files = lull_arena_zero(arena, 1, sizeof *run->files);
    const struct lull_file_options wanted = {.windows = run->windows,
                                             .application = options->application,
                                             .workers = options->workers,
                                             .division = run->division};
    return lull_file_uses_read(run->trace, &wanted, arena, run->files, err);
}

/* The only place that reads a run. */
static lull_status read_run(struct lull_run *run, const struct lull_runs_options *options,
                            const struct lull_windows *windows, struct lull_arena *arena,
                            struct lull_error *err)
{
    const struct lull_study_progress *progress = options->progress ? options->progress : &silence;
    const struct lull_breakdown_options wanted = {.windows = windows,
                                                  .application = options->application,
                                                  .regions = options->regions,
                                                  .main_part = run->main_part,
                                                  .life_ns = run->life_ns,
                                                  .workers = options->workers,
                                                  .division = run->division,
                                                  .progress = progress->update,
                                                  .progress_context = progress->context};
    struct lull_ideal_options ideal;
    bool has_ideal = wants_ideal(run, options, windows, &ideal);
    uint8_t source;
    lull_status status = lull_breakdown_find_source(run->trace, &wanted, &source, err);
    if (status != LULL_OK)
        return status;
    progress->begin(progress->context, run->path);
    if (source == LULL_FROM_SUMS)
        status = lull_breakdown_compute(run->trace, &wanted, arena, &run->breakdown, err);
    else
        status = read_events_of_run(run, options, &wanted, has_ideal ? &ideal : NULL, arena, err);
    if (status == LULL_OK && source == LULL_FROM_SUMS)
        status = read_files(run, options, arena, err);
    progress->end(progress->context);
    return status;
}

lull_status lull_run_analyse(struct lull_run *run, const struct lull_runs_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_error *err)
{
    const bool is_first = lull_team_is_first(options->team);
    struct lull_windows *windows = NULL;
    lull_status status = lull_run_choose_part(run, options, arena, &windows, err);
    run->windows = windows;
    if (status == LULL_OK)
        status = read_run(run, options, windows, arena, err);
    if (status == LULL_OK && is_first) /* which alone has the numbers */
        status = lull_run_evaluate(run, options, notices, arena, err);
    if (status == LULL_OK && is_first) {
        complete_ideal(run, options, notices); /* which is one of the numbers */
        lull_tell_left_out(run, options, notices);
    }
    if (status == LULL_OK && options->check)
        status = lull_measured_check(run, options, notices, arena, err);
    if (status == LULL_OK && is_first)
        status = lull_pop_from_breakdown(run->breakdown, true, arena, &run->input, err);
    return lull_run_fail(run, status, err);
}
