#include "replay/what_if/peers.h"

#include "base/array.h"
#include "replay/what_if/medians.h"
#include "team/bring.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS_OF_A_BLOCK = 1 << 22 }; /* 32 MiB; an epoch that has more is one by itself */

/* Epochs [from, to) of all peers. */
struct block {
    const struct lull_peers *peers;
    size_t from, to;
    struct lull_slice *slices; /* those of this member, and on the first behind them those of the
                                  others, member by member */
    uint32_t *members;         /* [count] */
    size_t count, capacity, members_capacity;
};

static lull_status no_memory_for_peers(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to compare computations");
}

/* ---- slices -----------------------------------------------------------------------------------
 */

static bool add_slice(struct block *block, uint32_t member, const struct lull_slice *slice)
{
    if (!lull_array_reserve(&block->slices, &block->capacity, block->count + 1,
                            sizeof *block->slices) ||
        !lull_array_reserve(&block->members, &block->members_capacity, block->count + 1,
                            sizeof *block->members))
        return false;
    block->members[block->count] = member;
    block->slices[block->count++] = *slice;
    return true;
}

/* Its epochs and values are those of the peer. */
static struct lull_slice slice_of(const struct lull_peer *peer, size_t from, size_t to)
{
    const struct lull_units *units = peer->units;
    const size_t end = to < units->n_epochs ? to : units->n_epochs;
    struct lull_slice slice = {.meant = peer->meant};
    if (end <= from)
        return slice;
    slice.epochs = &units->epochs[from];
    slice.values = units->values;
    slice.n_epochs = (uint32_t)(end - from);
    return slice;
}

static bool open_block(struct block *block)
{
    const struct lull_peers *peers = block->peers;
    bool fits = true;
    for (uint32_t i = 0; i < peers->count && fits; i++) {
        const struct lull_slice slice = slice_of(&peers->own[i], block->from, block->to);
        fits = add_slice(block, lull_team_index(peers->team), &slice);
    }
    return fits;
}

static void close_block(struct block *block)
{
    for (size_t i = block->peers->count; i < block->count; i++) {
        free(block->slices[i].epochs);
        free(block->slices[i].values);
    }
    free(block->slices);
    free(block->members);
}

/* The units of a slice, which are neighbours. */
static double *values_of(const struct lull_slice *slice, unsigned shift, size_t *ret_count)
{
    size_t n = 0;
    for (uint32_t e = 0; e < slice->n_epochs; e++)
        n += lull_units_of(slice->epochs[e].bursts, shift);
    *ret_count = n;
    return n > 0 ? &slice->values[slice->epochs[0].first] : NULL;
}

/* ---- to the first and back --------------------------------------------------------------------
 */

/* Where the units of an epoch begin among those that are put, follows from its bursts. */
static bool put_slice(const struct lull_slice *slice, unsigned shift, struct lull_flow *flow)
{
    size_t n;
    const double *values = values_of(slice, shift, &n);
    return lull_flow_put(flow, &slice->meant, sizeof slice->meant) &&
           lull_flow_put_items(flow, slice->epochs, slice->n_epochs, sizeof *slice->epochs) &&
           lull_flow_put_items(flow, values, n, sizeof *values);
}

static bool get_slice(struct block *block, uint32_t member, struct lull_flow *flow)
{
    struct lull_slice slice = {0};
    size_t n_epochs = 0, n, first = 0;
    struct lull_units_epoch *epochs = NULL;
    if (lull_flow_get(flow, &slice.meant, sizeof slice.meant) &&
        (epochs = lull_flow_get_items(flow, sizeof *epochs, &n_epochs)) != NULL)
        slice.values = lull_flow_get_items(flow, sizeof *slice.values, &n);
    for (size_t e = 0; e < n_epochs; e++) {
        epochs[e].first = first;
        first += lull_units_of(epochs[e].bursts, block->peers->shift);
    }
    slice.epochs = epochs;
    slice.n_epochs = (uint32_t)n_epochs;
    if (slice.values && add_slice(block, member, &slice))
        return true;
    free(epochs);
    free(slice.values);
    return false;
}

static bool put_own(void *context, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t count = block->peers->count;
    bool good = lull_flow_put(flow, &count, sizeof count);
    for (uint32_t i = 0; i < count && good; i++)
        good = put_slice(&block->slices[i], block->peers->shift, flow);
    return good;
}

static bool get_others(void *context, uint32_t member, struct lull_flow *flow)
{
    struct block *block = context;
    uint32_t count;
    bool good = lull_flow_get(flow, &count, sizeof count);
    for (uint32_t i = 0; i < count && good; i++)
        good = get_slice(block, member, flow);
    return good;
}

/* What is left of the units of others, each with its member; NULL at the end. */
static bool put_left(void *context, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t end = UINT32_MAX;
    bool good = true;
    for (size_t i = block->peers->count; i < block->count && good; i++) {
        size_t n;
        const double *values = values_of(&block->slices[i], block->peers->shift, &n);
        if (block->slices[i].meant)
            good = lull_flow_put(flow, &block->members[i], sizeof *block->members) &&
                   lull_flow_put_items(flow, values, n, sizeof *values);
    }
    return good && lull_flow_put(flow, &end, sizeof end);
}

/* The slices of this member come in their order. */
static bool get_left(void *context, uint32_t from, struct lull_flow *flow)
{
    const struct block *block = context;
    const uint32_t own = lull_team_index(block->peers->team);
    uint32_t next = 0, member;
    bool good;
    (void)from;
    while ((good = lull_flow_get(flow, &member, sizeof member)) && member != UINT32_MAX) {
        size_t n;
        double *left = lull_flow_get_items(flow, sizeof *left, &n);
        if (!left)
            return false;
        while (member == own && !block->slices[next].meant)
            next++;
        if (member == own && n > 0) {
            size_t same;
            memcpy(values_of(&block->slices[next], block->peers->shift, &same), left,
                   n * sizeof *left);
        }
        next += member == own;
        free(left);
    }
    return good;
}

static lull_status cut_block(struct block *block, struct lull_error *err)
{
    static const char what[] = "computations to compare";
    const struct lull_peers *peers = block->peers;
    const struct lull_freight there = {put_own, get_others, block, what};
    const struct lull_freight back = {put_left, get_left, block, what};
    if (!open_block(block))
        return no_memory_for_peers(err);
    lull_status status = lull_team_bring(peers->team, &there, err);
    if (status == LULL_OK && lull_team_is_first(peers->team) &&
        !lull_slices_cut(block->slices, (uint32_t)block->count, peers->shift, peers->all_meant))
        return no_memory_for_peers(err);
    return status == LULL_OK ? lull_team_spread(peers->team, &back, err) : status;
}

/* ---- block by block ---------------------------------------------------------------------------
 */

/* How many units all have in each epoch. */
static lull_status count_units(const struct lull_peers *peers, int64_t *counts,
                               struct lull_error *err)
{
    for (uint32_t i = 0; i < peers->count; i++)
        for (size_t e = 0; e < peers->own[i].units->n_epochs; e++)
            counts[e] += (int64_t)lull_units_in(peers->own[i].units, e);
    return lull_team_sum_to_all(peers->team, counts, peers->n_epochs, err);
}

static size_t end_of_block(const struct lull_peers *peers, const int64_t *counts, size_t from)
{
    size_t to = from + 1;
    int64_t units = counts[from];
    while (to < peers->n_epochs && units + counts[to] <= UNITS_OF_A_BLOCK)
        units += counts[to++];
    return to;
}

lull_status lull_peers_cut(const struct lull_peers *peers, struct lull_error *err)
{
    for (uint32_t i = 0; i < peers->count; i++)
        lull_units_merge(peers->own[i].units, peers->shift);
    int64_t *counts = calloc(peers->n_epochs + 1, sizeof *counts);
    lull_status status = counts ? count_units(peers, counts, err) : no_memory_for_peers(err);
    for (size_t from = 0, to; from < peers->n_epochs && status == LULL_OK; from = to) {
        struct block block = {.peers = peers, .from = from};
        block.to = to = end_of_block(peers, counts, from);
        status = cut_block(&block, err);
        close_block(&block);
    }
    free(counts);
    return status;
}
