/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a run had, in words. */
#ifndef LULL_STUDY_MEMORY_USE_H
#define LULL_STUDY_MEMORY_USE_H

#include "trace/trace.h"

/* "up to 1.20 GiB in a process (rank 3), 4.40 of 24.00 GiB on node n1 (18 %)", in `arena`. NULL: it is not known. */
const char *lull_memory_describe(const struct lull_trace *trace, struct lull_arena *arena);

/* A sentence without its full stop where memory is nearly used up: where something was swapped out, or the processes of
 * a node had 90 % of its memory or of their limit. NULL: neither, or it is not known. */
const char *lull_memory_warning(const struct lull_trace *trace, struct lull_arena *arena);

#endif
