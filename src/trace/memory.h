/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the processes of a run had, together and beside what their nodes have. */
#ifndef LULL_TRACE_MEMORY_H
#define LULL_TRACE_MEMORY_H

#include "trace/trace.h"

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

#endif
