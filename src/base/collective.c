/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/collective.h"

#include <stdint.h>

static const char *const collectives[LULL_COLLECTIVES] = {
    [LULL_COLLECTIVE_BARRIER] = "barrier",
    [LULL_COLLECTIVE_BCAST] = "bcast",
    [LULL_COLLECTIVE_GATHER] = "gather",
    [LULL_COLLECTIVE_GATHERV] = "gatherv",
    [LULL_COLLECTIVE_SCATTER] = "scatter",
    [LULL_COLLECTIVE_SCATTERV] = "scatterv",
    [LULL_COLLECTIVE_ALLGATHER] = "allgather",
    [LULL_COLLECTIVE_ALLGATHERV] = "allgatherv",
    [LULL_COLLECTIVE_ALLTOALL] = "alltoall",
    [LULL_COLLECTIVE_ALLTOALLV] = "alltoallv",
    [LULL_COLLECTIVE_ALLTOALLW] = "alltoallw",
    [LULL_COLLECTIVE_ALLREDUCE] = "allreduce",
    [LULL_COLLECTIVE_REDUCE] = "reduce",
    [LULL_COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
    [LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [LULL_COLLECTIVE_SCAN] = "scan",
    [LULL_COLLECTIVE_EXSCAN] = "exscan",
    [LULL_COLLECTIVE_NEIGHBOUR] = "neighbourhood",
    [LULL_COLLECTIVE_CREATE] = "create",
    [LULL_COLLECTIVE_FREE] = "free",
};

const char *lull_collective_name(unsigned op)
{
    return op < LULL_COLLECTIVES && collectives[op] ? collectives[op] : "unknown";
}

enum lull_collective_needs lull_collective_needs(unsigned op)
{
    static const uint8_t needs[LULL_COLLECTIVES] = {
        [LULL_COLLECTIVE_BCAST] = LULL_NEEDS_ROOT,
        [LULL_COLLECTIVE_SCATTER] = LULL_NEEDS_ROOT,
        [LULL_COLLECTIVE_SCATTERV] = LULL_NEEDS_ROOT,
        [LULL_COLLECTIVE_REDUCE] = LULL_ROOT_NEEDS_ALL,
        [LULL_COLLECTIVE_GATHER] = LULL_ROOT_NEEDS_ALL,
        [LULL_COLLECTIVE_GATHERV] = LULL_ROOT_NEEDS_ALL,
        [LULL_COLLECTIVE_SCAN] = LULL_NEEDS_LOWER,
        [LULL_COLLECTIVE_EXSCAN] = LULL_NEEDS_LOWER,
        [LULL_COLLECTIVE_NEIGHBOUR] = LULL_NEEDS_NOBODY,
        [LULL_COLLECTIVE_FREE] = LULL_NEEDS_NOBODY,
    };
    return op < LULL_COLLECTIVES ? (enum lull_collective_needs)needs[op] : LULL_NEEDS_ALL;
}

enum lull_collective_needs lull_collective_needs_between(unsigned op)
{
    const enum lull_collective_needs needs = lull_collective_needs(op);
    if (needs == LULL_ROOT_NEEDS_ALL)
        return LULL_ROOT_NEEDS_OTHERS;
    return needs == LULL_NEEDS_ALL && op < LULL_COLLECTIVE_CREATE ? LULL_NEEDS_OTHERS : needs;
}
