/* What a breakdown keeps while a run is read; internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_COLLECTOR_H
#define LULL_METRICS_BREAKDOWN_COLLECTOR_H

#include "metrics/breakdown/executions.h"

struct location {
    struct lull_executions *executions; /* of its process; NULL for a device stream */
    uint32_t thread;                    /* index in the process; 0: master */
    bool told;       /* of the parallel region that is open: a worker has handed over a piece ... */
    int64_t told_to; /* ... up to here, or the master has told that it has begun */
    int64_t handed_over[LULL_CAUSES];     /* what spans held so far of the parallel slots */
    int64_t ns[LULL_SLOT_ACTIVITIES * 2]; /* of its ledger, once it has ended */
    uint64_t *counters;                   /* likewise; NULL: none */
};

struct lull_collector {
    const struct lull_trace *trace;
    const struct lull_breakdown_options *options;
    unsigned workers;
    struct location *locations;          /* [n_locations] */
    struct lull_executions **executions; /* [n_processes] */
    struct lull_region_ledger *regions;  /* [workers][n_regions] or NULL */
};

#endif
