/* Clocks of different nodes: how far each is from that of rank 0, measured when the world begins
 * and when it ends. Between two measurements the reader draws a line. */
#ifndef LULL_RECORD_MPI_CLOCKS_H
#define LULL_RECORD_MPI_CLOCKS_H

#include "record/mpi/wrap.h"

/* The same for processes that read the same clock. */
uint64_t rec_mpi_node(void);
/* Collectively over the world; `nodes` by rank, borrowed. Nothing is exchanged on one node. */
void rec_mpi_clocks_begin(MPI_Comm world, const uint64_t *nodes, int size, int rank);
void rec_mpi_clocks_end(void);

#endif
