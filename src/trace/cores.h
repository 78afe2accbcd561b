/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores: how many a run might use, and which of its threads had none although they could have run. The recorder asks
 * the system's scheduler for both (struct lull_cores); here that is summed up. */
#ifndef LULL_TRACE_CORES_H
#define LULL_TRACE_CORES_H

#include "trace/trace.h"

/* The number of cores that the threads of a run might use, of all nodes together; 0: the trace does
 * not tell. */
uint32_t lull_cores_of(const struct lull_trace *trace, struct lull_arena *arena);

/* A thread is short of cores that had none for more than this share of the run. */
#define LULL_CORE_SHORTAGE_NOTABLE 0.05

/* How much of a run its threads were ready to run and had no core. Shares are shares of the run's
 * duration: 1 is a thread that never had one. */
struct lull_core_shortage {
    uint32_t known;   /* CPU threads of which the scheduler told; 0: the rest is 0, too */
    uint32_t threads; /* those of them that are short of cores */
    double share;     /* mean over those that are known */
    /* The part of it that is due to the run's own threads. Example: four threads that never wait, on
     * two cores, wanted 4 cores and had 2, so that all of it is their own doing, whatever else the
     * machine did; on four cores none of it is. It is what is certain: four threads that run now and
     * then may want more than two cores at these times and no more than two on average. */
    double own;
    /* The part of it that other programs caused for certain, as these threads were no more than their
     * cores. Whether other programs caused what neither has is not known. */
    double others;
    uint64_t preempted;                /* times that a core was taken from them */
    const struct lull_location *worst; /* who had none for longest; NULL: `threads` is 0 */
    double worst_share;
};

/* Of one application, or of all (LULL_NONE). */
struct lull_core_shortage lull_core_shortage_of(const struct lull_trace *trace,
                                                uint32_t application, struct lull_arena *arena);

#endif
