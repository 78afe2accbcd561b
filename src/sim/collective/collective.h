/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations as messages: for each algorithm, what one rank sends and receives.
 *
 * A rank goes through steps. In one step its transfers are started together, and the next step
 * begins when all of them are complete: these are the program-order edges that make a barrier a
 * barrier. Nothing is kept between the calls, so that a million ranks cost no memory. */
#ifndef LULL_SIM_COLLECTIVE_COLLECTIVE_H
#define LULL_SIM_COLLECTIVE_COLLECTIVE_H

#include "sim/network/network.h"

/* Whose part it is; ranks are positions in the group. */
struct lull_collective_call {
    uint8_t operation; /* enum lull_collective, base/collective.h */
    uint8_t algorithm; /* from lull_collective_choose() */
    uint32_t size;     /* of the group, at least 1 */
    uint32_t me, root; /* root: 0 where the operation has none */
    /* Bytes of this rank's buffers, as in struct lull_op. Bcast, scatter: only the root sends;
     * reduce, gather: only the root receives (or sends 0, in place); gather and allgather receive,
     * scatter and alltoall send the blocks of all ranks. */
    uint64_t sent, received;
};

struct lull_collective_transfer {
    bool send;      /* else receive */
    uint32_t peer;  /* position in the group */
    uint32_t tag;   /* the same at both ends; tells messages of one pair apart */
    uint64_t bytes; /* of a send; a receive takes what comes */
};

/* The algorithm for an operation: as `network->algorithms` says, else by size. All ranks of the
 * group must come to the same answer: `bytes` is what the rank that entered first said (the larger
 * of sent and received). */
uint8_t lull_collective_choose(const struct lull_network *network, uint8_t operation, uint32_t size,
                               uint64_t bytes);

/* The linear algorithm, by which a rank waits for nobody whose data it does not need; not for
 * NEIGHBOUR, which has none. */
uint8_t lull_collective_linear(uint8_t operation);
/* The name of what was chosen ("ring"). */
const char *lull_collective_algorithm_name(uint8_t algorithm);
/* Fails with LULL_ERR_RANGE if `text` is not as network->algorithms must be:
 * "allreduce:ring+bcast:binomial", operations as lull_collective_name() calls them. */
lull_status lull_collective_check(const char *text, struct lull_error *err);

/* Number of transfers in step `step` (0, 1, ...) of this rank; LULL_COLLECTIVE_OVER when there is
 * no such step. A step may have none. Within one step no two transfers in the same direction have
 * the same peer. */
#define LULL_COLLECTIVE_OVER UINT32_MAX
uint32_t lull_collective_step(const struct lull_collective_call *call, uint32_t step);

/* Transfer `i` of that step. */
void lull_collective_transfer(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                              struct lull_collective_transfer *ret_transfer);

#endif
