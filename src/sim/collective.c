/* The linear algorithms: what needs all ranks goes through rank 0, what has a root goes straight
 * from or to it, an exchange goes from each to each. */
#include "sim/collective.h"

#include "trace/event.h"

enum shape { THROUGH_FIRST, FROM_ROOT, TO_ROOT, EXCHANGE, CHAIN, NOTHING };

static enum shape shape_of(unsigned operation)
{
    switch (operation) {
    case LULL_COLLECTIVE_BCAST:
    case LULL_COLLECTIVE_SCATTER:
    case LULL_COLLECTIVE_SCATTERV:
        return FROM_ROOT;
    case LULL_COLLECTIVE_REDUCE:
    case LULL_COLLECTIVE_GATHER:
    case LULL_COLLECTIVE_GATHERV:
        return TO_ROOT;
    case LULL_COLLECTIVE_ALLTOALL:
    case LULL_COLLECTIVE_ALLTOALLV:
    case LULL_COLLECTIVE_ALLTOALLW:
        return EXCHANGE;
    case LULL_COLLECTIVE_SCAN:
    case LULL_COLLECTIVE_EXSCAN:
        return CHAIN;
    case LULL_COLLECTIVE_NEIGHBOUR:
        return NOTHING;
    default:
        return THROUGH_FIRST;
    }
}

uint8_t lull_collective_choose(const struct lull_network *network, uint8_t operation, uint32_t size,
                               uint64_t bytes)
{
    (void)network;
    (void)size;
    (void)bytes;
    return (uint8_t)shape_of(operation);
}

/* The centre talks to all others in one step, they to it. */
static uint32_t star(const struct lull_collective_call *call, uint32_t centre)
{
    return call->me == centre ? call->size - 1 : 1;
}

uint32_t lull_collective_step(const struct lull_collective_call *call, uint32_t step)
{
    uint32_t others = call->size - 1;
    if (others == 0)
        return LULL_COLLECTIVE_OVER;
    switch ((enum shape)call->algorithm) {
    case THROUGH_FIRST:
        return step < 2 ? star(call, 0) : LULL_COLLECTIVE_OVER;
    case FROM_ROOT:
    case TO_ROOT:
        return step < 1 ? star(call, call->root) : LULL_COLLECTIVE_OVER;
    case EXCHANGE:
        return step < 1 ? 2 * others : LULL_COLLECTIVE_OVER;
    case CHAIN:
        return step == 0 ? call->me > 0 : step == 1 ? call->me < others : LULL_COLLECTIVE_OVER;
    case NOTHING:
        break;
    }
    return LULL_COLLECTIVE_OVER;
}

void lull_collective_transfer(const struct lull_collective_call *call, uint32_t step, uint32_t i,
                              struct lull_collective_transfer *ret_transfer)
{
    uint32_t centre = call->algorithm == THROUGH_FIRST ? 0 : call->root, others = call->size - 1;
    struct lull_collective_transfer transfer = {.tag = step, .bytes = call->sent};
    switch ((enum shape)call->algorithm) {
    case EXCHANGE:
        transfer.send = i < others;
        transfer.peer = (call->me + 1 + i % others) % call->size;
        transfer.bytes = call->sent / call->size;
        break;
    case CHAIN:
        transfer.send = step == 1;
        transfer.peer = transfer.send ? call->me + 1 : call->me - 1;
        transfer.tag = 0;
        break;
    default: {
        bool outwards = call->algorithm == FROM_ROOT || step == 1;
        transfer.send = (call->me == centre) == outwards;
        transfer.peer = call->me == centre ? (centre + 1 + i) % call->size : centre;
        if (call->me == centre && call->operation != LULL_COLLECTIVE_BCAST &&
            call->algorithm == FROM_ROOT)
            transfer.bytes = call->sent / call->size;
    }
    }
    *ret_transfer = transfer;
}
