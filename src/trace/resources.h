/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system gave the threads and processes of a run, summed up from what their recorder learned of each: cores,
 * memory, and the work of its kernel. */
#ifndef LULL_TRACE_RESOURCES_H
#define LULL_TRACE_RESOURCES_H

#include "trace/trace.h"

/* ==== cores =================================================================================== */

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

/* ==== memory ================================================================================== */

/* A process in a sum. */
struct lull_memory_of {
    struct lull_process_memory memory;
    uint32_t node;  /* index or LULL_NONE */
    uint32_t index; /* of the process, for the caller */
};

struct lull_memory_sum {
    uint32_t known;   /* processes of which it is known; 0: all below is 0 */
    uint64_t largest; /* the largest peak of a process, bytes */
    uint32_t of;      /* index of that process */
    /* The processes that have the largest share of what they may have together: those of a node beside its
     * memory, or those of a control group beside its limit. `together` is the sum of their peaks, which may be
     * more than they had at a time: peaks of processes may lie apart, and pages that several share count in
     * each. Example: four processes of a node with 64 GiB had 10, 12, 12 and 14 GiB at most: together 48 GiB,
     * capacity 64 GiB. */
    uint64_t together;
    uint64_t capacity;       /* 0: not known */
    uint32_t node;           /* of these processes; LULL_NONE: not known */
    bool is_limit;           /* `capacity` is a limit below the node's memory */
    uint32_t members;        /* how many processes these are */
    uint64_t largest_member; /* the largest peak among them */
    uint32_t of_members;     /* index of the process with that peak */
    uint64_t swapped;        /* the sum over all processes of the most that was swapped out */
};

/* `processes` is put into another order. */
struct lull_memory_sum lull_memory_sum(struct lull_memory_of *processes, uint32_t count);

/* Whether they had 90 % of what they may have, or more. */
bool lull_memory_is_full(const struct lull_memory_sum *sum);

/* Of all processes of a run; without memory for it nothing is known. */
struct lull_memory_sum lull_memory_sum_of(const struct lull_trace *trace);

/* ==== the kernel's work ======================================================================= */

struct lull_usage_sum {
    uint32_t known; /* threads of which it is known; 0: all below is 0 */
    /* Of all of them, in ns of processor time: in the program, in the kernel, and of the latter at
     * least so much outside of recorded calls. */
    double user, system, outside;
    double minor, major, voluntary;
    const struct lull_location *most; /* the thread with most of `outside`; NULL: none has any */
};

/* Of the threads of an application; LULL_NONE: of all. */
struct lull_usage_sum lull_usage_of(const struct lull_trace *trace, uint32_t application);

#endif
