/* Messages of one channel arrive in the order in which they were sent.
 *
 * Where a rank has one NIC they do so by themselves: NICs serve in the order of request. Ranks of a
 * graph may have several, which a large and a small message pass at the same time; then what comes
 * too early is held back until those before it have come. Messages are numbered in each channel:
 * `child` of a message on its way is its number.
 *
 * Where events are handled in any order, messages of a channel keep theirs because one stream sends
 * them and one receives them; here it is noticed when that is not so. */
#include "sim/engine/run.h"

#include <stdlib.h>

enum { NO_MESSAGE = LULL_NO_TRANSFER, FIRST_ROOM = 64 };

struct channel {
    uint32_t source, target, comm, tag;
    bool used;
    uint16_t sender, receiver; /* streams of the ranks, from 1; 0: not known */
    uint32_t sent, arrived;    /* messages */
    uint32_t held;             /* messages that came too early, through `link` */
};

struct lull_engine_channels {
    struct channel *channels; /* open addressing; `room` is a power of two */
    size_t n, room;
};

lull_status lull_channel_open(struct lull_engine *engine)
{
    const struct lull_graph *graph = engine->program->graph;
    for (uint32_t r = 0; graph && !engine->compat && r < engine->program->n_ranks; r++)
        engine->holds_back |= graph->ranks[r].n_nics > 1;
    engine->channels = calloc(1, sizeof *engine->channels);
    return engine->channels ? LULL_OK : lull_run_out_of_memory(engine);
}

void lull_channel_close(struct lull_engine *engine)
{
    if (engine->channels)
        free(engine->channels->channels);
    free(engine->channels);
}

static struct channel *find_channel(const struct lull_engine_channels *all,
                                    const struct lull_transfer *message)
{
    uint64_t hash = (uint64_t)message->source << 32 | message->target;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= (uint64_t)message->comm << 32 ^ message->tag;
    hash = (hash ^ hash >> 32) * UINT64_C(0x94d049bb133111eb);
    for (size_t at = hash >> 32;; at++) {
        struct channel *channel = &all->channels[at & (all->room - 1)];
        if (!channel->used ||
            (channel->source == message->source && channel->target == message->target &&
             channel->comm == message->comm && channel->tag == message->tag))
            return channel;
    }
}

static bool grow_channels(struct lull_engine_channels *all)
{
    struct lull_engine_channels larger = {.room = all->room ? 2 * all->room : FIRST_ROOM,
                                          .n = all->n};
    larger.channels = calloc(larger.room, sizeof *larger.channels);
    if (!larger.channels)
        return false;
    for (size_t i = 0; i < all->room; i++) {
        const struct channel *old = &all->channels[i];
        if (old->used)
            *find_channel(&larger, &(struct lull_transfer){.source = old->source,
                                                           .target = old->target,
                                                           .comm = old->comm,
                                                           .tag = old->tag}) = *old;
    }
    free(all->channels);
    *all = larger;
    return true;
}

/* The channel, new if need be; NULL: no memory. */
static struct channel *find_or_add(struct lull_engine *engine, const struct lull_transfer *message)
{
    struct lull_engine_channels *all = engine->channels;
    if (2 * all->n >= all->room && !grow_channels(all)) {
        lull_run_out_of_memory(engine);
        return NULL;
    }
    struct channel *channel = find_channel(all, message);
    if (!channel->used) {
        *channel = (struct channel){.source = message->source,
                                    .target = message->target,
                                    .comm = message->comm,
                                    .tag = message->tag,
                                    .used = true,
                                    .held = NO_MESSAGE};
        all->n++;
    }
    return channel;
}

bool lull_channel_of_one_stream(struct lull_engine *engine, const struct lull_transfer *transfer)
{
    struct channel *channel = find_or_add(engine, transfer);
    if (!channel)
        return true; /* fails otherwise */
    bool receives = transfer->flags & LULL_TRANSFER_RECEIVE;
    uint16_t *stream = receives ? &channel->receiver : &channel->sender;
    if (*stream == 0)
        *stream = (uint16_t)(transfer->cpu + 1);
    return *stream == transfer->cpu + 1;
}

void lull_channel_sent(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    struct channel *channel = find_or_add(engine, message);
    if (channel)
        message->child = ++channel->sent;
}

bool lull_channel_is_next(struct lull_engine *engine, uint32_t id)
{
    struct lull_transfer *message = lull_transfer_at(engine, id);
    struct channel *channel = find_or_add(engine, message);
    if (!channel)
        return false;
    if (message->child == channel->arrived + 1) {
        channel->arrived++;
        return true;
    }
    message->link = channel->held;
    channel->held = id;
    return false;
}

uint32_t lull_channel_held(struct lull_engine *engine, const struct lull_transfer *before)
{
    struct channel *channel = find_channel(engine->channels, before);
    uint32_t *link = &channel->held;
    while (*link != NO_MESSAGE && lull_transfer_at(engine, *link)->child != channel->arrived + 1)
        link = &lull_transfer_at(engine, *link)->link;
    uint32_t id = *link;
    if (id != NO_MESSAGE) {
        *link = lull_transfer_at(engine, id)->link;
        channel->arrived++;
    }
    return id;
}
