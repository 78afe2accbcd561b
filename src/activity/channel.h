/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels: where messages match. A channel is a source, a target, a communicator and a tag; MPI
 * keeps the order of the messages of one channel.
 *
 * Each location numbers the channels that it uses, for sending or receiving, from 0 in the order of
 * their first use. Steps carry that number, so that a consumer that follows channels needs an array
 * per location and no look-up per message. */
#ifndef LULL_ACTIVITY_CHANNEL_H
#define LULL_ACTIVITY_CHANNEL_H

#include "trace/trace.h"

struct lull_channel {
    uint32_t source, target; /* process indices */
    uint32_t comm; /* index into trace->comms; of an inter-communicator the smaller index of its two
                      groups, so that both sides name the same channel; LULL_NONE: not known */
    int32_t tag;
};

/* The channels of one location. Grows while steps are made; one thread at a time. */
struct lull_channels;

uint32_t lull_channels_count(const struct lull_channels *channels);
/* `channel` < count; the pointer is valid until the next step is made. */
const struct lull_channel *lull_channels_at(const struct lull_channels *channels, uint32_t channel);

/* The index by which channels name a communicator: of an inter-communicator the smaller index of
 * its two groups. */
uint32_t lull_comm_canonical(const struct lull_trace *trace, uint32_t comm);

/* The rest is for the activity room and tests. */
struct lull_channels *lull_channels_create(void);           /* NULL: no memory */
void lull_channels_destroy(struct lull_channels *channels); /* NULL is allowed */
/* The number of a channel, new or known; LULL_NONE: no memory. */
uint32_t lull_channels_find(struct lull_channels *channels, const struct lull_channel *channel);

#endif
