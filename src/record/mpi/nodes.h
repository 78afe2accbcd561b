/* Which processes measure the clocks of their nodes: one on each. They find each other by files in
 * the run's folder (docs/formats/tape.md), within a time limit, so that nobody waits for a process
 * that turns out not to be recorded. */
#ifndef LULL_RECORD_MPI_NODES_H
#define LULL_RECORD_MPI_NODES_H

#include "record/mpi/wrap.h"

/* ==== who measures ============================================================================ */

/* Before MPI_Init: the first process of a node that comes here measures for it. MPI_Init lets no
 * process go before all have come, so that all claims are there when it returns. */
void rec_mpi_nodes_claim(void);

/* ==== clocks ================================================================================== */

/* How far the clock of each node is from that of one of them, measured when the world begins and
 * when it ends. Between two measurements the reader interpolates linearly. */

/* Behind MPI_Init. Nothing is exchanged where there is only one node, and nothing with processes
 * that are not recorded. */
void rec_mpi_clocks_begin(MPI_Comm world, int size, int rank);
/* In MPI_Finalize, which all processes call, also where they have paused or stopped recording. */
void rec_mpi_clocks_end(void);

#endif
