#include "diagnose/rule/threads/scheduling.h"

/* To divide the iterations: the regions of scheduling that are entered more often than threads
 * enter and leave parallel regions. */
enum { ENTERED_MORE = 4 };

static int64_t chunk_ns(const struct lull_case *c, uint64_t forks, uint64_t *ret_chunks)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t ns = 0;
    *ret_chunks = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        if (region->activity != LULL_OMP_SCHEDULE || region->visits <= ENTERED_MORE * forks)
            continue;
        ns += region->exclusive_ns;
        *ret_chunks += region->visits;
    }
    return ns;
}

struct lull_scheduling lull_scheduling_of(struct lull_case *c)
{
    struct lull_scheduling of = {0};
    struct lull_parallels *all;
    const uint32_t n = lull_parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++) {
        of.executions += all[i].executions;
        of.forks += all[i].executions * all[i].threads;
        if (!of.most || all[i].schedule_ns > of.most->schedule_ns)
            of.most = &all[i];
    }
    of.chunk_ns = chunk_ns(c, of.forks, &of.chunks);
    of.fork_ns = lull_evidence_activity_ns(c->evidence, LULL_OMP_SCHEDULE) - of.chunk_ns;
    return of;
}
