/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths of samples, for programs that draw them: flame graphs and their like.
 *
 * A path goes from the outside to the inside: the user's regions that are open; of a sample in a call of
 * MPI or of another runtime, the functions that the call came from, as far as its call site tells them
 * and no region of the user does, and the call; then the functions that were inlined in each other at
 * the place of the sample. The weight of a path is the processor time that its samples stand for. */
#ifndef LULL_STUDY_CALL_PATHS_H
#define LULL_STUDY_CALL_PATHS_H

#include "trace/format.h"

/* Written by lull_convert (trace/convert.h) to a file. They are not in lull_formats, because the trace room
 * does not know steps. Memory: the different paths, and 12 bytes for each sample whose path is another one
 * than that of the sample before it. Writing fails with LULL_ERR_RANGE where the run has no samples, with
 * LULL_ERR_MEMORY, and as reading and writing files do. */
extern const struct lull_format lull_format_folded; /* a line for each path */
extern const struct lull_format
    lull_format_speedscope; /* in order of time, a profile for each thread */

#endif
