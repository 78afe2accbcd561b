/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder that a recording goes to. All processes of one job agree upon it: each starts its own
 * `lull record`, in any order, and can find the folder by itself. Where the launcher says how many
 * processes are on a node, one of them finds the folder and tells the others there ("node"
 * below). */
#ifndef LULL_LAUNCH_TARGET_H
#define LULL_LAUNCH_TARGET_H

#include "base/arena.h"
#include "base/error.h"
#include "launch/about.h"
#include "launch/executable.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== jobs and folders ======================================================================== */

/* What the environment says about the job that this process is part of. */
struct lull_job {
    bool parallel;       /* a launcher of MPI programs started us */
    bool siblings;       /* something else may have started us, which tells no rank; then the other
                            processes of the job have the same parent as this one */
    uint32_t rank, size; /* 0 and 1 if not parallel */
    uint32_t node_rank, node_size; /* the same on this node; 0 and 0 if it is not known */
    bool tell_rank; /* the recorder does not know this launcher: it is to be told `rank` */
    enum lull_mpi_family family; /* family of the launcher, where it is known */
    const char *key;             /* the same for all processes of the job, and for no other job */
};

void lull_job_describe(const struct lull_executable *executable, struct lull_arena *arena,
                       struct lull_job *ret_job);

/* "heat.2x4.lull" for 2 processes of the title "heat" with 4 threads each. */
const char *lull_target_default(const struct lull_executable *executable, const char *title,
                                const struct lull_job *job, struct lull_arena *arena);

enum lull_target_found {
    LULL_TARGET_MADE,   /* or another process of this job has made it */
    LULL_TARGET_EXISTS, /* something is there that is not to be replaced; err says what */
    LULL_TARGET_FAILED  /* the file system refuses; err says why */
};

struct lull_target_options {
    bool replace;                   /* an existing run of another job is replaced */
    bool number;                    /* if the name is taken, "NAME-2.lull", ... */
    const struct lull_about *about; /* what is left in the folder where it is made; NULL: nothing */
    bool by_node; /* makes the file of this node, in which its processes are to record */
};

/* Makes the folder with the anchor of a tape in it. *ret_path is absolute. */
enum lull_target_found lull_target_claim(const char *path, const struct lull_job *job,
                                         const struct lull_target_options *options,
                                         struct lull_arena *arena, const char **ret_path,
                                         struct lull_error *err);

/* ==== node: one process tells the others ====================================================== */

/* What the first process of a job on a node has found out, told to the others there through a file
 * in shared memory, so that a thousand processes do not all ask a file system that many nodes
 * share.
 *
 * Nobody depends on it. A process is told nothing where there is no shared memory, it is full or
 * refused, another user has the name, or the first process died or takes too long; then it finds
 * out by itself what the first one would have told. The file goes when all have been told, or with
 * the next job. */

struct lull_launch_node {
    struct lull_node_shared *shared; /* NULL: nobody is to be told */
};

/* Joins the `size` processes of the node (0: their number is not known) that want to know `what`,
 * each of them once; this one is `rank` of them. Returns what the first one has told. NULL: this
 * process is to find out itself and to tell. Waits for the first one as long as that lives, and at
 * most 10 s. */
const char *lull_node_join(const char *folder, const char *what, uint32_t rank, uint32_t size,
                           struct lull_arena *arena, struct lull_launch_node *ret_node);
/* Tells the others the path, where lull_node_join has returned NULL; `path` NULL: it was not found,
 * so that the others try themselves. */
void lull_node_tell(struct lull_launch_node *node, const char *path);

#endif
