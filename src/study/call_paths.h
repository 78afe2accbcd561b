/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths of samples, for programs that draw them: flame graphs and their like.
 *
 * A path goes from the outside to the inside: the user's regions that are open; of a sample in a call of
 * MPI or of another runtime, the functions that the call came from, as far as its call site tells them
 * and no region of the user does, and the call; then the functions that were inlined in each other at
 * the place of the sample. The weight of a path is the processor time that its samples stand for. */
#ifndef LULL_STUDY_CALL_PATHS_H
#define LULL_STUDY_CALL_PATHS_H

#include "base/error.h"
#include "trace/trace.h"

/* A form in which they are written: one constant struct each. */
struct lull_paths_form {
    const char *name, *summary;
};

/* NULL: there is none of that name. */
const struct lull_paths_form *lull_paths_form_find(const char *name);
/* "folded, speedscope"; lives in `arena`. */
const char *lull_paths_forms(struct lull_arena *arena);

/* Writes the call paths of all samples of a run to a file, which appears whole or not at all, and takes
 * the place of one that is there only with `replace`. `progress` may be NULL. Memory: the different paths,
 * and 12 bytes for each sample whose path is another one than that of the sample before it. Fails with
 * LULL_ERR_RANGE where the run has no events or no samples, with LULL_ERR_MEMORY, and as reading and
 * writing do. */
lull_status lull_paths_write(const struct lull_trace *trace, const struct lull_paths_form *form,
                             const char *path, bool replace,
                             void (*progress)(void *context, double share), void *progress_context,
                             struct lull_error *err);

#endif
