#include "trace/format/otf2/read/totals.h"

#include "base/collective.h"

#include <stdbool.h>

static uint64_t divide(uint64_t total, uint32_t ranks)
{
    if (total % ranks == 0)
        return total / ranks;
    return ranks > 1 && total % (ranks - 1) == 0 ? total / (ranks - 1) : total;
}

/* A rank of a scan sends to those behind it and receives from those before; but for exscan and in
 * place also to and from itself. */
static void divide_scan(uint32_t ranks, uint32_t rank, uint64_t *sent, uint64_t *received)
{
    bool with_itself = *sent * (rank + 1) == *received * (ranks - rank);
    uint32_t parts = with_itself ? ranks + 1 : ranks - 1;
    if (parts > 0)
        *sent = *received = (*sent + *received) / parts;
}

void lull_otf2_bytes_of_one(uint8_t op, uint32_t ranks, uint32_t rank, uint64_t *sent,
                            uint64_t *received)
{
    if (ranks == 0 || rank >= ranks)
        return;
    switch (op) {
    case LULL_COLLECTIVE_BCAST: /* of its root */
    case LULL_COLLECTIVE_ALLGATHER:
    case LULL_COLLECTIVE_ALLGATHERV:
        *sent = divide(*sent, ranks);
        break;
    case LULL_COLLECTIVE_REDUCE: /* of its root */
    case LULL_COLLECTIVE_REDUCE_SCATTER:
    case LULL_COLLECTIVE_REDUCE_SCATTER_BLOCK:
        *received = divide(*received, ranks);
        break;
    case LULL_COLLECTIVE_ALLREDUCE:
        *sent = divide(*sent, ranks);
        *received = divide(*received, ranks);
        break;
    case LULL_COLLECTIVE_SCAN:
    case LULL_COLLECTIVE_EXSCAN:
        divide_scan(ranks, rank, sent, received);
        break;
    default: /* gather, scatter and alltoall hold the data of all ranks */
        break;
    }
}
