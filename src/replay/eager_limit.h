/* The eager limit that a trace shows: up to which size sends did not wait for their receives.
 *
 * A send that returned before its receive was posted was eager. A blocking send that began before
 * its receive and returned behind it may have waited; where several did so of a size of which none
 * was eager, they did. Sends and receives of a channel are numbered, and of each power of two among
 * the sizes a sample is compared. Memory: 130 kB for each of them, side and worker. */
#ifndef LULL_REPLAY_EAGER_LIMIT_H
#define LULL_REPLAY_EAGER_LIMIT_H

#include "activity/pass.h"
#include "team/bring.h"

struct lull_eager_evidence;

lull_status lull_eager_evidence_create(const struct lull_trace *trace, unsigned workers,
                                       struct lull_eager_evidence **ret_evidence,
                                       struct lull_error *err);
void lull_eager_evidence_destroy(struct lull_eager_evidence *evidence); /* NULL is allowed */

/* For one pass with so many workers, over masters at least. */
struct lull_consumer lull_eager_evidence_consumer(struct lull_eager_evidence *evidence);

/* Behind a pass that a team has shared: from its members to the first, which adds them up. */
bool lull_eager_evidence_put(const struct lull_eager_evidence *evidence, struct lull_flow *flow);
bool lull_eager_evidence_get(struct lull_eager_evidence *evidence, struct lull_flow *flow);

/* Blocking sends of about one size whose messages may not have been eager: how many of a sample,
 * their bytes, and the time from when both sides had begun until one of them knew that it was over.
 */
struct lull_handshakes {
    uint64_t count, bytes;
    int64_t ns;
};

enum { LULL_EAGER_SIZES = 65 };

/* The largest message that was eager, the largest that may have been, and by the number of bits in
 * the size the blocking sends. */
struct lull_eager_findings {
    double least, most; /* bytes; `most` may be infinite */
    struct lull_handshakes handshakes[LULL_EAGER_SIZES];
};

/* Behind the pass: what was found within nodes or between them. */
lull_status lull_eager_evidence_weigh(struct lull_eager_evidence *evidence, bool between_nodes,
                                      struct lull_eager_findings *ret_findings,
                                      struct lull_error *err);

/* The limit in bytes. Where the evidence leaves a choice, `usual` or what comes next to it. */
double lull_eager_limit(const struct lull_eager_findings *findings, double usual);

#endif
