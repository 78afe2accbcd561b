/* Dissemination (Hensgen, Finkel and Manber 1988), and Bruck's algorithms (1997), which send along
 * the same edges. */
#include "sim/collective/rounds.h"

static uint32_t dissemination_steps(const struct lull_collective_call *call)
{
    return lull_log2_up(call->size);
}

static uint32_t two_transfers(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 2;
}

static void around(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                   uint64_t blocks, struct lull_collective_transfer *ret)
{
    uint32_t distance = UINT32_C(1) << step; /* less than the size */
    *ret = (struct lull_collective_transfer){
        .send = i == 1,
        .peer = (uint32_t)(((uint64_t)call->me + (i == 1 ? distance : call->size - distance)) %
                           call->size),
        .bytes = blocks * lull_collective_block(call)};
}

static void disseminate(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    around(call, step, i, 0, ret);
}

/* Allgather: all blocks that a rank has, but no more than its partner lacks. */
static void bruck_gather(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                         struct lull_collective_transfer *ret)
{
    uint32_t have = UINT32_C(1) << step, lacks = call->size - have;
    around(call, step, i, have < lacks ? have : lacks, ret);
}

/* Alltoall: the blocks whose way, counted in ranks, has the bit of this step. */
static void bruck_exchange(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    uint64_t bit = UINT64_C(1) << step, cycle = 2 * bit;
    uint64_t rest = call->size % cycle;
    around(call, step, i, call->size / cycle * bit + (rest > bit ? rest - bit : 0), ret);
}

const struct lull_rounds lull_rounds_dissemination = {dissemination_steps, two_transfers,
                                                      disseminate};
const struct lull_rounds lull_rounds_bruck_gather = {dissemination_steps, two_transfers,
                                                     bruck_gather};
const struct lull_rounds lull_rounds_bruck_exchange = {dissemination_steps, two_transfers,
                                                       bruck_exchange};
