#include "study/model/processor_time.h"

#include "trace/sums.h"

#include <math.h>
#include <string.h>

/* The counter's index; n_counters: there is none. */
static uint32_t find_counter(const struct lull_trace *trace)
{
    uint32_t c = 0;
    while (c < trace->n_counters && trace->counters[c].role != LULL_COUNTER_PROCESSOR_TIME)
        c++;
    return c;
}

/* User code is what is useful; time between two readings may round below what the clock says. */
static void add_waits(const struct lull_trace *trace, uint32_t counter,
                      const struct lull_sums *sums, double *waits)
{
    for (uint32_t i = 0; i < sums->n_regions; i++) {
        const struct lull_region_sum *sum = &sums->regions[i];
        const struct lull_region *region = &trace->regions[sum->region];
        if (!region->user && region->activity != LULL_USEFUL)
            continue;
        double had = (double)(sum->counts[0][counter] + sum->counts[1][counter]);
        waits[sum->region] += fmax(0, (double)(sum->ns[0] + sum->ns[1]) - had) / 1e9;
    }
}

lull_status lull_processor_time_read(const struct lull_run *run, struct lull_arena *arena,
                                     struct lull_processor_time *ret_time, struct lull_error *err)
{
    const struct lull_trace *trace = run->trace;
    *ret_time = (struct lull_processor_time){.trace = trace};
    if (!trace || !trace->has_sums || (run->windows && !run->main_part && !run->life_ns))
        return LULL_OK;
    uint32_t counter = find_counter(trace);
    if (counter == trace->n_counters)
        return LULL_OK;
    double *waits = lull_arena_zero(arena, trace->n_regions + (size_t)1, sizeof *waits);
    lull_status status = LULL_OK;
    for (uint32_t l = 0; l < trace->n_locations && status == LULL_OK; l++) {
        struct lull_arena *scratch = lull_arena_create(NULL);
        struct lull_sums sums;
        status = lull_trace_read_sums(trace, l, scratch, &sums, err);
        if (status == LULL_OK)
            add_waits(trace, counter, &sums, waits);
        lull_arena_destroy(scratch);
    }
    ret_time->is_known = status == LULL_OK;
    ret_time->waits = waits;
    return status;
}

double lull_processor_waits(const struct lull_processor_time *time, const char *region)
{
    double seconds = 0;
    for (uint32_t r = 0; time->is_known && r < time->trace->n_regions; r++)
        if (strcmp(time->trace->regions[r].name, region) == 0)
            seconds += time->waits[r];
    return seconds;
}

double lull_useful_seconds(const struct lull_processor_time *time,
                           const struct lull_breakdown *breakdown, uint32_t thread)
{
    const struct lull_thread_breakdown *of = &breakdown->threads[thread];
    for (uint32_t c = 0; time->is_known && c < breakdown->n_counters; c++)
        if (breakdown->counters[c].role == LULL_COUNTER_PROCESSOR_TIME)
            return (double)of->counters[(size_t)c * LULL_ACTIVITIES + LULL_USEFUL] / 1e9;
    return (double)(of->times.ns[LULL_USEFUL][0] + of->times.ns[LULL_USEFUL][1]) / 1e9;
}
