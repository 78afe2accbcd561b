/* Recursive halving of the vector, and recursive doubling back: one after the other they are
 * Rabenseifner's allreduce. With the parts collected at the root instead, his reduce. */
#include "sim/collective/places.h"

static uint32_t halving_steps(const struct lull_collective_call *call)
{
    return lull_log2_up(lull_power_of_two(call->size));
}

static uint32_t count_of_placed(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return lull_place(call, call->me) == LULL_NO_PLACE ? 0 : 2;
}

/* A 2^bits-th part of the vector, rounded up. */
static uint64_t part(const struct lull_collective_call *call, uint32_t bits)
{
    uint64_t whole = lull_collective_whole(call), parts = UINT64_C(1) << bits;
    return whole / parts + (whole % parts != 0);
}

/* With the place 2^bit away: a 2^(steps - bit)-th part of the vector. */
static void swap_parts(const struct lull_collective_call *call, uint32_t bit, uint32_t i,
                       struct lull_collective_transfer *ret)
{
    uint32_t place = lull_place(call, call->me) ^ (UINT32_C(1) << bit);
    *ret = (struct lull_collective_transfer){.send = i == 1,
                                             .peer = lull_rank_of_place(call, place),
                                             .bytes = part(call, halving_steps(call) - bit)};
}

static void halving(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                    struct lull_collective_transfer *ret)
{
    swap_parts(call, halving_steps(call) - 1 - step, i, ret);
}

static void regather(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    swap_parts(call, step, i, ret);
}

/* A root that was folded into its neighbour gets the neighbour's part, and its place. */
static bool is_folded(const struct lull_collective_call *call)
{
    return lull_place(call, call->root) == LULL_NO_PLACE;
}

static uint32_t hand_over_steps(const struct lull_collective_call *call)
{
    return is_folded(call);
}

static uint32_t hand_over_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me == call->root || call->me == (call->root ^ 1);
}

static void hand_over_part(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    (void)step, (void)i;
    *ret = (struct lull_collective_transfer){.send = call->me != call->root,
                                             .peer = call->me ^ 1,
                                             .bytes = part(call, halving_steps(call))};
}

static uint32_t root_place(const struct lull_collective_call *call)
{
    return lull_place(call, is_folded(call) ? call->root ^ 1 : call->root);
}

/* The way from a rank's place to that of the root, bit by bit; LULL_NO_PLACE: it has none. */
static uint32_t way(const struct lull_collective_call *call)
{
    if (call->me == call->root)
        return 0;
    uint32_t place = lull_place(call, call->me);
    if (place == LULL_NO_PLACE || place == root_place(call)) /* the latter has handed it over */
        return LULL_NO_PLACE;
    return place ^ root_place(call);
}

/* In step s those whose way has no lower bit than s are left; half of them give what they have. */
static uint32_t collect_count(const struct lull_collective_call *call, uint32_t step)
{
    uint32_t bits = way(call);
    return bits != LULL_NO_PLACE && (bits & ((UINT32_C(1) << step) - 1)) == 0;
}

static void collect_at_root(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    (void)i;
    uint32_t bits = way(call) ^ (UINT32_C(1) << step);
    *ret = (struct lull_collective_transfer){
        .send = !(bits >> step & 1),
        .peer = bits ? lull_rank_of_place(call, bits ^ root_place(call)) : call->root,
        .bytes = part(call, halving_steps(call) - step)};
}

const struct lull_rounds lull_rounds_hand_over = {hand_over_steps, hand_over_count, hand_over_part};
const struct lull_rounds lull_rounds_collect = {halving_steps, collect_count, collect_at_root};
const struct lull_rounds lull_rounds_halving = {halving_steps, count_of_placed, halving};
const struct lull_rounds lull_rounds_regather = {halving_steps, count_of_placed, regather};
