/* Recursive doubling, with folding for groups that are no power of two. */
#include "sim/collective/places.h"

static uint32_t fold_steps(const struct lull_collective_call *call)
{
    return lull_rest(call) > 0;
}

static uint32_t fold_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me < 2 * lull_rest(call);
}

static void between_neighbours(const struct lull_collective_call *call, bool even_sends,
                               uint64_t bytes, struct lull_collective_transfer *ret)
{
    *ret = (struct lull_collective_transfer){
        .send = (call->me % 2 == 0) == even_sends, .peer = call->me ^ 1, .bytes = bytes};
}

static void fold(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, true, lull_collective_whole(call), ret);
}

static void unfold(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, false, lull_collective_whole(call), ret);
}

static void unfold_block(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    between_neighbours(call, false, lull_collective_block(call), ret);
}

static uint32_t doubling_steps(const struct lull_collective_call *call)
{
    return lull_log2_up(lull_power_of_two(call->size));
}

static uint32_t doubling_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return lull_place(call, call->me) == LULL_NO_PLACE ? 0 : 2;
}

static void swap_vectors(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         uint64_t bytes, struct lull_collective_transfer *ret)
{
    uint32_t place = lull_place(call, call->me) ^ (UINT32_C(1) << step);
    *ret = (struct lull_collective_transfer){
        .send = i == 1, .peer = lull_rank_of_place(call, place), .bytes = bytes};
}

static void doubling(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    swap_vectors(call, step, i, lull_collective_whole(call), ret);
}

/* All blocks that a rank has: 1, 2, 4, ...; for groups of a power of two. */
static void doubling_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    swap_vectors(call, step, i, lull_collective_block(call) << step, ret);
}

/* Prefix sums: to the rank 2^step above, from the one below; not around the group. */
static uint32_t prefix_steps(const struct lull_collective_call *call)
{
    return lull_log2_up(call->size);
}

static bool reaches_up(const struct lull_collective_call *call, uint32_t step)
{
    return (uint64_t)call->me + (UINT32_C(1) << step) < call->size;
}

static uint32_t prefix_count(const struct lull_collective_call *call, uint32_t step)
{
    return (call->me >= UINT32_C(1) << step) + reaches_up(call, step);
}

static void prefix(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   struct lull_collective_transfer *ret)
{
    uint32_t distance = UINT32_C(1) << step;
    bool send = i == 1 || call->me < distance;
    *ret =
        (struct lull_collective_transfer){.send = send,
                                          .peer = send ? call->me + distance : call->me - distance,
                                          .bytes = lull_collective_whole(call)};
}

const struct lull_rounds lull_rounds_fold = {fold_steps, fold_count, fold};
const struct lull_rounds lull_rounds_unfold = {fold_steps, fold_count, unfold};
const struct lull_rounds lull_rounds_unfold_block = {fold_steps, fold_count, unfold_block};
const struct lull_rounds lull_rounds_doubling = {doubling_steps, doubling_count, doubling};
const struct lull_rounds lull_rounds_doubling_blocks = {doubling_steps, doubling_count,
                                                        doubling_blocks};
const struct lull_rounds lull_rounds_prefix = {prefix_steps, prefix_count, prefix};
