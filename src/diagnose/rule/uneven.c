#include "diagnose/rule/uneven.h"

#include "stats/quantile.h"

/* Its places in the region; returns their time. */
static double add_process(const struct lull_work *work, uint32_t process, uint32_t region,
                          struct lull_uneven *uneven)
{
    uint64_t busiest = 0;
    bool is_long = false;
    double ns = 0;
    for (uint32_t i = lull_work_first(work, process, region);
         i < work->n_places && work->places[i].process == process &&
         work->places[i].region == region;
         i++) {
        const struct lull_work_place *place = &work->places[i];
        ns += (double)place->ns;
        busiest = place->bursts > busiest ? place->bursts : busiest;
        uneven->bursts += place->bursts;
        uneven->long_bursts += place->long_bursts;
        uneven->long_ns += (double)place->long_ns;
        is_long |= place->long_bursts > 0;
    }
    uneven->with_long += is_long;
    if (busiest > 0) {
        uneven->working++;
        if (uneven->least_bursts == 0 || busiest < uneven->least_bursts)
            uneven->least_bursts = busiest;
    }
    return ns;
}

struct lull_uneven lull_uneven_of(const struct lull_case *c, uint32_t region)
{
    const struct lull_trace *trace = c->evidence->trace;
    struct lull_uneven uneven = {0};
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *values = lull_arena_zero(scratch, trace->n_processes + (size_t)1, sizeof *values);
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == c->evidence->application) {
            values[n] = add_process(c->evidence->work, p, region, &uneven);
            uneven.mean += values[n++];
        }
    if (n > 0) {
        lull_sort(values, n);
        uneven.mean /= n;
        uneven.median = lull_median(values, n);
        uneven.most = values[n - 1];
    }
    lull_arena_destroy(scratch);
    return uneven;
}
