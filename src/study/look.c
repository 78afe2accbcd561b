/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/look.h"

#include "base/clock.h"
#include "study/compare.h"
#include "trace/trace.h"

#include <stdlib.h>

/* ---- what threads and processes do now ------------------------------------------------------- */

static bool has_ended(const struct lull_trace *trace, uint32_t process)
{
    const struct lull_process *all = &trace->processes[process];
    bool ended = true;
    for (uint32_t l = 0; l < all->n_locations; l++)
        ended &= !trace->locations[all->first_location + l].is_recorded;
    return ended;
}

static void look_at_processes(const struct lull_trace *trace, struct lull_look *look,
                              struct lull_arena *arena)
{
    uint8_t *living = lull_arena_zero(arena, trace->n_processes + (size_t)1, sizeof *living);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        living[p] = has_ended(trace, p) ? LULL_LIVING_OVER : (uint8_t)lull_trace_living(trace, p);
        look->n_processes[living[p]]++;
    }
    look->living = living;
    look->is_over = look->n_processes[LULL_LIVING_OVER] == trace->n_processes;
}

static int compare_looked_calls(const void *a, const void *b)
{
    const struct lull_looked_call *x = a, *y = b;
    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return (x->location > y->location) - (x->location < y->location);
}

static void look_at_calls(const struct lull_trace *trace, struct lull_look *look,
                          struct lull_arena *arena)
{
    struct lull_looked_call *calls =
        lull_arena_zero(arena, trace->n_locations + (size_t)1, sizeof *calls);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (location->is_recorded && location->open_region != LULL_NONE &&
            look->living[location->process] != LULL_LIVING_OVER)
            calls[look->n_calls++] =
                (struct lull_looked_call){l, location->open_region, location->open_since};
    }
    if (look->n_calls > 0)
        qsort(calls, look->n_calls, sizeof *calls, compare_looked_calls);
    look->calls = calls;
}

/* ---- its metrics ----------------------------------------------------------------------------- */

/* The metrics of a run whose trace is open, of all of it or of a window. */
static lull_status measure_look(struct lull_runs *runs, const char *path, const char *name,
                                struct lull_trace *trace, const struct lull_runs_options *options,
                                struct lull_notices *notices, struct lull_arena *arena,
                                struct lull_error *err)
{
    struct lull_run *run = lull_runs_add(runs, path, arena);
    run->name = name;
    run->trace = trace;
    const lull_status status = lull_run_analyse(run, NULL, options, notices, arena, err);
    return status == LULL_OK ? lull_study_compute(runs, arena, err) : status;
}

lull_status lull_look_take(const char *path, const struct lull_runs_options *options, int64_t since,
                           struct lull_notices *notices, struct lull_arena *arena,
                           struct lull_look *ret_look, struct lull_error *err)
{
    const int64_t begin = lull_clock_read(CLOCK_MONOTONIC);
    struct lull_runs_options window = *options;
    struct lull_trace *trace;
    *ret_look = (struct lull_look){0};
    lull_status status = lull_trace_open(path, &trace, err);
    if (status != LULL_OK)
        return status;
    if (!options->raw_names)
        lull_trace_demangle(trace);
    ret_look->until = trace->duration;
    ret_look->has_now = lull_trace_now(trace, &ret_look->now);
    look_at_processes(trace, ret_look, arena);
    look_at_calls(trace, ret_look, arena);
    status =
        measure_look(&ret_look->all, path, "since the start", trace, options, notices, arena, err);
    window.has_window = true;
    window.from = since;
    window.to = ret_look->until;
    if (status == LULL_OK && since >= 0 && since < ret_look->until)
        status =
            measure_look(&ret_look->lately, path, "lately", trace, &window, notices, arena, err);
    ret_look->seconds = 1e-9 * (double)(lull_clock_read(CLOCK_MONOTONIC) - begin);
    return status;
}

/* Both runs have the same trace, which is closed with the first. */
void lull_look_close(struct lull_look *look)
{
    if (look->lately.count > 0)
        look->lately.runs[0].trace = NULL;
    lull_runs_close(&look->lately);
    lull_runs_close(&look->all);
}
