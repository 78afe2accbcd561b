/* Clocks of different nodes: how far each is from that of one of them, measured when the world
 * begins and when it ends. Between two measurements the reader draws a line. */
#ifndef LULL_RECORD_MPI_CLOCKS_H
#define LULL_RECORD_MPI_CLOCKS_H

#include "record/mpi/wrap.h"

/* Behind MPI_Init. Nothing is exchanged on one node, and nothing with processes that are not
 * recorded. */
void rec_mpi_clocks_begin(MPI_Comm world, int size, int rank);
/* In MPI_Finalize, which all processes call, also where they have paused or stopped recording. */
void rec_mpi_clocks_end(void);

#endif
