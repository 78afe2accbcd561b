#include "study/run_part.h"

#include "trace/sums.h"

#include <string.h>

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

static bool calls_init(const struct lull_trace *trace)
{
    bool any = false;
    for (uint32_t r = 0; r < trace->n_regions; r++)
        any |= strcmp(trace->regions[r].name, "MPI_Init") == 0 ||
               strcmp(trace->regions[r].name, "MPI_Init_thread") == 0;
    return any;
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
        run->main_part = !options->whole && calls_init(trace);
    if (options->whole)
        return LULL_OK;
    if (sums)
        return choose_life(run, options->application, arena, NULL, err);
    if (!lull_trace_main_part(trace, options->application, &begin, &end))
        return choose_life(run, options->application, arena, ret_windows, err);
    run->main_part = true;
    return lull_windows_of_time(trace, begin, end, arena, ret_windows, err);
}

lull_status lull_run_choose_part(struct lull_run *run, const struct lull_runs_options *options,
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
        lull_status status =
            lull_windows_of_region(run->trace, options->region, run->division, arena, &region, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_windows =
        time && region ? lull_windows_intersect(time, region, arena) : (time ? time : region);
    if (*ret_windows && lull_has_part(run->trace->events))
        return cut_windows(run, arena, ret_windows, err);
    return LULL_OK;
}
