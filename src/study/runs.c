/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/runs.h"

#include "base/file.h"
#include "base/text.h"
#include "metrics/breakdown.h"
#include "metrics/profile.h"
#include "study/circumstances.h"
#include "study/critical_path.h"
#include "study/joint_pass.h"
#include "study/replay/replayed_run.h"
#include "trace/scan.h"
#include "trace/trace.h"

#include <fnmatch.h>
#include <fts.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ==== which part of a run ===================================================================== */

/* Which part of a run its numbers are of. */

/* A part of a run can be told where there are events. */
static lull_status cut_windows(const struct lull_run *run, struct lull_arena *arena,
                               struct lull_windows **windows, struct lull_error *err)
{
    struct lull_windows *known;
    lull_status status = lull_windows_of_time(run->trace, run->trace->events_begin,
                                              run->trace->events_end, arena, &known, err);
    if (status != LULL_OK)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: a part of the run needs events, and some threads have none",
                         run->path);
    *windows = lull_windows_intersect(*windows, known, arena);
    return LULL_OK;
}

/* From when the first thread of an application begins until the last one ends. False where sums do
 * not tell. */
static bool find_life(const struct lull_trace *trace, uint32_t application, int64_t *ret_begin,
                      int64_t *ret_end)
{
    int64_t begin = INT64_MAX, end = 0;
    bool tells = trace->has_sums;
    for (uint32_t l = 0; l < trace->n_locations && tells; l++) {
        if (trace->processes[trace->locations[l].process].application != application)
            continue;
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        struct lull_error err;
        tells = lull_trace_read_sums(trace, l, scratch, &sums, &err) == LULL_OK;
        if (tells && sums.begin < sums.end) {
            begin = sums.begin < begin ? sums.begin : begin;
            end = sums.end > end ? sums.end : end;
        }
        lull_arena_destroy(scratch);
    }
    *ret_begin = begin;
    *ret_end = end;
    return tells && begin < end;
}

/* What comes before and after one of several applications is no time of it. ret_windows NULL: its
 * numbers come from sums, too. */
static lull_status choose_life(struct lull_run *run, uint32_t application, struct lull_arena *arena,
                               struct lull_windows **ret_windows, struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    int64_t begin, end;
    if (trace->n_applications < 2 || !find_life(trace, application, &begin, &end) ||
        (begin == 0 && end == trace->duration))
        return LULL_OK;
    run->life_ns = end - begin;
    return ret_windows ? lull_windows_of_time(trace, begin, end, arena, ret_windows, err) : LULL_OK;
}

/* Between MPI_Init and MPI_Finalize: from events if they tell all, else by what sums leave out. */
static lull_status choose_main_part(struct lull_run *run, const struct lull_runs_options *options,
                                    struct lull_arena *arena, struct lull_windows **ret_windows,
                                    struct lull_error *err)
{
    int64_t begin, end;
    const struct lull_trace *trace = run->trace;
    bool sums = trace->events != LULL_EVENTS_ALL && trace->has_sums;
    if (sums)
        run->main_part = !options->whole && lull_has_init(trace);
    if (options->whole)
        return LULL_OK;
    if (sums)
        return choose_life(run, options->application, arena, NULL, err);
    if (!lull_trace_main_part(trace, options->application, &begin, &end))
        return choose_life(run, options->application, arena, ret_windows, err);
    run->main_part = true;
    return lull_windows_of_time(trace, begin, end, arena, ret_windows, err);
}

/* The windows that `--window` and `--region` leave, or of the main part, between MPI_Init and
 * MPI_Finalize, or of the life of one of several applications; NULL: the whole run. Sets main_part
 * and life_ns of the run. The windows live in `arena`. LULL_ERR_RANGE: that part has no events. */
static lull_status run_choose_part(struct lull_run *run, const struct lull_runs_options *options,
                                   struct lull_arena *arena, struct lull_windows **ret_windows,
                                   struct lull_error *err)
{
    struct lull_windows *time = NULL, *region = NULL;
    *ret_windows = NULL;
    if (!options->has_window && !options->region) {
        lull_status status = choose_main_part(run, options, arena, ret_windows, err);
        return status == LULL_OK && *ret_windows && lull_has_part(run->trace->events)
                   ? cut_windows(run, arena, ret_windows, err)
                   : status;
    }
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
        lull_status status = lull_windows_of_region(run->trace, options->region,
                                                    run->reading->division, arena, &region, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_windows =
        time && region ? lull_windows_intersect(time, region, arena) : (time ? time : region);
    if (*ret_windows && lull_has_part(run->trace->events))
        return cut_windows(run, arena, ret_windows, err);
    return LULL_OK;
}

/* ==== what is left out ======================================================================== */

/* Waits and ideal runtimes are left out of runs with very many threads, because they need memory
 * for all threads at the same time. */

static bool has_more(const struct lull_trace *trace, uint32_t most)
{
    return most > 0 && trace->n_locations > most;
}

bool lull_runs_leave_replay(const struct lull_runs_options *options, const struct lull_trace *trace)
{
    return !options->no_replay && has_more(trace, options->most_with_replay);
}

bool lull_runs_follow_waits(const struct lull_runs_options *options, const struct lull_trace *trace)
{
    return options->waits && trace->n_locations <= lull_scan_most_abreast(trace) &&
           !has_more(trace, options->most_with_waits);
}

/* Of a run whose waits are not followed: why. */
static struct lull_wait_result *waits_left_out(const struct lull_runs_options *options,
                                               const struct lull_trace *trace,
                                               struct lull_arena *arena)
{
    struct lull_wait_result *result = lull_arena_zero(arena, 1, sizeof *result);
    const uint32_t most = lull_scan_most_abreast(trace);
    if (trace->n_locations > most)
        result->absent = lull_arena_printf(
            arena,
            "waits are followed in runs of its format of up to %u threads, and this one has %u",
            most, trace->n_locations);
    else
        result->absent = lull_arena_printf(
            arena, "beyond %u threads waits are followed with --waits only, and this run has %u",
            options->most_with_waits, trace->n_locations);
    return result;
}

/* A notice of what the options left out of an analysed run, and could be had. */
static void tell_left_out(const struct lull_run *run, const struct lull_runs_options *options,
                          struct lull_notices *notices)
{
    static const struct {
        const char *what, *option;
    } parts[] = {
        {NULL, NULL},
        {"who made others wait is", "--waits"},
        {"the runtime on an ideal network is", "--replay"},
        {"who made others wait and the runtime on an ideal network are", "--waits --replay"}};
    const bool waits = run->waits && has_more(run->trace, options->most_with_waits) &&
                       run->trace->n_locations <= lull_scan_most_abreast(run->trace);
    const bool replay = !run->breakdown->from_sums && !options->region &&
                        lull_runs_leave_replay(options, run->trace);
    const unsigned part = (waits ? 1 : 0) + (replay ? 2 : 0);
    if (part == 0)
        return;
    lull_notices_add(notices, LULL_NOTICE_INFO,
                     "%s has %u threads: %s left out, because all threads would be followed at "
                     "the same time, which needs memory for each: %s asks for that.",
                     run->name, run->trace->n_locations, parts[part].what, parts[part].option);
}

/* ==== the analysis of one run ================================================================= */

/* Puts the run's path in front of an error that does not begin with it: errors of the trace room
 * name the file, those of the metrics cannot know it. Returns `status`. */
static lull_status run_fail(const struct lull_run *run, lull_status status, struct lull_error *err)
{
    if (status == LULL_OK || !err || strncmp(err->text, run->path, strlen(run->path)) == 0)
        return status;
    return lull_fail_prefix(err, status, "%s", run->path);
}

/* ---- the numbers ----------------------------------------------------------------------------- */

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
    run_fail(run, status, err);
    if (!err || lull_pop_from_breakdown(run->breakdown, true, arena, &forced, &ignored) != LULL_OK)
        return status;
    const struct lull_error doubted = *err;
    return lull_fail(err, status, "%s; --force prints them all the same", doubted.text);
}

/* Finds the numbers of a run whose breakdown is set. */
static lull_status run_evaluate(struct lull_run *run, const struct lull_runs_options *options,
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

/* ---- the runtime on an ideal network --------------------------------------------------------- */

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

/* ---- the events ------------------------------------------------------------------------------ */

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

static bool wants_ideal(const struct lull_run *run, const struct lull_runs_options *options)
{
    return !options->no_replay && !options->region && may_communicate(run->trace) &&
           !lull_runs_leave_replay(options, run->trace);
}

/* ---- what replays need ----------------------------------------------------------------------- */

/* The bytes of a run's files, inflated: of a folder, or of a file and the folder that is called like it. */
static int64_t bytes_of_run(const char *path)
{
    enum { INFLATED = 6 }; /* times: gzip makes a sixth to a ninth of Paraver traces */
    char *folder = strdup(path);
    int64_t bytes = 0;
    char *dot = folder ? strrchr(folder, '.') : NULL;
    if (dot)
        *dot = '\0';
    char *const paths[] = {(char *)(uintptr_t)path, dot ? folder : NULL, NULL};
    FTS *tree = folder ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    for (const FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F &&
            (entry->fts_level > FTS_ROOTLEVEL || strcmp(entry->fts_path, path) == 0))
            bytes += entry->fts_statp->st_size *
                     (fnmatch("*.gz", entry->fts_name, 0) == 0 ? INFLATED : 1);
    if (tree)
        fts_close(tree);
    free(folder);
    return bytes;
}

/* Decides whether the reading of the run finds what replays need, too. That takes longer, but saves
 * another reading of a run that will be replayed, which is known only later: large ones are not.
 *
 * A replay reads a run location by location. A run that is one sequence has to be copied for that: if
 * a replay is likely, this is done first, so that all that is read afterwards is read from the copy,
 * and the sequence is parsed once. Where there is no room for the copy, the sequence is read. Where an
 * excerpt may suffice, no copy is made before it is needed. */
static void prepare_replays(const struct lull_run *run, const struct lull_runs_options *options)
{
    /* Bytes. A sequence of fewer than LEAST is parsed twice in a few ms. */
    enum { LEAST = 4 << 20, MOST = 128 << 20, MOST_OF_SEQUENCE = 512 << 20 };
    const bool is_sequence = lull_trace_is_sequence(run->trace);
    struct lull_error err;
    if (!options->check || !wants_ideal(run, options) || run->reading->division)
        return;
    const int64_t bytes = bytes_of_run(run->path);
    run->replay_base->is_read = bytes <= (is_sequence ? MOST_OF_SEQUENCE : MOST);
    if (is_sequence && run->replay_base->is_read && bytes >= LEAST && !options->excerpt_steps)
        (void)lull_cursors_prepare(run->trace, (struct lull_process_range){0, 0}, &err);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct files_state {
    struct lull_file_reader *reader;
    struct lull_file_uses *uses; /* on the first member */
};

static lull_status files_create(void *state, const void *options, struct lull_joint_pass *joint,
                                struct lull_error *err)
{
    struct files_state *files = state;
    (void)options;
    (void)err;
    files->reader = lull_file_reader_create(joint->trace, joint->reading->windows, joint->workers,
                                            joint->arena);
    joint->pass.visits = lull_file_reader_visits(files->reader);
    lull_joint_pass_add(joint, lull_file_reader_consumer(files->reader));
    return LULL_OK;
}

static lull_status files_gather(void *state, const struct lull_joint_pass *joint,
                                struct lull_error *err)
{
    const struct files_state *files = state;
    return lull_file_reader_gather(files->reader, lull_division_team(joint->reading->division),
                                   err);
}

static lull_status files_conclude(void *state, const struct lull_joint_pass *joint,
                                  struct lull_error *err)
{
    struct files_state *files = state;
    (void)err;
    if (!joint->is_first)
        return LULL_OK;
    files->uses = lull_arena_zero(joint->arena, 1, sizeof *files->uses);
    lull_file_reader_conclude(files->reader, joint->arena, files->uses);
    return LULL_OK;
}

static const struct lull_analysis files_analysis = {.size = sizeof(struct files_state),
                                                    .create = files_create,
                                                    .gather = files_gather,
                                                    .conclude = files_conclude};

/* Beside sums there may be some events. */
static lull_status read_files(struct lull_run *run, const struct lull_runs_options *options,
                              struct lull_arena *arena, struct lull_error *err)
{
    if (!options->files || run->trace->events == LULL_EVENTS_NONE)
        return LULL_OK;
    run->files = lull_arena_zero(arena, 1, sizeof *run->files);
    return lull_file_uses_read(run->trace, run->reading, arena, run->files, err);
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The options of the analysis are those of the runs. */
struct waits_state {
    struct lull_waits *waits;
    struct lull_wait_result *result;
    bool devices;
};

static lull_status waits_create(void *state, const void *options, struct lull_joint_pass *joint,
                                struct lull_error *err)
{
    struct waits_state *waits = state;
    waits->devices = ((const struct lull_runs_options *)options)->device_waits;
    const struct lull_wait_options wanted = {.reading = joint->reading,
                                             .workers = joint->workers,
                                             .threads = true,
                                             .devices = waits->devices};
    joint->ideal.calls_in_full = true;
    lull_status status = lull_waits_create(joint->trace, &wanted, &waits->waits, err);
    if (status != LULL_OK)
        return status;
    lull_joint_pass_add(joint, lull_waits_consumer(waits->waits));
    return LULL_OK;
}

/* A pass for waits alone, in which each thread is followed. */
static lull_status read_waits(const struct lull_joint_pass *joint, bool devices,
                              struct lull_wait_result *ret_result, struct lull_error *err)
{
    const struct lull_pass_options pass = {.reading = joint->reading};
    const struct lull_wait_options options = {.reading = joint->reading,
                                              .workers = joint->workers,
                                              .each_thread = true,
                                              .threads = true,
                                              .devices = devices};
    struct lull_waits *waits = NULL;
    lull_status status = lull_waits_create(joint->trace, &options, &waits, err);
    if (status == LULL_OK) {
        const struct lull_consumer consumer = lull_waits_consumer(waits);
        status = lull_pass_run(joint->trace, &pass, &consumer, 1, err);
    }
    status = lull_team_agree(lull_division_team(joint->reading->division), status, err);
    if (status == LULL_OK)
        status = lull_waits_conclude(waits, joint->arena, ret_result, err);
    lull_waits_destroy(waits);
    return status;
}

static void waits_release(void *state)
{
    struct waits_state *waits = state;
    lull_waits_destroy(waits->waits);
    waits->waits = NULL;
}

/* Where threads communicate beside the masters, against presumption, the run is read once more. */
static lull_status waits_conclude(void *state, const struct lull_joint_pass *joint,
                                  struct lull_error *err)
{
    struct waits_state *waits = state;
    waits->result = lull_arena_zero(joint->arena, 1, sizeof *waits->result);
    lull_status status = lull_waits_conclude(waits->waits, joint->arena, waits->result, err);
    waits_release(waits);
    if (status == LULL_OK && waits->result->needs_each_thread)
        status = read_waits(joint, waits->devices, waits->result, err);
    return status;
}

static const struct lull_analysis waits_analysis = {.size = sizeof(struct waits_state),
                                                    .create = waits_create,
                                                    .conclude = waits_conclude,
                                                    .release = waits_release};

/* ---- all of them ----------------------------------------------------------------------------- */

static void ask_of_run(struct lull_run *run, const struct lull_analysis *analysis,
                       const void *options)
{
    run->asked[run->n_asked++] = (struct lull_asked){.analysis = analysis, .options = options};
}

static bool needs_ideal(const struct lull_runs_options *options)
{
    bool needs = false;
    for (uint32_t i = 0; i < options->n_asked; i++)
        needs |= options->asked[i].analysis->needs_ideal;
    return needs;
}

/* Takes from the states what is there of every run. */
static void take_results(struct lull_run *run, const struct lull_runs_options *options,
                         struct lull_arena *arena)
{
    const struct lull_breakdown_state *breakdown = lull_run_state(run, &lull_breakdown_analysis);
    const struct lull_ideal_state *ideal = lull_run_state(run, &lull_ideal_analysis);
    const struct files_state *files = lull_run_state(run, &files_analysis);
    const struct waits_state *waits = lull_run_state(run, &waits_analysis);
    run->breakdown = breakdown->breakdown;
    run->ideal = ideal ? ideal->result : NULL;
    run->files = files ? files->uses : NULL;
    if (!options->waits || !lull_team_is_first(options->team))
        return;
    run->waits = waits ? waits->result : waits_left_out(options, run->trace, arena);
}

static lull_status read_events_of_run(struct lull_run *run, const struct lull_runs_options *options,
                                      const struct lull_breakdown_options *breakdown,
                                      struct lull_arena *arena, struct lull_error *err)
{
    enum { OF_EVERY_RUN = 5 };
    struct lull_ideal_options ideal = {0};
    const bool wants = wants_ideal(run, options);
    const struct lull_measured_options replays = {
        .most_operations = options->check,
        .excerpt_steps = run->reading->division ? 0 : options->excerpt_steps};
    if (wants)
        ideal = lull_ideal_options_of(run->reading);
    if (wants && options->regions) {
        run->path_parts = lull_critical_parts_of(run->trace, arena);
        ideal.part_of = run->path_parts->part_of;
        ideal.n_parts = run->path_parts->n_parts;
        ideal.site_of = run->path_parts->site_of;
        ideal.n_sites = run->path_parts->n_sites;
    }
    run->asked =
        lull_arena_zero(arena, OF_EVERY_RUN + (size_t)options->n_asked, sizeof *run->asked);
    ask_of_run(run, &lull_breakdown_analysis, breakdown);
    for (uint32_t i = 0; i < options->n_asked; i++)
        ask_of_run(run, options->asked[i].analysis, options->asked[i].options);
    if (options->files)
        ask_of_run(run, &files_analysis, NULL);
    if (lull_runs_follow_waits(options, run->trace))
        ask_of_run(run, &waits_analysis, options);
    if (run->replay_base->is_read)
        ask_of_run(run, &lull_measured_analysis, &replays);
    if (wants || needs_ideal(options))
        ask_of_run(run, &lull_ideal_analysis, &ideal);
    lull_status status =
        lull_joint_pass_run(run->trace, run->reading, run->asked, run->n_asked, arena, err);
    if (status == LULL_OK)
        take_results(run, options, arena);
    return status;
}

/* Reads a run; nothing else does. */
static lull_status read_run(struct lull_run *run, const struct lull_runs_options *options,
                            struct lull_arena *arena, struct lull_error *err)
{
    const struct lull_study_progress *progress = options->progress ? options->progress : &silence;
    const struct lull_breakdown_options wanted = {.reading = run->reading,
                                                  .regions = options->regions,
                                                  .operations = options->operations,
                                                  .main_part = run->main_part,
                                                  .life_ns = run->life_ns};
    uint8_t source;
    lull_status status = lull_breakdown_find_source(run->trace, &wanted, &source, err);
    if (status != LULL_OK)
        return status;
    progress->begin(progress->context, run->path);
    if (source == LULL_FROM_SUMS)
        status = lull_breakdown_compute(run->trace, &wanted, arena, &run->breakdown, err);
    else
        status = read_events_of_run(run, options, &wanted, arena, err);
    if (status == LULL_OK && source == LULL_FROM_SUMS)
        status = read_files(run, options, arena, err);
    progress->end(progress->context);
    return status;
}

static struct lull_reading *reading_of_run(const struct lull_runs_options *options,
                                           const struct lull_division *division,
                                           struct lull_arena *arena)
{
    const struct lull_study_progress *progress = options->progress ? options->progress : &silence;
    struct lull_reading *reading = lull_arena_zero(arena, 1, sizeof *reading);
    *reading = (struct lull_reading){.application = options->application,
                                     .division = division,
                                     .range = lull_pass_range(division),
                                     .workers = options->workers,
                                     .progress = progress->update,
                                     .progress_context = progress->context};
    return reading;
}

/* ---- runs that were killed ------------------------------------------------------------------- */

/* Some processes of a run that was killed wait for messages, or for others in collective operations, that were not
 * recorded any more. Such a run is read again, and analysed up to the moment where the first of them waits: until then
 * all operations are complete on all of them. */

/* Cuts what does not complete off the run, and its windows. False: nothing is to be cut, or nothing would be left. */
static bool cut_incomplete(struct lull_run *run, const struct lull_runs_options *options,
                           struct lull_arena *arena)
{
    const struct lull_windows *windows = run->reading->windows;
    const int64_t *ends = run->ideal ? run->ideal->ends : NULL;
    struct lull_windows *complete;
    struct lull_error err;
    int64_t begin, end, last = INT64_MAX;
    if (!ends || !windows ||
        !lull_trace_main_part(run->trace, options->application, &begin, &end) ||
        end < run->trace->duration)
        return false;
    for (uint32_t l = 0; l < run->trace->n_locations; l++)
        last = ends[l] < last ? ends[l] : last;
    if (last <= windows->intervals[0][0].begin ||
        lull_windows_of_time(run->trace, 0, last, arena, &complete, &err) != LULL_OK)
        return false;
    lull_trace_cut(run->trace, ends);
    run->reading->windows = lull_windows_intersect(windows, complete, arena);
    return true;
}

/* What waits once the run is cut may be waited for by others: the chain ends after a few readings. */
static lull_status read_complete(struct lull_run *run, const struct lull_runs_options *options,
                                 struct lull_notices *notices, struct lull_arena *arena,
                                 struct lull_error *err)
{
    enum { MOST_READINGS = 8 };
    lull_status status = read_run(run, options, arena, err);
    const struct lull_ideal_result *first = run->ideal;
    for (int i = 1; i < MOST_READINGS && status == LULL_OK && cut_incomplete(run, options, arena);
         i++) {
        lull_asked_release(run->asked, run->n_asked);
        run->n_asked = 0;
        status = read_run(run, options, arena, err);
    }
    if (status == LULL_OK && run->ideal != first && lull_team_is_first(options->team))
        lull_notices_add(
            notices, LULL_NOTICE_WARNING,
            "%s: was ended before all operations were complete (%s): analysed up to %.9g s",
            run->path, first->detail, 1e-9 * (double)run->reading->windows->intervals[0][0].end);
    return status;
}

lull_status lull_run_analyse(struct lull_run *run, const struct lull_division *division,
                             const struct lull_runs_options *options, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_error *err)
{
    const bool is_first = lull_team_is_first(options->team);
    struct lull_windows *windows = NULL;
    run->reading = reading_of_run(options, division, arena);
    run->replay_base = lull_replay_base_create(arena);
    lull_status status = run_choose_part(run, options, arena, &windows, err);
    run->reading->windows = windows;
    if (status == LULL_OK)
        prepare_replays(run, options);
    if (status == LULL_OK)
        status = read_complete(run, options, notices, arena, err);
    if (status == LULL_OK && is_first) /* which alone has the numbers */
        status = run_evaluate(run, options, notices, arena, err);
    if (status == LULL_OK && is_first) {
        complete_ideal(run, options, notices); /* which is one of the numbers */
        tell_left_out(run, options, notices);
    }
    if (status == LULL_OK && options->check)
        status = lull_measured_check(run, is_first, options->check, notices, arena, err);
    if (status == LULL_OK && is_first)
        status = lull_pop_from_breakdown(run->breakdown, true, arena, &run->input, err);
    return run_fail(run, status, err);
}

/* ==== names of runs =========================================================================== */

static bool taken(const struct lull_runs *runs, uint32_t index)
{
    for (uint32_t i = 0; i < runs->count; i++)
        if (i != index && strcmp(runs->runs[i].name, runs->runs[index].name) == 0)
            return true;
    return false;
}

static bool taken_before(const struct lull_runs *runs, uint32_t index, const char *name)
{
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(runs->runs[i].name, name) == 0)
            return true;
    return false;
}

void lull_run_make_names_differ(struct lull_runs *runs, struct lull_arena *arena)
{
    bool *ambiguous = lull_arena_zero(arena, runs->count, sizeof(*ambiguous));
    for (uint32_t i = 0; i < runs->count; i++)
        ambiguous[i] = taken(runs, i);
    for (uint32_t i = 0; i < runs->count; i++) {
        struct lull_run *run = &runs->runs[i];
        if (ambiguous[i])
            run->name =
                run->trace ? run->path : lull_arena_printf(arena, "%s:%s", run->path, run->name);
        const char *plain = run->name;
        for (unsigned n = 2; taken_before(runs, i, run->name); n++)
            run->name = lull_arena_printf(arena, "%s#%u", plain, n);
    }
}

/* ==== saved profiles ========================================================================== */

/* Runs that an earlier `lull metrics --format json` saved as profiles. */

struct saved {
    const char *name; /* as it was called in its document */
    struct lull_breakdown *breakdown;
};

/* Whether the file is JSON, and no trace in JSON. */
static bool saved_recognise(const char *path)
{
    char head[256];
    size_t got;
    const struct lull_format *format;
    if (lull_read_head(path, head, sizeof head, &got, NULL) != LULL_OK)
        return false;
    size_t i = 0;
    while (i < got && strchr(" \t\r\n", head[i]))
        i++;
    return i < got && head[i] == '{' && lull_trace_recognise(path, &format, NULL) != LULL_OK;
}

/* The profile reader takes text, so that it is the only place that knows the form. */
static lull_status parse_profile(json_t *profile, const char *path, struct lull_arena *arena,
                                 struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    char *text = json_dumps(profile, JSON_COMPACT);
    if (!text)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    lull_status status = lull_profile_parse(text, strlen(text), path, arena, ret_breakdown, err);
    free(text);
    return status;
}

static lull_status load_study(json_t *root, const char *path, struct lull_arena *arena,
                              struct saved **ret_saved, uint32_t *ret_count, struct lull_error *err)
{
    json_t *runs = json_object_get(root, "runs");
    size_t count = json_array_size(runs);
    if (!count)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: /runs: expected a list of runs", path);
    struct saved *saved = lull_arena_zero(arena, count, sizeof(*saved));
    for (size_t i = 0; i < count; i++) {
        json_t *run = json_array_get(runs, i);
        json_t *profile = json_object_get(run, "profile");
        const char *name = json_string_value(json_object_get(run, "name"));
        if (!name || !json_is_object(profile))
            return lull_fail(err, LULL_ERR_FORMAT, "%s: /runs/%zu: expected a name and a profile",
                             path, i);
        saved[i].name = lull_arena_strdup(arena, name);
        lull_status status = parse_profile(profile, path, arena, &saved[i].breakdown, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_saved = saved;
    *ret_count = (uint32_t)count;
    return LULL_OK;
}

static lull_status load_profile(json_t *root, const char *path, struct lull_arena *arena,
                                struct saved **ret_saved, uint32_t *ret_count,
                                struct lull_error *err)
{
    struct saved *saved = lull_arena_zero(arena, 1, sizeof(*saved));
    saved->name = lull_run_name(path, arena);
    lull_status status = parse_profile(root, path, arena, &saved->breakdown, err);
    if (status != LULL_OK)
        return status;
    *ret_saved = saved;
    *ret_count = 1;
    return LULL_OK;
}

/* All runs of a document or a single profile, in their order; they live in `arena`. */
static lull_status saved_load(const char *path, struct lull_arena *arena, struct saved **ret_saved,
                              uint32_t *ret_count, struct lull_error *err)
{
    struct lull_mapping mapping;
    lull_status status = lull_map_file(path, &mapping, err);
    if (status != LULL_OK)
        return status;
    json_error_t error;
    json_t *root = json_loadb((const char *)mapping.data, mapping.size, 0, &error);
    lull_unmap(&mapping);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", path, error.line, error.text);
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema && strcmp(schema, "lull-metrics/1") == 0)
        status = load_study(root, path, arena, ret_saved, ret_count, err);
    else if (schema && strcmp(schema, LULL_PROFILE_SCHEMA) == 0)
        status = load_profile(root, path, arena, ret_saved, ret_count, err);
    else
        status = lull_fail(err, LULL_ERR_FORMAT,
                           "%s: is JSON with schema '%s', expected what 'lull metrics --format "
                           "json' writes ('lull-metrics/1')",
                           path, schema ? schema : "");
    json_decref(root);
    return status;
}

/* ==== runs ==================================================================================== */

/* One end of the window; an empty text keeps what is there. */
static lull_status read_end(const char *text, int64_t *value, struct lull_error *err)
{
    lull_status status = *text ? lull_parse_time(text, 1e9, value, err) : LULL_OK;
    return status == LULL_OK ? status : lull_fail_prefix(err, LULL_ERR_RANGE, "--window");
}

lull_status lull_runs_window_read(const char *text, struct lull_arena *arena,
                                  struct lull_runs_options *options, struct lull_error *err)
{
    const char *colon = strchr(text, ':');
    if (!colon)
        return lull_fail(err, LULL_ERR_RANGE, "--window is '%s', expected FROM:TO as in 1.5s:3s",
                         text);
    options->has_window = true;
    options->to = INT64_MAX;
    const char *from = lull_arena_strndup(arena, text, (size_t)(colon - text));
    lull_status status = read_end(from, &options->from, err);
    if (status == LULL_OK)
        status = read_end(colon + 1, &options->to, err);
    if (status == LULL_OK && options->from >= options->to)
        status = lull_fail(err, LULL_ERR_RANGE, "--window '%s' ends before it begins", text);
    return status;
}

/* "2 processes, the first is 'rank 0'": what an application is told by. */
static const char *describe_application(const struct lull_run *run, uint32_t application,
                                        struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    uint32_t first = 0;
    while (first < trace->n_processes && trace->processes[first].application != application)
        first++;
    const char *name = first < trace->n_processes ? trace->processes[first].name : "";
    return run->processes == 1
               ? lull_arena_printf(arena, "1 process, '%s'", name)
               : lull_arena_printf(arena, "%u processes, the first is '%s'", run->processes, name);
}

static void warn_of_other_applications(const struct lull_run *run, uint32_t application,
                                       struct lull_notices *notices)
{
    uint32_t left_out = run->trace->n_processes - run->processes;
    if (left_out)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: holds %u applications; only number %u (%s) is analysed, the others "
                         "(%u process%s) are left out: lull info lists them, --application N takes "
                         "another one",
                         run->path, run->trace->n_applications, application + 1,
                         describe_application(run, application, notices->arena), left_out,
                         left_out == 1 ? "" : "es");
}

/* What the numbers stand on, where that is not all events of the run. */
static void tell_of_sums(const struct lull_run *run, const struct lull_runs_options *options,
                         struct lull_notices *notices)
{
    const struct lull_trace *trace = run->trace;
    if (trace->events == LULL_EVENTS_NONE)
        lull_notices_add(notices, LULL_NOTICE_INFO,
                         "%s holds sums and no events (a profile): its metrics are exact, but "
                         "what needs single events cannot be told.",
                         run->name);
    else if (lull_has_part(trace->events) && run->breakdown->from_sums)
        lull_notices_add(
            notices, LULL_NOTICE_INFO,
            "%s: its events %s; the metrics are those of the whole run, from its sums.", run->name,
            lull_notices_part(trace, notices->arena));
    else if (lull_has_part(trace->events) && (options->region || options->has_window))
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s: its events %s; what %s is left out",
                         run->path, lull_notices_part(trace, notices->arena),
                         trace->events == LULL_EVENTS_FIRST ? "comes after" : "was before");
}

/* Operations of devices that began before the calls which submit them. */
static void tell_of_early_operations(const struct lull_run *run, struct lull_notices *notices)
{
    const struct lull_operation_breakdown *earliest = NULL;
    uint64_t early = 0;
    for (uint32_t i = 0; i < run->breakdown->n_operations; i++) {
        const struct lull_operation_breakdown *of = &run->breakdown->operations[i];
        early += of->n_early;
        if (of->n_early > 0 && (!earliest || of->early_ns > earliest->early_ns))
            earliest = of;
    }
    if (earliest)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: %llu operations of devices begin before the calls that submit them, "
                         "by up to %.9g s (%s): the clocks of devices and threads differ, and "
                         "what devices waited for is uncertain by as much",
                         run->path, (unsigned long long)early, 1e-9 * (double)earliest->early_ns,
                         earliest->name);
}

/* Processes that share a launcher and nothing else, or of whose MPI nothing was recorded. */
static void tell_of_no_mpi(const struct lull_run *run, const struct lull_runs_options *options,
                           struct lull_notices *notices)
{
    int64_t begin, end;
    if (run->breakdown->n_processes < 2 || options->region || options->has_window ||
        lull_pop_has_mpi(run->breakdown) ||
        lull_trace_main_part(run->trace, options->application, &begin, &end))
        return;
    const bool ours = strncmp(run->trace->producer, "lull", 4) == 0;
    lull_notices_add(
        notices, LULL_NOTICE_WARNING,
        "%s: none of its %u processes called MPI: their efficiencies tell only how long "
        "each ran beside the others%s",
        run->path, run->breakdown->n_processes,
        ours ? ". If they use MPI, it was not seen: see --mpi of lull record" : "");
}

/* Traces of other tools are whole: MPI_Init may be most of them. */
static void tell_of_start_up(const struct lull_run *run, const struct lull_runs_options *options,
                             struct lull_notices *notices)
{
    if (options->region || options->has_window || options->whole)
        return;
    const char *start_up = lull_start_up_describe(run, options->application, notices->arena);
    if (start_up)
        lull_notices_add(notices, LULL_NOTICE_INFO, "%s: %s.", run->name, start_up);
}

/* What part of a run was analysed. */
enum part { MAIN_PART, MAIN_PART_CUT, LIFE, PARTS };

/* MAIN_PART_CUT: up to the end, as some process never came to MPI_Finalize. */
static enum part part_of(const struct lull_run *run, uint32_t application)
{
    int64_t begin, end;
    if (run->life_ns)
        return LIFE;
    return lull_trace_main_part(run->trace, application, &begin, &end) &&
                   end == run->trace->duration
               ? MAIN_PART_CUT
               : MAIN_PART;
}

/* "a 1.2 of 3.4 s, b ...": those of which this part was analysed; "" where none. */
static const char *list_parts(const struct lull_runs *runs, uint32_t application, enum part part,
                              struct lull_arena *arena)
{
    const char *list = "";
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_run *run = &runs->runs[i];
        const struct lull_breakdown *breakdown = run->breakdown;
        if (run->trace && (run->life_ns || run->main_part) && part_of(run, application) == part &&
            breakdown->runtime_ns < breakdown->duration_ns)
            list = lull_arena_printf(arena, "%s%s%s %.4g of %.4g s", list, *list ? ", " : "",
                                     run->name, 1e-9 * (double)breakdown->runtime_ns,
                                     1e-9 * (double)breakdown->duration_ns);
    }
    return list;
}

/* What part of their time runs were analysed for, where that is not all. */
static void tell_of_parts(const struct lull_runs *runs, uint32_t application,
                          struct lull_notices *notices)
{
    static const struct {
        const char *span, *whole;
    } words[PARTS] = {
        [MAIN_PART] = {"the end of MPI_Init to the begin of MPI_Finalize", "it"},
        [MAIN_PART_CUT] =
            {"the end of MPI_Init to the end, as some process never came to MPI_Finalize", "it"},
        [LIFE] = {"the begin of the application to its end", "the run"}};
    for (enum part part = 0; part < PARTS; part++) {
        const char *list = list_parts(runs, application, part, notices->arena);
        if (*list)
            lull_notices_add(notices, LULL_NOTICE_INFO, "From %s: %s; --whole takes all of %s.",
                             words[part].span, list, words[part].whole);
    }
}

struct lull_run *lull_runs_add(struct lull_runs *runs, const char *path, struct lull_arena *arena)
{
    runs->runs =
        lull_arena_grow(arena, runs->runs, &runs->capacity, runs->count + 1, sizeof(*runs->runs));
    struct lull_run *run = &runs->runs[runs->count];
    *run = (struct lull_run){.path = path, .order = runs->count};
    runs->count++;
    return run;
}

static lull_status load_trace(const char *path, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_runs *runs, struct lull_error *err)
{
    struct lull_run *run = lull_runs_add(runs, path, arena);
    lull_status status = lull_division_open(options->team, path, &run->trace, err);
    if (status != LULL_OK)
        return run_fail(run, status, err);
    run->name = lull_run_name(path, arena);
    if (!options->raw_names)
        lull_trace_demangle(run->trace);
    if (options->application >= run->trace->n_applications)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no application %u, expected 1 to %u", path,
                         options->application + 1, run->trace->n_applications);
    struct lull_division *division;
    status = lull_division_of_run(options->team, run->trace, options->application, arena, &division,
                                  err);
    if (status == LULL_OK)
        status = lull_run_analyse(run, division, options, notices, arena, err);
    if (status != LULL_OK || !lull_team_is_first(options->team))
        return status;
    tell_of_sums(run, options, notices);
    tell_of_no_mpi(run, options, notices);
    tell_of_early_operations(run, notices);
    tell_of_start_up(run, options, notices);
    lull_notices_add_quirks(notices, run->trace, path);
    const char *disturbed = lull_disturbed_describe(run->trace, notices->arena);
    if (disturbed)
        lull_notices_add(notices, LULL_NOTICE_INFO, "%s was %s.", run->name, disturbed);
    const char *cores = lull_cores_describe(run->trace, notices->arena);
    if (cores)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s: %s", path, cores);
    const char *memory = lull_memory_warning(run->trace, notices->arena);
    if (memory)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s: %s", path, memory);
    warn_of_other_applications(run, options->application, notices);
    return LULL_OK;
}

static lull_status load_saved(const char *path, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_runs *runs, struct lull_error *err)
{
    struct saved *saved;
    uint32_t count;
    if (options->region || options->has_window || options->application)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: is a saved profile, expected a trace with --region, --window or "
                         "--application",
                         path);
    lull_status status = saved_load(path, arena, &saved, &count, err);
    for (uint32_t i = 0; status == LULL_OK && i < count; i++) {
        struct lull_run *run = lull_runs_add(runs, path, arena);
        run->name = saved[i].name;
        run->breakdown = saved[i].breakdown;
        status = run_evaluate(run, options, notices, arena, err);
        if (status == LULL_OK && options->regions && !run->breakdown->n_regions)
            lull_notices_add(
                notices, LULL_NOTICE_INFO,
                "%s was saved without --by region or callsite, so its regions are not known.",
                run->name);
    }
    return status;
}

/* By execution units, then processes, then as given. */
static int compare_run_sizes(const void *left, const void *right)
{
    const struct lull_run *a = left, *b = right;
    if (a->threads != b->threads)
        return a->threads < b->threads ? -1 : 1;
    if (a->processes != b->processes)
        return a->processes < b->processes ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

lull_status lull_runs_load(const char *const *paths, uint32_t count,
                           const struct lull_runs_options *options, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_runs *ret_runs,
                           struct lull_error *err)
{
    *ret_runs = (struct lull_runs){0};
    for (uint32_t i = 0; i < count; i++) {
        const size_t before = notices->count;
        lull_status status = saved_recognise(paths[i])
                                 ? load_saved(paths[i], options, notices, arena, ret_runs, err)
                                 : load_trace(paths[i], options, notices, arena, ret_runs, err);
        for (size_t n = before; n < notices->count; n++)
            notices->items[n].run = paths[i];
        if (status != LULL_OK)
            return status;
    }
    if (!lull_team_is_first(options->team))
        return LULL_OK;
    qsort(ret_runs->runs, ret_runs->count, sizeof(*ret_runs->runs), compare_run_sizes);
    lull_run_make_names_differ(ret_runs, arena);
    tell_of_parts(ret_runs, options->application, notices);
    return LULL_OK;
}

void lull_runs_close(struct lull_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        lull_replay_base_release(runs->runs[i].replay_base);
        lull_asked_release(runs->runs[i].asked, runs->runs[i].n_asked);
        lull_trace_close(runs->runs[i].trace);
    }
    *runs = (struct lull_runs){0};
}
