/* Pairwise exchange: one partner to send to and one to receive from at a time. */
#include "sim/collective/rounds.h"

static uint32_t pairwise_steps(const struct lull_collective_call *call)
{
    return call->size - 1;
}

static uint32_t two_transfers(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 2;
}

static void pairwise(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    uint32_t distance = step + 1;
    *ret = (struct lull_collective_transfer){
        .send = i == 1,
        .peer = (uint32_t)(((uint64_t)call->me + (i == 1 ? distance : call->size - distance)) %
                           call->size),
        .bytes = lull_collective_block(call)};
}

const struct lull_rounds lull_rounds_pairwise = {pairwise_steps, two_transfers, pairwise};
