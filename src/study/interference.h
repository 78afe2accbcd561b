/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a run's times tell of the program: they do not where threads had no cores for themselves,
 * nor where the run was disturbed on purpose. */
#ifndef LULL_STUDY_INTERFERENCE_H
#define LULL_STUDY_INTERFERENCE_H

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

#endif
