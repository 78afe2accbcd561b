/* What the collective operations of a run say of themselves: what they cost beyond undisturbed
 * messages (software, contention, disturbances of who takes part), and by which algorithm.
 *
 * Of blocking operations on communicators of one group a sample is taken by communicator and
 * number, so that all members bring the same ones. Of those for which a logarithmic number of
 * messages after each other is usual, the time from when all needed ones had come until the last
 * one left is compared with that of these messages. Memory: 130 kB for each worker; more than 2048
 * members, and nothing is known. */
#ifndef LULL_REPLAY_COLLECTIVE_COSTS_H
#define LULL_REPLAY_COLLECTIVE_COSTS_H

#include "activity/pass.h"
#include "team/team.h"

struct lull_collective_costs;

lull_status lull_collective_costs_create(const struct lull_trace *trace, unsigned workers,
                                         struct lull_collective_costs **ret_costs,
                                         struct lull_error *err);
void lull_collective_costs_destroy(struct lull_collective_costs *costs); /* NULL is allowed */

/* For one pass with so many workers, over masters at least. */
struct lull_consumer lull_collective_costs_consumer(struct lull_collective_costs *costs);

/* Behind a pass that a team has shared: from its members to the first, which adds them up. */
bool lull_collective_costs_put(const struct lull_collective_costs *costs, struct lull_flow *flow);
bool lull_collective_costs_get(struct lull_collective_costs *costs, struct lull_flow *flow);

struct lull_collective_facts {
    /* How much longer, ns, a message of these operations took on average than `latency` ns + bytes
     * / `bandwidth`; 0 where less than eight operations tell it, or it was not longer. */
    double delay;
    /* Of broadcasts, reductions, gathers and scatters: who has others below or above it in a
     * binomial tree goes on without them when they are late, in nine of ten cases and eight at
     * least. So messages go straight to the root, or from it. */
    bool direct[LULL_COLLECTIVES];
};

/* Behind the pass, once. Fails with LULL_ERR_MEMORY. */
lull_status lull_collective_costs_conclude(struct lull_collective_costs *costs, double latency,
                                           double bandwidth,
                                           struct lull_collective_facts *ret_facts,
                                           struct lull_error *err);

#endif
