/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured network: what the messages of a trace cost.
 *
 * A message that its receiver was already waiting for takes latency + bytes / bandwidth, and longer
 * where somebody was disturbed. So the 0.1 quantile of the times of small messages gives the
 * latency, and the growth of that quantile with the size gives the bandwidth. This is the network
 * that users are told, and the messages of collective operations cost so. Where nobody ever waited
 * for a message, the times that receives took after the message was sent are used instead.
 *
 * The messages of the program itself cost by ranges: the messages of a range, which is a power of
 * two of bytes, together cost what they did in the run. Three kinds of messages tell that: messages
 * that were waited for; messages that were sent so shortly before the receiving call that they were
 * still under way; and large ones, by how long blocking sends took from when both sides had begun.
 * The least time of a wait is a low quantile of calls for one message that had been there already.
 * Where threads had no core for a notable part of the run (trace/resources.h), calls are late for that
 * reason and not for the network's. Then calls that waited for sends of any size count, too, and
 * the least time of a wait is the mean of all calls whose messages had been there already.
 * All this is measured inside nodes and between them apart, where the trace says which process is
 * on which node. */
#ifndef LULL_REPLAY_MEASURED_NETWORK_H
#define LULL_REPLAY_MEASURED_NETWORK_H

#include "activity/pass.h"
#include "replay/ideal/ideal.h"
#include "sim/network/network.h"
#include "team/team.h"

/* ==== measured network ======================================================================== */

/* A sample of the messages of a trace, taken while its ideal runtime is found. It does not depend
 * on the order of the messages or the number of workers. Memory: per worker, for each power of two
 * among the sizes of messages, up to three samples of 160 kB (replay/sample.h), inside nodes and
 * between them; and 100 bytes per location. */
struct lull_network_samples;
struct lull_eager_evidence; /* see below */
lull_status lull_network_samples_create(const struct lull_trace *trace, unsigned workers,
                                        struct lull_network_samples **ret_samples,
                                        struct lull_error *err);
void lull_network_samples_destroy(struct lull_network_samples *samples); /* NULL is allowed */
/* Forgets all messages. */
void lull_network_samples_clear(struct lull_network_samples *samples);

/* `message` of the ideal runtime's options, with the samples as its context. */
void lull_network_samples_take(void *samples, unsigned worker,
                               const struct lull_ideal_message *message);

/* Behind a pass that a team has shared: from its members to the first, which adds them up. */
bool lull_network_samples_put(struct lull_network_samples *samples, struct lull_flow *flow);
bool lull_network_samples_get(struct lull_network_samples *samples, struct lull_flow *flow);

/* Fills *ret_network (class ranges, with a placement in `arena`), once. A level without messages
 * gets the numbers of the other level; the network of a trace without messages costs nothing. The
 * eager limit follows from `evidence`; NULL: it is that of the class. */
lull_status lull_network_samples_fit(struct lull_network_samples *samples,
                                     struct lull_eager_evidence *evidence, uint32_t application,
                                     struct lull_arena *arena, struct lull_network *ret_network,
                                     struct lull_error *err);

/* The placement of the ranks of an application on the nodes of its trace. */
void lull_replay_placement(const struct lull_trace *trace, uint32_t application,
                           struct lull_arena *arena, struct lull_placement *ret_placement);

/* ==== eager limit ============================================================================= */

/* The eager limit that a trace shows: up to which size sends did not wait for their receives.
 *
 * A send that returned before its receive was posted was eager. A blocking send that began before
 * its receive and returned after it may have waited; where several sends of about one size did so
 * and none was eager, they did wait. Sends and receives of a channel are numbered, so that samples
 * of both hold the same messages; they are compared for each power of two among the sizes. Memory:
 * 160 kB for each of these sizes, side and worker. */

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

/* Blocking sends of about one size in a sample: how many, their bytes together, and the sum of
 * their times from when both sides had begun until one of them knew that the message was over. */
struct lull_handshakes {
    uint64_t count, bytes;
    int64_t ns;
};

enum { LULL_EAGER_SIZES = 65 };

struct lull_eager_findings {
    double least, most; /* bytes of the largest message that was eager, and of the largest that may
                           have been; `most` may be infinite */
    struct lull_handshakes handshakes[LULL_EAGER_SIZES]; /* by the number of bits in the size */
};

/* After the pass: what was found inside nodes, or between them. */
lull_status lull_eager_evidence_weigh(struct lull_eager_evidence *evidence, bool between_nodes,
                                      struct lull_eager_findings *ret_findings,
                                      struct lull_error *err);

/* The limit in bytes. Where the evidence leaves a choice, `usual` or what comes next to it. */
double lull_eager_limit(const struct lull_eager_findings *findings, double usual);

#endif
