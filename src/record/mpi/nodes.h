/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks of nodes. One process on each node measures how far its node's clock is from the
 * others'. These processes find each other by files in the run's folder (docs/formats/tape.md),
 * within a time limit, so that nobody waits for a process that turns out not to be recorded. */
#ifndef LULL_RECORD_MPI_NODES_H
#define LULL_RECORD_MPI_NODES_H

#include "record/mpi/wrap.h"

/* ==== who measures ============================================================================ */

/* Called before MPI_Init: the first process of a node that comes here measures for the node.
 * MPI_Init lets no process go before all have come, so that all claims are there when it
 * returns. */
void rec_mpi_nodes_claim(void);

/* ==== clocks ================================================================================== */

/* How far the clock of each node is from that of one of them, measured when the world begins and
 * when it ends. Between two measurements the reader interpolates linearly. */

/* Called after MPI_Init. Nothing is exchanged where there is only one node, and nothing with
 * processes that are not recorded. */
void rec_mpi_clocks_begin(MPI_Comm world, int size, int rank);
/* Called in MPI_Finalize by all processes, also by those that have paused or stopped recording. */
void rec_mpi_clocks_end(void);

#endif
