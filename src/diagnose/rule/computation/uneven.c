#include "diagnose/rule/computation/uneven.h"

#include "stats/quantile.h"

/* That share of the waits must follow. */
#define UNEVEN_EXPLAINS_LEAST 0.5

struct lull_uneven lull_uneven_of(const struct lull_case *c, uint32_t region, uint32_t except)
{
    const struct lull_trace *trace = c->evidence->trace;
    struct lull_uneven uneven = {0};
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *values = lull_arena_zero(scratch, trace->n_processes + (size_t)1, sizeof *values);
    uint32_t n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == c->evidence->application && p != except) {
            const struct lull_work_place *place = lull_work_at(c->evidence->work, p, region);
            values[n] = place ? (double)place->ns : 0;
            uneven.mean += values[n++];
            uneven.bursts += place ? place->bursts : 0;
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

bool lull_uneven_explains(const struct lull_case *c, const struct lull_uneven *uneven,
                          const struct lull_suspicion *suspicion)
{
    return (uneven->most - uneven->mean) * c->processes >=
           UNEVEN_EXPLAINS_LEAST * (double)suspicion->ns;
}

bool lull_uneven_is_late(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const struct lull_uneven peers = lull_uneven_of(c, suspect->region, suspect->process);
    const double own = (double)lull_work_of(c->evidence->work, suspect->process, suspect->region);
    return (own - peers.median) * (c->processes - 1) >= UNEVEN_EXPLAINS_LEAST * (double)suspect->ns;
}
