/* Sums: what a recorder kept per location, region and state beside the events, or instead of them.
 *
 * A run may hold both (all events, and sums that say the same), the first events and sums of the
 * whole (lull_trace.events is LULL_EVENTS_FIRST), or sums alone (LULL_EVENTS_NONE). */
#ifndef LULL_TRACE_SUMS_H
#define LULL_TRACE_SUMS_H

#include "trace/trace.h"

/* [0]: outside, [1]: inside of OpenMP parallel regions. Times are those spent directly in the
 * region, without the regions within. */
struct lull_region_sum {
    uint32_t region;
    uint64_t visits[2];
    int64_t ns[2];
    const uint64_t *counts[2]; /* by counter of the trace; in time directly inside */
};

/* One location. paused, absent, flush, outside and the regions add up to end - begin exactly. */
struct lull_sums {
    int64_t begin, end;              /* its life, ns since the trace's origin */
    int64_t paused;                  /* measurement switched off */
    int64_t absent;                  /* nobody lived here: between one thread and the next */
    int64_t flush[2];                /* the recorder wrote its buffer */
    int64_t outside;                 /* outside of all regions */
    const uint64_t *counts_outside;  /* by counter of the trace; while outside of all regions */
    struct lull_region_sum *regions; /* those with visits or time, by region */
    uint32_t n_regions;
};

/* The sums of a location; they live in `arena`. Fails with LULL_ERR_UNSUPPORTED for a trace without
 * (trace->has_sums is false), with LULL_ERR_FORMAT for sums that contradict themselves. */
lull_status lull_trace_read_sums(const struct lull_trace *trace, uint32_t location,
                                 struct lull_arena *arena, struct lull_sums *ret_sums,
                                 struct lull_error *err);

#endif
