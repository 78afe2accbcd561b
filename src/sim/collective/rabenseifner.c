/* Recursive halving of the vector, and recursive doubling back. One after the other they are
 * Rabenseifner's allreduce. */
#include "sim/collective/places.h"

static uint32_t steps(const struct lull_collective_call *call)
{
    return lull_log2_up(lull_power_of_two(call->size));
}

static uint32_t count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return lull_place(call, call->me) == LULL_NO_PLACE ? 0 : 2;
}

/* With the place 2^bit away: a 2^(steps - bit)-th part of the vector. */
static void swap(const struct lull_collective_call *call, uint32_t bit, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    uint32_t place = lull_place(call, call->me) ^ (UINT32_C(1) << bit);
    uint64_t whole = lull_collective_whole(call), parts = UINT64_C(1) << (steps(call) - bit);
    *ret = (struct lull_collective_transfer){.send = i == 1,
                                             .peer = lull_rank_of_place(call, place),
                                             .bytes = whole / parts + (whole % parts != 0)};
}

static void halving(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                    struct lull_collective_transfer *ret)
{
    swap(call, steps(call) - 1 - step, i, ret);
}

static void regather(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    swap(call, step, i, ret);
}

const struct lull_rounds lull_rounds_halving = {steps, count, halving};
const struct lull_rounds lull_rounds_regather = {steps, count, regather};
