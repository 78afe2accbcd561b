/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths of samples, for programs that draw them: flame graphs and their like.
 *
 * A path goes from the outside to the inside: the user's regions that are open; of a sample in a call of
 * MPI or of another runtime, the functions that the call came from, as far as its call site tells them
 * and no region of the user does, and the call; then the functions that were inlined in each other at
 * the place of the sample. Of a sample with a stack (lull record --sample-stack) all functions that were
 * called in each other take the place of regions and calls. The weight of a path is the processor time that its samples stand for. */
#ifndef LULL_STUDY_CALL_PATHS_H
#define LULL_STUDY_CALL_PATHS_H

#include "study/joint_pass.h"
#include "trace/format.h"

/* ==== for other programs ====================================================================== */

/* Written by lull_convert (trace/convert.h) to a file. They are not in lull_formats, because the trace room
 * does not know steps. Memory: the different paths, and 12 bytes for each sample whose path is another one
 * than that of the sample before it. Writing fails with LULL_ERR_RANGE where the run has no samples, with
 * LULL_ERR_MEMORY, and as reading and writing files do. */
extern const struct lull_format lull_format_folded; /* a line for each path */
extern const struct lull_format
    lull_format_speedscope; /* in order of time, a profile for each thread */

/* ==== the tree ================================================================================ */

/* All call paths of useful samples of all threads, in the windows of the reading, as one tree for a picture. */

/* A function or recorded region under those that it was called from. */
struct lull_path_node {
    const char *name, *file; /* file "": not known */
    uint32_t depth;          /* of the outermost 0 */
    uint64_t begin,
        weight; /* ns: from `begin` on, of the weight of the tree; with all that it called */
};

struct lull_path_tree {
    const struct lull_path_node
        *nodes; /* a node before those below it, which are in the order of names */
    uint32_t n_nodes;
    uint64_t weight; /* of all samples */
};

/* The analysis of call paths; it has no options. The tree lives in the arena of the pass; it is NULL where
 * there are no useful samples, and on members of a team other than the first. Memory: the different
 * paths. */
extern const struct lull_analysis lull_path_analysis;
struct lull_path_state {
    struct path_reader *reader;
    const struct lull_path_tree *tree;
};

#endif
