/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulated run as a tape: a sink of the engine that writes what happens as a trace.
 *
 * Each rank is one process with one thread. Regions are those of the program; what a rank computes
 * in no region is in the region "compute". Noise and delays lengthen a computation: they are the
 * regions "noise" and "delay" behind it. Time that is neither computation nor a call is in the
 * region "communication": the processor is busy with messages. A graph has no calls, and where its
 * computations overlap (several processors) one of them is cut. From its end to the end of the run
 * a rank is in MPI_Finalize, as it would wait there. Iterations are markers.
 *
 * Memory is bounded by the number of ranks; the run appears whole or not at all. */
#ifndef LULL_REPLAY_SIM_TAPE_H
#define LULL_REPLAY_SIM_TAPE_H

#include "sim/engine/engine.h"

struct lull_sim_tape;

/* The program has one stream per rank and outlives the tape. `placement` says which node each rank
 * is on; NULL: the trace does not tell. `replace` is that of lull_output_begin. The tape lives in
 * memory of its own until it is closed. */
lull_status lull_sim_tape_open(const struct lull_program *program,
                               const struct lull_placement *placement, const char *path,
                               bool replace, struct lull_sim_tape **ret_tape,
                               struct lull_error *err);
const struct lull_sim_sink *lull_sim_tape_sink(const struct lull_sim_tape *tape);
/* Ends the writing with the result of the simulation; NULL: it failed, nothing is left behind. */
lull_status lull_sim_tape_close(struct lull_sim_tape *tape, const struct lull_sim_result *result,
                                struct lull_error *err);

#endif
