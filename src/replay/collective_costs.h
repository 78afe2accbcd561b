/* SPDX-License-Identifier: BSD-3-Clause */
/* The costs of the collective operations of a run: how much longer they took than undisturbed
 * messages would (software, contention, disturbed members), and by which algorithm they went.
 *
 * A sample of the blocking operations on communicators of one group is taken by communicator and
 * number, so that all processes sample the same operations. For operations that usually go by a
 * logarithmic number of messages one after the other, the time from when all needed members had
 * come until the last one left is compared with the time of these messages. Where there are too few
 * of these, operations of blocks tell (alltoall, allgather, reduce_scatter), by the messages of the
 * algorithm that a simulation would take (sim/collective/collective.h). Memory: 160 kB for each
 * worker. Nothing is known of operations of more than 2048 members (LULL_SAMPLE). */
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

/* After a pass that a team has shared: from its members to the first, which adds them up. */
bool lull_collective_costs_put(const struct lull_collective_costs *costs, struct lull_flow *flow);
bool lull_collective_costs_get(struct lull_collective_costs *costs, struct lull_flow *flow);

struct lull_collective_facts {
    /* How much longer, in ns, a message of these operations took on average than `latency` + bytes
     * / `bandwidth`; 0 where less than eight operations tell it, or it was not longer. */
    double delay;
    /* Of broadcasts, reductions, gathers and scatters: messages go straight to the root, or from
     * it, and not along a binomial tree. In a tree a process would wait for those that are below or
     * above it there; `direct` is set where processes went on without late ones in nine of ten
     * cases, and in eight cases at least. */
    bool direct[LULL_COLLECTIVES];
};

/* After the pass, once. `latency`: ns; `bandwidth`: bytes/s. Fails with LULL_ERR_MEMORY. */
lull_status lull_collective_costs_conclude(struct lull_collective_costs *costs, double latency,
                                           double bandwidth,
                                           struct lull_collective_facts *ret_facts,
                                           struct lull_error *err);

#endif
