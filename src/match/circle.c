/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/circle.h"

/* ==== ranks =================================================================================== */

bool lull_circle_is_between(const struct lull_trace *trace, uint32_t comm)
{
    return trace->comms[comm].remote != LULL_NONE;
}

uint32_t lull_circle_side_size(const struct lull_trace *trace, uint32_t comm, unsigned side)
{
    const struct lull_comm *local = &trace->comms[comm];
    if (side == 0)
        return local->size;
    return local->remote == LULL_NONE ? 0 : trace->comms[local->remote].size;
}

uint32_t lull_circle_size(const struct lull_trace *trace, uint32_t comm)
{
    return lull_circle_side_size(trace, comm, 0) + lull_circle_side_size(trace, comm, 1);
}

unsigned lull_circle_side(const struct lull_trace *trace, uint32_t comm, uint32_t rank)
{
    return rank >= trace->comms[comm].size;
}

uint32_t lull_circle_process(const struct lull_trace *trace, uint32_t comm, uint32_t rank)
{
    const struct lull_comm *local = &trace->comms[comm];
    if (rank < local->size || local->remote == LULL_NONE)
        return lull_comm_member(local, rank);
    return lull_comm_member(&trace->comms[local->remote], rank - local->size);
}

uint32_t lull_circle_rank(const struct lull_trace *trace, uint32_t comm, uint32_t process)
{
    const struct lull_comm *local = &trace->comms[comm];
    const uint32_t rank = lull_comm_rank(local, process);
    if (rank != LULL_NONE || local->remote == LULL_NONE)
        return rank;
    const uint32_t other = lull_comm_rank(&trace->comms[local->remote], process);
    return other == LULL_NONE ? LULL_NONE : local->size + other;
}

/* ==== operations ============================================================================== */

bool lull_circle_knows(const struct lull_trace *trace, uint32_t comm, uint8_t op)
{
    return comm < trace->n_comms && trace->comms[comm].paradigm == LULL_PARADIGM_MPI &&
           op != LULL_COLLECTIVE_UNKNOWN;
}

bool lull_circle_is_alone(const struct lull_trace *trace, uint32_t comm)
{
    return trace->comms[comm].size == 1 && !lull_circle_is_between(trace, comm);
}

uint8_t lull_circle_series(uint8_t op, bool blocks)
{
    return blocks ? 0 : (uint8_t)(op + 1);
}

enum lull_collective_needs lull_circle_needs(const struct lull_trace *trace, uint32_t comm,
                                             uint8_t op)
{
    return lull_circle_is_between(trace, comm) ? lull_collective_needs_between(op)
                                               : lull_collective_needs(op);
}

/* `with_root`: the process is in the root's group of an inter-communicator. The data of the root
 * goes to the other group. */
static enum lull_awaited awaited_by(enum lull_collective_needs needs, bool is_root, bool with_root)
{
    switch (needs) {
    case LULL_NEEDS_ALL:
        return LULL_AWAITS_ALL;
    case LULL_NEEDS_ROOT:
        return is_root || with_root ? LULL_AWAITS_NOBODY : LULL_AWAITS_ROOT;
    case LULL_ROOT_NEEDS_ALL:
        return is_root ? LULL_AWAITS_ALL : LULL_AWAITS_NOBODY;
    case LULL_NEEDS_LOWER:
        return LULL_AWAITS_LOWER;
    case LULL_NEEDS_OTHERS:
        return LULL_AWAITS_OTHERS;
    case LULL_ROOT_NEEDS_OTHERS:
        return is_root ? LULL_AWAITS_OTHERS : LULL_AWAITS_NOBODY;
    case LULL_NEEDS_NOBODY:
        break;
    }
    return LULL_AWAITS_NOBODY;
}

struct lull_circle_part lull_circle_part_of(const struct lull_trace *trace, uint32_t comm,
                                            uint8_t op, uint32_t process, int32_t root, bool moves)
{
    const enum lull_collective_needs needs = lull_circle_needs(trace, comm, op);
    const bool between = lull_circle_is_between(trace, comm);
    const bool rooted = needs == LULL_NEEDS_ROOT || needs == LULL_ROOT_NEEDS_OTHERS;
    const bool is_root = between ? rooted && root < 0 && moves : root == (int32_t)process;
    return (struct lull_circle_part){.needs = (uint8_t)needs,
                                     .awaits =
                                         (uint8_t)awaited_by(needs, is_root, between && root < 0),
                                     .is_root = is_root};
}
