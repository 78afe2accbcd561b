/* The folder that a recording goes to, agreed upon by all processes of one job: each starts its own
 * `lull record`, in any order, and can find it by itself. On a node one of them does, where the
 * launcher says who is there, and tells the others (launch/node.h). */
#ifndef LULL_LAUNCH_TARGET_H
#define LULL_LAUNCH_TARGET_H

#include "base/arena.h"
#include "base/error.h"
#include "launch/executable.h"

#include <stdbool.h>
#include <stdint.h>

/* What the environment says about the job that this process is part of. */
struct lull_job {
    bool parallel;       /* a launcher of MPI programs started us */
    bool siblings;       /* or something that tells no rank may have: the other processes of
                            the job have the same parent */
    uint32_t rank, size; /* 0 and 1 if not */
    uint32_t node_rank, node_size; /* the same on this node; 0 and 0 if it is not known */
    enum lull_mpi_family family;   /* whose launcher, as far as it can be told */
    const char *key;               /* the same for all processes of the job, and for no other job */
};

void lull_job_describe(const struct lull_executable *executable, struct lull_arena *arena,
                       struct lull_job *ret_job);

/* "heat.2x4.lull" for 2 processes of heat with 4 threads each. */
const char *lull_target_default(const struct lull_executable *executable,
                                const struct lull_job *job, struct lull_arena *arena);

enum lull_target_found {
    LULL_TARGET_MADE,   /* or found as another process of this job made it */
    LULL_TARGET_EXISTS, /* something is there that is not to be replaced; err says what */
    LULL_TARGET_FAILED  /* the file system refuses; err says why */
};

struct lull_target_options {
    bool replace; /* a run of another job that is there */
    bool number;  /* if the name is taken, "NAME-2.lull", ... */
    bool by_node; /* with the file of this node, in which its processes are to record */
};

/* Makes the folder with the anchor of a tape in it. ret_path is absolute. */
enum lull_target_found lull_target_claim(const char *path, const struct lull_job *job,
                                         const struct lull_target_options *options,
                                         struct lull_arena *arena, const char **ret_path,
                                         struct lull_error *err);

#endif
