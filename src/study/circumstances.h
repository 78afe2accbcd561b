/* SPDX-License-Identifier: BSD-3-Clause */
/* Under which circumstances a run was, as sentences: whether threads had cores and processes had memory, what the run
 * was disturbed with on purpose, and how long it took to start. Such things say how far its times tell of the
 * program. */
#ifndef LULL_STUDY_CIRCUMSTANCES_H
#define LULL_STUDY_CIRCUMSTANCES_H

#include "study/run.h"
#include "trace/trace.h"

/* ==== cores =================================================================================== */

/* A sentence, in `arena`, where threads could have run but had no core for more than 5 % of the
 * time: how many threads that were, which of them was without a core longest, and whether the run's
 * own threads or other programs had the cores. NULL: there was no such thread, or the trace does
 * not tell. */
const char *lull_cores_describe(const struct lull_trace *trace, struct lull_arena *arena);

/* What threads without a core have to do with a replay that is shorter than the run, as a sentence
 * with a space before it; "" where all threads had cores, the trace does not tell, or the replay is
 * not shorter. */
const char *lull_cores_excuse(const struct lull_trace *trace, bool shorter,
                              struct lull_arena *arena);

/* ==== disturbed on purpose ==================================================================== */

/* What a run was disturbed with on purpose (lull record --inject), and what of that could not be
 * done: one sentence without its full stop, in `arena`. NULL: it was not disturbed. */
const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena);

/* ==== memory ================================================================================== */

/* "up to 1.20 GiB in a process (rank 3), 4.40 of 24.00 GiB on node n1 (18 %)", in `arena`. NULL: it is not known. */
const char *lull_memory_describe(const struct lull_trace *trace, struct lull_arena *arena);

/* A sentence without its full stop where memory is nearly used up: where something was swapped out, or the processes of
 * a node had 90 % of its memory or of their limit. NULL: neither, or it is not known. */
const char *lull_memory_warning(const struct lull_trace *trace, struct lull_arena *arena);

/* ==== start-up ================================================================================ */

/* Whether a region of the trace is MPI_Init or MPI_Init_thread. */
bool lull_has_init(const struct lull_trace *trace);

/* The share of the run's time that MPI_Init took, and how to leave it out: a sentence in `arena`.
 * NULL: less than a tenth, or that is not known. The run must have been analysed. Reads the first
 * events of up to 256 processes again. */
const char *lull_start_up_describe(const struct lull_run *run, uint32_t application,
                                   struct lull_arena *arena);

#endif
