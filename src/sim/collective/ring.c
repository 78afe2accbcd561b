/* Rings: blocks go around the group, a token goes around it twice, segments go along it. */
#include "sim/collective/rounds.h"

/* Large enough to hide the latency, small enough to fill the pipeline. */
enum { SEGMENT = 64 << 10, MOST_SEGMENTS = 1 << 16 };

static uint32_t ring_steps(const struct lull_collective_call *call)
{
    return call->size - 1;
}

static uint32_t two_transfers(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 2;
}

static void ring(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                 struct lull_collective_transfer *ret)
{
    (void)step;
    *ret = (struct lull_collective_transfer){.send = i == 1,
                                             .peer = (call->me + (i == 1 ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = lull_collective_block(call)};
}

/* Steps 0 and 1: the token comes and goes on, 2 and 3: once more. Rank 0 begins, and ends it. */
static uint32_t double_ring_steps(const struct lull_collective_call *call)
{
    (void)call;
    return 4;
}

static uint32_t double_ring_count(const struct lull_collective_call *call, uint32_t step)
{
    (void)call, (void)step;
    return 1;
}

static void double_ring(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                        struct lull_collective_transfer *ret)
{
    (void)i;
    bool send = (step % 2 == 1) != (call->me == 0);
    *ret = (struct lull_collective_transfer){.send = send,
                                             .peer = (call->me + (send ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = lull_collective_whole(call)};
}

/* In each step a segment comes and the one before it goes on. */
static uint32_t segments(const struct lull_collective_call *call)
{
    uint64_t n = (lull_collective_whole(call) + SEGMENT - 1) / SEGMENT;
    return n < 1 ? 1 : n > MOST_SEGMENTS ? MOST_SEGMENTS : (uint32_t)n;
}

static uint32_t from_root(const struct lull_collective_call *call)
{
    return (call->me + call->size - call->root) % call->size;
}

static bool comes(const struct lull_collective_call *call, uint32_t step)
{
    return step < segments(call) && from_root(call) > 0;
}

static bool goes(const struct lull_collective_call *call, uint32_t step)
{
    return step > 0 && from_root(call) + 1 < call->size;
}

static uint32_t pipeline_steps(const struct lull_collective_call *call)
{
    return segments(call) + 1;
}

static uint32_t pipeline_count(const struct lull_collective_call *call, uint32_t step)
{
    return comes(call, step) + goes(call, step);
}

static void pipeline(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                     struct lull_collective_transfer *ret)
{
    bool send = i == 1 || !comes(call, step);
    uint64_t whole = lull_collective_whole(call), n = segments(call);
    uint64_t number = send ? step - 1 : step; /* the first ones take what is left over */
    *ret = (struct lull_collective_transfer){.send = send,
                                             .peer = (call->me + (send ? 1 : call->size - 1)) %
                                                     call->size,
                                             .bytes = whole / n + (number < whole % n)};
}

const struct lull_rounds lull_rounds_ring = {ring_steps, two_transfers, ring};
const struct lull_rounds lull_rounds_double_ring = {double_ring_steps, double_ring_count,
                                                    double_ring};
const struct lull_rounds lull_rounds_pipeline = {pipeline_steps, pipeline_count, pipeline};
