#include "study/runs.h"

#include "base/text.h"
#include "study/analyse.h"
#include "study/cores.h"
#include "study/disturbed.h"
#include "study/division.h"
#include "study/run_name.h"
#include "study/saved.h"

#include <stdlib.h>
#include <string.h>

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

static void warn_of_other_applications(const struct lull_run *run, uint32_t application,
                                       struct lull_notices *notices)
{
    uint32_t left_out = run->trace->n_processes - run->processes;
    if (left_out)
        lull_notices_add(notices, LULL_NOTICE_WARNING,
                         "%s: holds %u applications; only number %u is analysed, the others (%u "
                         "process%s) are left out (see --application)",
                         run->path, run->trace->n_applications, application + 1, left_out,
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
        return lull_run_fail(run, status, err);
    run->name = lull_run_name(path, arena);
    if (!options->raw_names)
        lull_trace_demangle(run->trace);
    if (options->application >= run->trace->n_applications)
        return lull_fail(err, LULL_ERR_RANGE, "%s: has no application %u, expected 1 to %u", path,
                         options->application + 1, run->trace->n_applications);
    status = lull_division_of_run(options->team, run->trace, options->application, arena,
                                  &run->division, err);
    if (status == LULL_OK)
        status = lull_run_analyse(run, options, notices, arena, err);
    if (status != LULL_OK || !lull_team_is_first(options->team))
        return status;
    tell_of_sums(run, options, notices);
    lull_notices_add_quirks(notices, run->trace, path);
    const char *disturbed = lull_disturbed_describe(run->trace, notices->arena);
    if (disturbed)
        lull_notices_add(notices, LULL_NOTICE_INFO, "%s was %s.", run->name, disturbed);
    const char *cores = lull_cores_describe(run->trace, notices->arena);
    if (cores)
        lull_notices_add(notices, LULL_NOTICE_WARNING, "%s: %s", path, cores);
    warn_of_other_applications(run, options->application, notices);
    return LULL_OK;
}

static lull_status load_saved(const char *path, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_runs *runs, struct lull_error *err)
{
    struct lull_saved *saved;
    uint32_t count;
    if (options->region || options->has_window || options->application)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: is a saved profile, expected a trace with --region, --window or "
                         "--application",
                         path);
    lull_status status = lull_saved_load(path, arena, &saved, &count, err);
    for (uint32_t i = 0; status == LULL_OK && i < count; i++) {
        struct lull_run *run = lull_runs_add(runs, path, arena);
        run->name = saved[i].name;
        run->breakdown = saved[i].breakdown;
        status = lull_run_evaluate(run, options, notices, arena, err);
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
        lull_status status = lull_saved_recognise(paths[i])
                                 ? load_saved(paths[i], options, notices, arena, ret_runs, err)
                                 : load_trace(paths[i], options, notices, arena, ret_runs, err);
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
    for (uint32_t i = 0; i < runs->count; i++)
        lull_trace_close(runs->runs[i].trace);
    *runs = (struct lull_runs){0};
}

const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena)
{
    if (run->min_threads == run->max_threads)
        return lull_arena_printf(arena, "%u x %u", run->processes, run->max_threads);
    return lull_arena_printf(arena, "%u x %u-%u", run->processes, run->min_threads,
                             run->max_threads);
}
