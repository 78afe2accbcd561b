/* What the first process of a job on a node has found out, told to the others there through a file
 * in shared memory, so that a thousand processes do not all ask a file system that many nodes
 * share.
 *
 * Nobody depends on it: who is told nothing, because there is no such memory, it is full or
 * refused, another user has the name, or the first one died or takes too long, finds out by itself
 * what the first one would have told. The file goes when all have been told, or with the next job.
 */
#ifndef LULL_LAUNCH_NODE_H
#define LULL_LAUNCH_NODE_H

#include "base/arena.h"

#include <stdint.h>

#define LULL_NODE_FOLDER "/dev/shm"

struct lull_launch_node {
    struct lull_node_shared *shared; /* NULL: nobody is to be told */
};

/* This process is `rank` of `size` on the node (0: it is not known how many) that want to know
 * `what`, each of them once. Returns what the first one has told; NULL: the process finds out
 * itself, and tells. Waits for the first one, as long as that lives and at most 10 s. */
const char *lull_node_join(const char *folder, const char *what, uint32_t rank, uint32_t size,
                           struct lull_arena *arena, struct lull_launch_node *ret_node);
/* What join has returned NULL for; NULL: it failed, so that the others try themselves. */
void lull_node_tell(struct lull_launch_node *node, const char *path);

#endif
