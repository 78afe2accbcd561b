/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table with open addressing over indices into the array of channels. The few channels that
 * were found last are tried first, because most programs talk to a few neighbours in turn. */
#include "activity/channel.h"

#include "base/array.h"
#include "base/mix.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 16, RECENT = 16 };

struct lull_channels {
    struct lull_channel *all; /* [capacity], at least half as many as slots */
    size_t capacity;
    uint32_t *slots; /* [n_slots], a power of two; LULL_NONE: free */
    uint32_t count, n_slots;
    uint32_t recent[RECENT];
};

uint32_t lull_comm_canonical(const struct lull_trace *trace, uint32_t comm)
{
    if (comm >= trace->n_comms)
        return comm;
    uint32_t remote = trace->comms[comm].remote;
    return remote < comm ? remote : comm;
}

uint32_t lull_channels_count(const struct lull_channels *channels)
{
    return channels->count;
}

const struct lull_channel *lull_channels_at(const struct lull_channels *channels, uint32_t channel)
{
    return &channels->all[channel];
}

struct lull_channels *lull_channels_create(void)
{
    return calloc(1, sizeof(struct lull_channels));
}

void lull_channels_destroy(struct lull_channels *channels)
{
    if (!channels)
        return;
    free(channels->all);
    free(channels->slots);
    free(channels);
}

static bool is_same(const struct lull_channel *a, const struct lull_channel *b)
{
    return a->source == b->source && a->target == b->target && a->comm == b->comm &&
           a->tag == b->tag;
}

static uint32_t hash_of(const struct lull_channel *channel)
{
    uint64_t hash = lull_mix(0, (uint64_t)channel->source << 32 | channel->target);
    hash = lull_mix(hash, (uint64_t)channel->comm << 32 | (uint32_t)channel->tag);
    return (uint32_t)(hash >> 32);
}

/* The slot in which a channel is, or would be. */
static uint32_t *find_slot(const struct lull_channels *channels, const struct lull_channel *channel)
{
    uint32_t mask = channels->n_slots - 1, at = hash_of(channel) & mask;
    while (channels->slots[at] != LULL_NONE &&
           !is_same(&channels->all[channels->slots[at]], channel))
        at = (at + 1) & mask;
    return &channels->slots[at];
}

/* At most half of the slots are taken. */
static bool grow(struct lull_channels *channels)
{
    uint32_t n_slots = channels->n_slots ? 2 * channels->n_slots : FIRST_SLOTS;
    uint32_t *slots = n_slots > channels->n_slots ? malloc(n_slots * sizeof *slots) : NULL;
    if (!slots || !lull_array_reserve(&channels->all, &channels->capacity, n_slots / 2,
                                      sizeof *channels->all)) {
        free(slots);
        return false;
    }
    memset(slots, 0xff, n_slots * sizeof *slots);
    free(channels->slots);
    channels->slots = slots;
    channels->n_slots = n_slots;
    for (uint32_t i = 0; i < channels->count; i++)
        *find_slot(channels, &channels->all[i]) = i;
    return true;
}

uint32_t lull_channels_find(struct lull_channels *channels, const struct lull_channel *channel)
{
    uint32_t *recent =
        &channels
             ->recent[(channel->source + 3 * channel->target + (uint32_t)channel->tag) % RECENT];
    if (*recent < channels->count && is_same(&channels->all[*recent], channel))
        return *recent;
    if (2 * channels->count >= channels->n_slots && !grow(channels))
        return LULL_NONE;
    uint32_t *slot = find_slot(channels, channel);
    if (*slot == LULL_NONE) {
        channels->all[channels->count] = *channel;
        *slot = channels->count++;
    }
    return *recent = *slot;
}
