/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective operations of MPI: what traces hold and simulations carry out. */
#ifndef LULL_BASE_COLLECTIVE_H
#define LULL_BASE_COLLECTIVE_H

enum lull_collective {
    LULL_COLLECTIVE_BARRIER,
    LULL_COLLECTIVE_BCAST,
    LULL_COLLECTIVE_GATHER,
    LULL_COLLECTIVE_GATHERV,
    LULL_COLLECTIVE_SCATTER,
    LULL_COLLECTIVE_SCATTERV,
    LULL_COLLECTIVE_ALLGATHER,
    LULL_COLLECTIVE_ALLGATHERV,
    LULL_COLLECTIVE_ALLTOALL,
    LULL_COLLECTIVE_ALLTOALLV,
    LULL_COLLECTIVE_ALLTOALLW,
    LULL_COLLECTIVE_ALLREDUCE,
    LULL_COLLECTIVE_REDUCE,
    LULL_COLLECTIVE_REDUCE_SCATTER,
    LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK,
    LULL_COLLECTIVE_SCAN,
    LULL_COLLECTIVE_EXSCAN,
    LULL_COLLECTIVE_NEIGHBOUR, /* any neighbourhood collective */
    LULL_COLLECTIVE_CREATE,    /* of a communicator, window, file: synchronises, moves no data */
    LULL_COLLECTIVE_FREE,
    LULL_COLLECTIVE_UNKNOWN,
    LULL_COLLECTIVES
};

/* Whose data a process needs before it can go on. */
enum lull_collective_needs {
    LULL_NEEDS_ALL,
    LULL_NEEDS_ROOT,     /* all others need the root's data */
    LULL_ROOT_NEEDS_ALL, /* the root needs the data of all others */
    LULL_NEEDS_LOWER,    /* each needs the data of lower ranks */
    LULL_NEEDS_NOBODY,   /* nobody's, or it is not known whose */
    /* Between two groups. There only the other group needs a root's data (LULL_NEEDS_ROOT). */
    LULL_NEEDS_OTHERS,     /* each needs the data of the other group */
    LULL_ROOT_NEEDS_OTHERS /* the root needs the data of the other group */
};
enum lull_collective_needs lull_collective_needs(unsigned op);
/* The same on an intercommunicator: each group gets what the other one gives, as the standard has
 * it for every operation that has a meaning there. Making a communicator needs all members of both
 * groups. */
enum lull_collective_needs lull_collective_needs_between(unsigned op);

/* "MPI_Allreduce" without prefix, as users read it: "allreduce". */
const char *lull_collective_name(unsigned op);

#endif
