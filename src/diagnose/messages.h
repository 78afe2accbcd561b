/* Messages as they were measured: how long they took beyond waiting, by size and in time.
 *
 * The transit of a message is from when it was sent, or its receiver began to wait for it if that
 * was later, until it was there: what neither a sooner sender nor a later receiver takes away. Its
 * flight is from when it was sent until it was there, which is seen where its receiver waited
 * before it was sent, and of the messages of one call only of the one that was sent last: the call
 * ends with it. Each worker of a pass adds up its own, 330 KB each: of each window of the run in
 * which messages were sent, and each class of sizes; and 100 bytes for each location. */
#ifndef LULL_DIAGNOSE_MESSAGES_H
#define LULL_DIAGNOSE_MESSAGES_H

#include "base/arena.h"
#include "replay/ideal/ideal.h"
#include "team/team.h"

/* Class c holds messages of 2^(c - 1) to 2^c - 1 bytes; the first is empty messages, the last also
 * what is longer. */
enum { LULL_MESSAGES_CLASSES = 32, LULL_MESSAGES_WINDOWS = 256 };

/* Sums of integers, so that they do not depend on who adds them up. */
struct lull_messages_sum {
    uint64_t count;
    uint64_t bytes;
    int64_t transit_ns;
    uint64_t flights; /* that were seen */
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
/* What the ideal runtime of the pass calls for each message; `context` is the collector. */
void lull_messages_take(void *context, unsigned worker, const struct lull_ideal_message *message);
/* Behind a pass that a team has shared: from its members to the first, which adds them up. */
bool lull_messages_put(struct lull_messages_collector *collector, struct lull_flow *flow);
bool lull_messages_get(struct lull_messages_collector *collector, struct lull_flow *flow);
/* The sums of all workers, in `arena`; once, behind the pass. */
const struct lull_messages *lull_messages_conclude(struct lull_messages_collector *collector,
                                                   struct lull_arena *arena);
void lull_messages_destroy(struct lull_messages_collector *collector); /* NULL is allowed */

/* Over the windows of a class. */
struct lull_messages_sum lull_messages_of_class(const struct lull_messages *messages,
                                                unsigned size_class);
/* Over all. */
struct lull_messages_sum lull_messages_of_all(const struct lull_messages *messages);

#endif
