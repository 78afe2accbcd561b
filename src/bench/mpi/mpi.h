/* What the rounds of an MPI helper make of a machine; internal to the benchmark of messages. */
#ifndef LULL_BENCH_MPI_MPI_H
#define LULL_BENCH_MPI_MPI_H

#include "bench/benchmark.h"
#include "bench/helper_output.h"

/* One round for each measurement of a launch: "mpi.barrier.2" and others as numbers, the raw times
 * of ping-pong, LogGP and overlap as points. `steal`: share of the time that the hypervisor took,
 * or NAN. */
void lull_mpi_add_rounds(struct lull_bench *bench, const struct lull_task *task,
                         const struct lull_helper_output *output, double steal);

/* Levels of the network, curves and derived numbers, from the rounds of all launches. `output`: of
 * the last, for the levels it names; `eager`: limit by level in its order, UINT64_MAX: none. */
void lull_mpi_finish(struct lull_bench *bench, const struct lull_benchmark *self,
                     const struct lull_helper_output *output, const uint64_t *eager);

#endif
