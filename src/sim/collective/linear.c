/* Linear algorithms: no tree, everything in one step. */
#include "sim/collective/rounds.h"

static uint32_t one(const struct lull_collective_call *call)
{
    (void)call;
    return 1;
}

static uint32_t star_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return call->me == call->root ? call->size - 1 : 1;
}

static void star(const struct lull_collective_call *call, uint32_t i, bool outwards, uint64_t bytes,
                 struct lull_collective_transfer *ret)
{
    bool centre = call->me == call->root;
    *ret = (struct lull_collective_transfer){.send = centre == outwards,
                                             .peer = centre ? (call->root + 1 + i) % call->size
                                                            : call->root,
                                             .bytes = bytes};
}

static void star_out(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, true, lull_collective_whole(call), ret);
}

static void star_in(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                    struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, false, lull_collective_whole(call), ret);
}

static void star_out_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                            struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, true, lull_collective_block(call), ret);
}

static void star_in_blocks(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                           struct lull_collective_transfer *ret)
{
    (void)step;
    star(call, i, false, lull_collective_block(call), ret);
}

/* All receives and sends at once, to the next rank first so that no rank is met by all. */
static uint32_t exchange_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)step;
    return 2 * (call->size - 1);
}

static void exchange(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    uint32_t others = call->size - 1;
    (void)step;
    bool send = i >= others;
    uint32_t distance = 1 + i % others;
    *ret = (struct lull_collective_transfer){
        .send = send,
        .peer = (call->me + (send ? distance : call->size - distance)) % call->size,
        .bytes = lull_collective_block(call)};
}

/* A prefix sum passed on from rank to rank. */
static uint32_t two_line_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 2;
}

static uint32_t line_count(const struct lull_collective_call *call, uint32_t step)
{
    return step == 0 ? call->me > 0 : call->me + 1 < call->size;
}

static void line(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)i;
    *ret = (struct lull_collective_transfer){.send = step == 1,
                                             .peer = step == 1 ? call->me + 1 : call->me - 1,
                                             .bytes = lull_collective_whole(call)};
}

const struct lull_rounds lull_rounds_star_out = {one, star_count, star_out};
const struct lull_rounds lull_rounds_star_in = {one, star_count, star_in};
const struct lull_rounds lull_rounds_star_out_blocks = {one, star_count, star_out_blocks};
const struct lull_rounds lull_rounds_star_in_blocks = {one, star_count, star_in_blocks};
const struct lull_rounds lull_rounds_exchange = {one, exchange_count, exchange};
const struct lull_rounds lull_rounds_line = {two_line_steps, line_count, line};
