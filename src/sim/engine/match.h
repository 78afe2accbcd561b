/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching of messages and posted receives, as MPI has it: by communicator, source and tag, in the
 * order of posting and of arrival, with wildcards for source and tag.
 *
 * Each rank has a list of posted receives and one of unexpected messages. They are searched from
 * the front; where a search takes too many steps the list is put into a hash table of all ranks, by
 * (rank, communicator, source, tag), and stays there until it is empty. */
#ifndef LULL_SIM_ENGINE_MATCH_H
#define LULL_SIM_ENGINE_MATCH_H

#include "sim/network/transfer.h"

struct lull_chain {
    uint32_t first, last;
};

struct lull_matcher {
    struct lull_fabric *fabric;
    struct lull_chain *chains; /* FIFO each, through `child` */
    uint32_t n_chains;         /* a power of two, or 0 */
    uint32_t n_entries;
    uint64_t posts; /* number of the next receive that is posted: its `bytes` */
    bool out_of_memory;
};

void lull_matcher_open(struct lull_matcher *matcher, struct lull_fabric *fabric);
void lull_matcher_close(struct lull_matcher *matcher);

/* The first posted receive for a message of its target, no longer posted; or LULL_NO_TRANSFER: the
 * message is kept as unexpected. */
uint32_t lull_match_message(struct lull_matcher *matcher, uint32_t message);

/* The first unexpected message for a receive, no longer kept; or LULL_NO_TRANSFER: the receive is
 * posted. */
uint32_t lull_match_receive(struct lull_matcher *matcher, uint32_t receive);

#endif
