/* Binomial tree. With ranks counted from the root, the parent of a rank lacks its lowest bit, and a
 * rank with lowest bit 2^k has the children rank + 2^j, j < k, of 2^j ranks each as far as there
 * are so many. A rank talks to all its children in one step, as libraries with non-blocking sends
 * inside do: a late child holds up its parent, not its siblings. */
#include "sim/collective/rounds.h"

static uint32_t relative(const struct lull_collective_call *call)
{
    return (call->me + call->size - call->root) % call->size;
}

static uint32_t absolute(const struct lull_collective_call *call, uint32_t rank)
{
    return (uint32_t)(((uint64_t)rank + call->root) % call->size);
}

/* The most children that a place in the tree can have. */
static uint32_t places(const struct lull_collective_call *call, uint32_t rank)
{
    return rank == 0 ? lull_log2_up(call->size) : (uint32_t)__builtin_ctz(rank);
}

static uint32_t children(const struct lull_collective_call *call, uint32_t rank)
{
    uint32_t count = places(call, rank);
    while (count > 0 && (uint64_t)rank + (UINT32_C(1) << (count - 1)) >= call->size)
        count--;
    return count;
}

/* Ranks in the tree below and with `rank`. */
static uint32_t subtree(const struct lull_collective_call *call, uint32_t rank)
{
    uint64_t full = UINT64_C(1) << places(call, rank);
    return rank + full > call->size ? call->size - rank : (uint32_t)full;
}

static uint32_t two_tree_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 2;
}

static uint32_t down_count(const struct lull_collective_call *call, uint32_t step)
{
    return step == 0 ? call->me != call->root : children(call, relative(call));
}

static uint32_t up_count(const struct lull_collective_call *call, uint32_t step)
{
    return down_count(call, 1 - step);
}

/* Transfer `i` with the parent or with the children, the largest subtree first. */
static void tree(const struct lull_collective_call *call, bool parent, uint32_t i, bool send,
                 bool blocks, struct lull_collective_transfer *ret)
{
    uint32_t me = relative(call);
    uint32_t peer = parent ? me & (me - 1) : me + (UINT32_C(1) << (children(call, me) - 1 - i));
    uint64_t bytes = blocks ? lull_collective_block(call) * subtree(call, parent ? me : peer)
                            : lull_collective_whole(call);
    *ret = (struct lull_collective_transfer){
        .send = send, .peer = absolute(call, peer), .bytes = bytes};
}

static void down(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    tree(call, step == 0, i, step == 1, false, ret);
}

static void up(const struct lull_collective_call *call, uint32_t step, uint32_t i,
               struct lull_collective_transfer *ret)
{
    tree(call, step == 1, i, step == 1, false, ret);
}

static void down_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    tree(call, step == 0, i, step == 1, true, ret);
}

static void up_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                      struct lull_collective_transfer *ret)
{
    tree(call, step == 1, i, step == 1, true, ret);
}

const struct lull_rounds lull_rounds_tree_down = {two_tree_steps, down_count, down};
const struct lull_rounds lull_rounds_tree_up = {two_tree_steps, up_count, up};
const struct lull_rounds lull_rounds_tree_down_blocks = {two_tree_steps, down_count, down_blocks};
const struct lull_rounds lull_rounds_tree_up_blocks = {two_tree_steps, up_count, up_blocks};
