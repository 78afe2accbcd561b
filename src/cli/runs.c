#include "cli/runs.h"

#include "cli/command.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/run_name.h"
#include "cli/saved.h"
#include "cli/warnings.h"
#include "replay/ideal/ideal.h"
#include "trace/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void measure(struct lull_run *run)
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

/* A part of a run can be told as far as there are events. */
static lull_status cut_windows(const struct lull_run *run, struct lull_arena *arena,
                               struct lull_windows **windows, struct lull_error *err)
{
    struct lull_windows *known;
    lull_status status =
        lull_windows_of_time(run->trace, 0, run->trace->events_end, arena, &known, err);
    if (status != LULL_OK)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: a part of the run needs events, and some threads have none",
                         run->path);
    *windows = lull_windows_intersect(*windows, known, arena);
    return LULL_OK;
}

/* The windows that region and time leave; NULL is the whole run. */
static lull_status choose_windows(const struct lull_run *run,
                                  const struct lull_runs_options *options, struct lull_arena *arena,
                                  struct lull_windows **ret_windows, struct lull_error *err)
{
    struct lull_windows *time = NULL, *region = NULL;
    if ((options->has_window || options->region) && run->trace->events == LULL_EVENTS_NONE)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: holds sums of the whole run and no events (a profile): --window and "
                         "--region need events",
                         run->path);
    if (options->has_window) {
        lull_status status =
            lull_windows_of_time(run->trace, options->from, options->to, arena, &time, err);
        if (status != LULL_OK)
            return status;
    }
    if (options->region) {
        lull_status status =
            lull_windows_of_region(run->trace, options->region, arena, &region, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_windows =
        time && region ? lull_windows_intersect(time, region, arena) : (time ? time : region);
    if (*ret_windows && run->trace->events == LULL_EVENTS_FIRST)
        return cut_windows(run, arena, ret_windows, err);
    return LULL_OK;
}

static lull_status break_down(struct lull_run *run, const struct lull_runs_options *options,
                              struct lull_progress *progress, struct lull_arena *arena,
                              struct lull_error *err)
{
    struct lull_windows *windows = NULL;
    lull_status status = choose_windows(run, options, arena, &windows, err);
    if (status != LULL_OK)
        return status;
    struct lull_breakdown_options wanted = {.windows = windows,
                                            .application = options->application,
                                            .regions = options->regions,
                                            .workers = options->workers,
                                            .progress = lull_progress_update,
                                            .progress_context = progress};
    return lull_breakdown_compute(run->trace, &wanted, arena, &run->breakdown, err);
}

static void warn_of_other_applications(const struct lull_run *run, uint32_t application,
                                       struct lull_document *document)
{
    uint32_t left_out = run->trace->n_processes - run->processes;
    if (left_out)
        lull_warn_both(document,
                       "%s: holds %u applications; only number %u is analysed, the others (%u "
                       "process%s) are left out (see --application)",
                       run->path, run->trace->n_applications, application + 1, left_out,
                       left_out == 1 ? "" : "es");
}

static void warn_of_flushing(const struct lull_run *run, struct lull_document *document)
{
    if (run->input->flush_share > LULL_FLUSH_WARNING)
        lull_warn_both(document,
                       "%s: the tracer wrote its buffer for up to %.1f %% of the runtime of a "
                       "thread, which disturbs the run that was measured",
                       run->path, 100 * run->input->flush_share);
}

/* What the numbers stand on, where that is not all events of the run. */
static void tell_of_sums(const struct lull_run *run, const struct lull_runs_options *options,
                         struct lull_document *document)
{
    const struct lull_trace *trace = run->trace;
    double end = 1e-9 * (double)trace->events_end, length = 1e-9 * (double)trace->duration;
    if (trace->events == LULL_EVENTS_NONE)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s holds sums and no events (a profile): its metrics are exact, but "
                           "what needs single events cannot be told.",
                           run->name);
    else if (trace->events == LULL_EVENTS_FIRST && run->breakdown->from_sums)
        lull_document_note(document, LULL_NOTE_INFO,
                           "%s: its events end at %.6g s of %.6g s; the metrics are those of the "
                           "whole run, from its sums.",
                           run->name, end, length);
    else if (trace->events == LULL_EVENTS_FIRST && (options->region || options->has_window))
        lull_warn_both(document,
                       "%s: its events end at %.6g s of %.6g s; what comes after is left out",
                       run->path, end, length);
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Errors of the trace room name the file; those of the metrics cannot know it. */
static int fail_of_run(const struct lull_run *run, const struct lull_error *err)
{
    if (begins_with(err->text, run->path))
        return lull_cli_fail("%s", err->text);
    return lull_cli_fail("%s: %s", run->path, err->text);
}

/* Says so where --force would help. */
static int fail_of_metrics(const struct lull_run *run, const struct lull_error *err,
                           struct lull_arena *arena)
{
    struct lull_pop_input *forced;
    struct lull_error ignored;
    if (lull_pop_from_breakdown(run->breakdown, true, arena, &forced, &ignored) != LULL_OK)
        return fail_of_run(run, err);
    return begins_with(err->text, run->path)
               ? lull_cli_fail("%s; --force prints them all the same", err->text)
               : lull_cli_fail("%s: %s; --force prints them all the same", run->path, err->text);
}

/* From the breakdown on, traces and profiles go the same way. */
static int evaluate(struct lull_run *run, const struct lull_runs_options *options,
                    struct lull_document *document, struct lull_arena *arena)
{
    struct lull_error err;
    measure(run);
    if (lull_pop_from_breakdown(run->breakdown, options->force, arena, &run->input, &err) !=
        LULL_OK)
        return fail_of_metrics(run, &err, arena);
    warn_of_flushing(run, document);
    return LULL_EXIT_OK;
}

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

/* A runtime that contradicts what was measured is not shown. */
static void take_ideal(struct lull_run *run, const struct lull_ideal_result *ideal,
                       struct lull_document *document)
{
    static const double rounding = 1e-9;
    struct lull_breakdown *breakdown = run->breakdown;
    double runtime = 1e-9 * (double)ideal->runtime, slack = rounding * run->input->runtime;
    const char *detail = ideal->detail;
    breakdown->ideal_absent = ideal->absent;
    if (!ideal->absent && runtime > run->input->runtime + slack) {
        breakdown->ideal_absent = "messages arrive before they are sent";
        detail = "it would be longer than the run, so that the clocks of the processes must differ";
    } else if (!ideal->absent && runtime < longest_outside(run->input) - slack) {
        breakdown->ideal_absent = "the times of threads contradict each other";
        detail = "it would be shorter than the time that a process spends outside MPI";
    }
    if (breakdown->ideal_absent)
        lull_document_note(document, LULL_NOTE_INFO, "%s has no runtime on an ideal network: %s.",
                           run->name, detail);
    else
        breakdown->ideal_runtime_ns = ideal->runtime;
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

/* The runtime on an ideal network, where the numbers so far leave it open. */
static lull_status replay(struct lull_run *run, const struct lull_runs_options *options,
                          struct lull_progress *progress, struct lull_document *document,
                          struct lull_arena *arena, struct lull_error *err)
{
    if (options->no_replay || isfinite(run->input->ideal_runtime))
        return LULL_OK;
    const char *why_not = run->breakdown->from_sums ? "needs events; there are sums only"
                          : options->region ? "only known for the whole run or a window of time"
                                            : NULL;
    if (why_not) {
        run->breakdown->ideal_absent = why_not;
        return LULL_OK;
    }
    struct lull_ideal_options wanted = {.application = options->application,
                                        .has_span = options->has_window,
                                        .from = options->from,
                                        .to = options->to,
                                        .progress = lull_progress_update,
                                        .progress_context = progress};
    struct lull_ideal_result ideal;
    lull_status status = lull_ideal_runtime(run->trace, &wanted, arena, &ideal, err);
    if (status == LULL_OK)
        take_ideal(run, &ideal, document);
    return status;
}

static struct lull_run *add_run(struct lull_runs *runs, const char *path, struct lull_arena *arena)
{
    runs->runs =
        lull_arena_grow(arena, runs->runs, &runs->capacity, runs->count + 1, sizeof(*runs->runs));
    struct lull_run *run = &runs->runs[runs->count];
    *run = (struct lull_run){.path = path, .order = runs->count};
    runs->count++;
    return run;
}

int lull_run_analyse(struct lull_run *run, const struct lull_runs_options *options,
                     struct lull_document *document, struct lull_arena *arena)
{
    struct lull_error err;
    struct lull_progress progress;
    lull_progress_begin(&progress, run->path);
    lull_status status = break_down(run, options, &progress, arena, &err);
    lull_progress_end(&progress);
    if (status != LULL_OK)
        return fail_of_run(run, &err);
    int result = evaluate(run, options, document, arena);
    if (result != LULL_EXIT_OK)
        return result;
    lull_progress_begin(&progress, run->path);
    status = replay(run, options, &progress, document, arena, &err);
    lull_progress_end(&progress);
    if (status == LULL_OK)
        status = lull_pop_from_breakdown(run->breakdown, true, arena, &run->input, &err);
    return status == LULL_OK ? LULL_EXIT_OK : fail_of_run(run, &err);
}

static int load_trace(const char *path, const struct lull_runs_options *options,
                      struct lull_document *document, struct lull_arena *arena,
                      struct lull_runs *runs)
{
    struct lull_error err;
    struct lull_run *run = add_run(runs, path, arena);
    if (lull_trace_open(path, &run->trace, &err) != LULL_OK)
        return fail_of_run(run, &err);
    run->name = lull_run_name(path, arena);
    if (options->application >= run->trace->n_applications)
        return lull_cli_fail("%s: has no application %u, expected 1 to %u", path,
                             options->application + 1, run->trace->n_applications);
    int result = lull_run_analyse(run, options, document, arena);
    if (result != LULL_EXIT_OK)
        return result;
    tell_of_sums(run, options, document);
    lull_warn_quirks(run->trace, path, document, arena);
    warn_of_other_applications(run, options->application, document);
    return LULL_EXIT_OK;
}

static int load_saved(const char *path, const struct lull_runs_options *options,
                      struct lull_document *document, struct lull_arena *arena,
                      struct lull_runs *runs)
{
    struct lull_error err;
    struct lull_saved *saved;
    uint32_t count;
    if (options->region || options->has_window || options->application)
        return lull_cli_fail("%s: is a saved profile, expected a trace with --region, --window or "
                             "--application",
                             path);
    if (lull_saved_load(path, arena, &saved, &count, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    for (uint32_t i = 0; i < count; i++) {
        struct lull_run *run = add_run(runs, path, arena);
        run->name = saved[i].name;
        run->breakdown = saved[i].breakdown;
        int status = evaluate(run, options, document, arena);
        if (status != LULL_EXIT_OK)
            return status;
        if (options->regions && !run->breakdown->n_regions)
            lull_document_note(
                document, LULL_NOTE_INFO,
                "%s was saved without --by region or callsite, so its regions are not known.",
                run->name);
    }
    return LULL_EXIT_OK;
}

/* By execution units, then processes, then as given. */
static int compare_runs(const void *left, const void *right)
{
    const struct lull_run *a = left, *b = right;
    if (a->threads != b->threads)
        return a->threads < b->threads ? -1 : 1;
    if (a->processes != b->processes)
        return a->processes < b->processes ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

int lull_runs_load(const char *const *paths, uint32_t count,
                   const struct lull_runs_options *options, struct lull_document *document,
                   struct lull_arena *arena, struct lull_runs *ret_runs)
{
    *ret_runs = (struct lull_runs){0};
    for (uint32_t i = 0; i < count; i++) {
        int status = lull_saved_recognise(paths[i])
                         ? load_saved(paths[i], options, document, arena, ret_runs)
                         : load_trace(paths[i], options, document, arena, ret_runs);
        if (status != LULL_EXIT_OK)
            return status;
    }
    qsort(ret_runs->runs, ret_runs->count, sizeof(*ret_runs->runs), compare_runs);
    lull_run_make_names_differ(ret_runs, arena);
    return LULL_EXIT_OK;
}

void lull_runs_close(struct lull_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++)
        lull_trace_close(runs->runs[i].trace);
}

const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena)
{
    if (run->min_threads == run->max_threads)
        return lull_arena_printf(arena, "%u x %u", run->processes, run->max_threads);
    return lull_arena_printf(arena, "%u x %u-%u", run->processes, run->min_threads,
                             run->max_threads);
}
