/* Rounds: pieces that algorithms of collective operations are put together from. Internal to the
 * sim room.
 *
 * A piece has as many steps on every rank of the group; a rank that has nothing to do in a step has
 * no transfers in it. All functions depend on nothing but their arguments. The tag of a transfer is
 * set by the caller. */
#ifndef LULL_SIM_COLLECTIVE_ROUNDS_H
#define LULL_SIM_COLLECTIVE_ROUNDS_H

#include "sim/collective/collective.h"

struct lull_rounds {
    uint32_t (*steps)(const struct lull_collective_call *call);
    uint32_t (*count)(const struct lull_collective_call *call, uint32_t step);
    void (*transfer)(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret_transfer);
};

/* Bytes of the whole vector: of bcast, reduce, allreduce, reduce_scatter, scan; 0 of a barrier. */
uint64_t lull_collective_whole(const struct lull_collective_call *call);
/* Bytes of the part that belongs to one rank: of gather, scatter, allgather, alltoall; of a whole
 * vector its share, rounded up. Where ranks have different parts: their mean. */
uint64_t lull_collective_block(const struct lull_collective_call *call);

/* The smallest k with 2^k >= n (n >= 1), and the largest 2^k <= n. */
uint32_t lull_log2_up(uint32_t n);
uint32_t lull_power_of_two(uint32_t n);

/* linear.c: the root and each other rank, or each and each other, in one step. */
extern const struct lull_rounds lull_rounds_star_out, lull_rounds_star_in;
extern const struct lull_rounds lull_rounds_star_out_blocks, lull_rounds_star_in_blocks;
extern const struct lull_rounds lull_rounds_exchange, lull_rounds_line;
/* binomial.c: a tree below the root; whole vectors, or the blocks of a subtree. */
extern const struct lull_rounds lull_rounds_tree_down, lull_rounds_tree_up;
extern const struct lull_rounds lull_rounds_tree_down_blocks, lull_rounds_tree_up_blocks;
/* recursive_doubling.c: whole vectors between ranks 1, 2, 4, ... apart, by exclusive or. Ranks
 * beyond a power of two fold their vector into a neighbour's and get the result from it. */
extern const struct lull_rounds lull_rounds_fold, lull_rounds_unfold, lull_rounds_unfold_block;
extern const struct lull_rounds lull_rounds_doubling, lull_rounds_doubling_blocks;
extern const struct lull_rounds lull_rounds_prefix;
/* rabenseifner.c: halves of the vector, then quarters, ...; and the way back. */
extern const struct lull_rounds lull_rounds_halving, lull_rounds_regather;
/* ... or to the root alone. */
extern const struct lull_rounds lull_rounds_hand_over, lull_rounds_collect;
/* ring.c */
extern const struct lull_rounds lull_rounds_ring, lull_rounds_double_ring, lull_rounds_pipeline;
/* dissemination.c: to the rank 1, 2, 4, ... ahead, around the group. */
extern const struct lull_rounds lull_rounds_dissemination;
extern const struct lull_rounds lull_rounds_bruck_gather, lull_rounds_bruck_exchange;
/* pairwise.c: in step s with the ranks s + 1 ahead and behind. */
extern const struct lull_rounds lull_rounds_pairwise;

#endif
