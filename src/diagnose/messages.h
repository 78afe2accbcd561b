/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as they were measured: how long they took beyond waiting, by size and in time.
 *
 * The transit of a message is what neither a sooner sender nor a later receiver would take away. It
 * begins when the message was sent, or when its receiver began to wait for it if that was later,
 * and ends when the message was there.
 *
 * The flight of a message is from when it was sent until it was there. It is seen where the
 * receiver was waiting before the message was sent; and of the messages of one call only the one
 * that was sent last is seen, because the call ends with it.
 *
 * Memory: each worker of a pass has sums of its own, 330 KB, for each window of the run in which
 * messages were sent and each class of sizes; and 100 bytes for each location. */
#ifndef LULL_DIAGNOSE_MESSAGES_H
#define LULL_DIAGNOSE_MESSAGES_H

#include "base/arena.h"
#include "replay/ideal/ideal.h"
#include "team/team.h"

/* Class c has the messages of 2^(c - 1) to 2^c - 1 bytes. Class 0 has the empty messages, and the
 * last class all longer ones, too. */
enum { LULL_MESSAGES_CLASSES = 32, LULL_MESSAGES_WINDOWS = 256 };

/* Sums of integers, so that they do not depend on who adds them up. */
struct lull_messages_sum {
    uint64_t count;
    uint64_t bytes;
    int64_t transit_ns;
    uint64_t flights; /* messages whose flight was seen */
    int64_t flight_ns;
};

struct lull_messages {
    struct lull_messages_sum sums[LULL_MESSAGES_WINDOWS][LULL_MESSAGES_CLASSES];
};

unsigned lull_messages_class(uint64_t bytes);

struct lull_messages_collector;

/* Fails with LULL_ERR_MEMORY. */
lull_status lull_messages_create(const struct lull_trace *trace, unsigned workers,
                                 struct lull_messages_collector **ret_collector,
                                 struct lull_error *err);
/* The ideal runtime of the pass calls this for each message; `context` is the collector. */
void lull_messages_take(void *context, unsigned worker, const struct lull_ideal_message *message);
/* Behind a pass that a team has shared: each member puts its sums, and the first gets and adds
 * them. */
bool lull_messages_put(struct lull_messages_collector *collector, struct lull_flow *flow);
bool lull_messages_get(struct lull_messages_collector *collector, struct lull_flow *flow);
/* The sums of all workers, in `arena`; called once, behind the pass. */
const struct lull_messages *lull_messages_conclude(struct lull_messages_collector *collector,
                                                   struct lull_arena *arena);
void lull_messages_destroy(struct lull_messages_collector *collector); /* NULL is allowed */

/* The sum over the windows of a class. */
struct lull_messages_sum lull_messages_of_class(const struct lull_messages *messages,
                                                unsigned size_class);
/* The sum over all windows and classes. */
struct lull_messages_sum lull_messages_of_all(const struct lull_messages *messages);

#endif
