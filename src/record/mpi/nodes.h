/* Which processes measure the clocks of their nodes: one on each. They find each other by files in
 * the run's folder (docs/formats/tape.md), within a time limit, so that nobody waits for a process
 * that turns out not to be recorded. */
#ifndef LULL_RECORD_MPI_NODES_H
#define LULL_RECORD_MPI_NODES_H

/* Before MPI_Init: whoever comes first on its node speaks for it. MPI_Init lets nobody go before
 * all have come, so that all claims are there when it returns. */
void rec_mpi_nodes_claim(void);

/* Behind it, in a world of `size`: the ranks that speak for the nodes, in ascending order and the
 * same for each of them, in memory that the caller frees. Each of them is, or will be, behind the
 * same call. Returns their number; 0: we are none of them, or there are no others. */
int rec_mpi_nodes_agree(int rank, int size, int **ret_ranks);

#endif
