/* The eager limit that a trace shows: up to which size sends did not wait for their receives.
 *
 * A send that returned before its receive was posted was eager. A blocking send that began before
 * its receive and returned behind it may have waited; where several did so of a size of which none
 * was eager, they did. Sends and receives of a channel are numbered, and of each power of two among
 * the sizes a sample is compared. Memory: 130 kB for each of them, side and worker. */
#ifndef LULL_REPLAY_EAGER_LIMIT_H
#define LULL_REPLAY_EAGER_LIMIT_H

#include "activity/pass.h"

struct lull_eager_evidence;

lull_status lull_eager_evidence_create(const struct lull_trace *trace, unsigned workers,
                                       struct lull_eager_evidence **ret_evidence,
                                       struct lull_error *err);
void lull_eager_evidence_destroy(struct lull_eager_evidence *evidence); /* NULL is allowed */

/* For one pass with so many workers, over masters at least. */
struct lull_consumer lull_eager_evidence_consumer(struct lull_eager_evidence *evidence);

/* Behind the pass: the limit in bytes within nodes or between them. Where the evidence leaves a
 * choice, `usual` or what comes next to it. */
lull_status lull_eager_evidence_limit(struct lull_eager_evidence *evidence, bool between_nodes,
                                      double usual, double *ret_limit, struct lull_error *err);

#endif
