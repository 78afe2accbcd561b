/* Feeds the events of a random trace to the core of a breakdown, as a scan might: locations in any
 * interleaving, in blocks of any size, by any worker. */
#ifndef LULL_TESTS_FEED_H
#define LULL_TESTS_FEED_H

#include "metrics/breakdown.h"
#include "support/random_trace.h"

struct lull_breakdown *feed_breakdown(struct lull_random *random, const struct random_trace *made,
                                      const struct lull_breakdown_options *options,
                                      struct lull_arena *arena);

#endif
