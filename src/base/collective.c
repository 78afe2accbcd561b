#include "base/collective.h"

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
