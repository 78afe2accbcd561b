/* Places in the largest power of two that a group holds. Internal to the sim room.
 *
 * Of the first 2 * rest ranks the even ones fold into the odd ones; what remains has the places
 * 0 .. core - 1. After Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
 * Operations in MPICH" (2005), section 4.5. */
#ifndef LULL_SIM_COLLECTIVE_PLACES_H
#define LULL_SIM_COLLECTIVE_PLACES_H

#include "sim/collective/rounds.h"

#define LULL_NO_PLACE UINT32_MAX /* folded into its neighbour */

static inline uint32_t lull_rest(const struct lull_collective_call *call)
{
    return call->size - lull_power_of_two(call->size);
}

static inline uint32_t lull_place(const struct lull_collective_call *call, uint32_t rank)
{
    uint32_t rest = lull_rest(call);
    if (rank >= 2 * rest)
        return rank - rest;
    return rank % 2 ? rank / 2 : LULL_NO_PLACE;
}

static inline uint32_t lull_rank_of_place(const struct lull_collective_call *call, uint32_t place)
{
    uint32_t rest = lull_rest(call);
    return place < rest ? 2 * place + 1 : place + rest;
}

#endif
