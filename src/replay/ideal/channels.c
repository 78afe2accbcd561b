#include "replay/ideal/channels.h"

#include <string.h>

/* As a key without padding; the tag is unsigned in it. */
struct channel_key {
    uint32_t source, target, comm, tag;
};

static struct channel_key key_of_channel(const struct lull_channel *channel)
{
    return (struct channel_key){channel->source, channel->target, channel->comm,
                                (uint32_t)channel->tag};
}

uint32_t lull_channel_queue(struct share *share, const struct lull_channel *channel)
{
    const struct channel_key key = key_of_channel(channel);
    size_t count = share->queues_by_channel.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&share->queues, &share->queue_capacity, count + 1,
                           sizeof *share->queues))
        index = lull_hash_add(&share->queues_by_channel, &key, sizeof key, count, &is_new);
    if (!index) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    if (is_new)
        share->queues[count] = (struct queue){
            .first = LULL_NONE, .last = LULL_NONE, .begun = LULL_NONE, .asked = LULL_NONE};
    return (uint32_t)*index;
}

struct lull_channel lull_channel_of_queue(const struct share *share, uint32_t queue)
{
    struct channel_key key;
    memcpy(&key, lull_hash_key(&share->queues_by_channel, queue), sizeof key);
    return (struct lull_channel){key.source, key.target, key.comm, (int32_t)key.tag};
}

/* Another share gets to know a channel, before the first message. */
static bool introduce_channel(struct share *share, struct link *link,
                              const struct lull_channel *channel)
{
    struct letter *letter = lull_post(share, link->share, LETTER_CHANNEL);
    if (!letter)
        return false;
    link->queue = share->outboxes[link->share].ports++;
    letter->a = link->queue;
    letter->b = channel->source;
    letter->c = channel->target;
    letter->time = channel->comm;
    letter->measured = channel->tag;
    return true;
}

static bool make_link(struct share *share, struct link *link, const struct lull_channel *channel)
{
    uint16_t to = share->ideal->share_of[channel->target];
    *link = (struct link){.share = to == NOBODY ? LULL_NONE : to, .answers = LULL_NONE};
    if (to == NOBODY)
        return true;
    if (to != share->index)
        return introduce_channel(share, link, channel);
    link->queue = lull_channel_queue(share, channel);
    return link->queue != LULL_NONE;
}

uint32_t lull_channel_link(struct share *share, const struct lull_channel *channel)
{
    const struct channel_key key = key_of_channel(channel);
    size_t count = share->links_by_channel.count;
    bool is_new = false;
    uint64_t *index = NULL;
    if (lull_array_reserve(&share->links, &share->link_capacity, count + 1, sizeof *share->links))
        index = lull_hash_add(&share->links_by_channel, &key, sizeof key, count, &is_new);
    if (!index || (is_new && !make_link(share, &share->links[count], channel))) {
        lull_share_no_memory(share);
        return LULL_NONE;
    }
    return (uint32_t)*index;
}

void lull_channel_post(struct share *share, const struct link *link, uint32_t number, int64_t time,
                       int64_t sent)
{
    struct letter *letter = lull_post(share, link->share, LETTER_MESSAGE);
    if (!letter)
        return;
    letter->a = link->queue;
    letter->b = number;
    letter->time = time;
    letter->measured = sent;
}

void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter)
{
    struct ports *ports = &share->ports[from];
    if (letter->kind == LETTER_MESSAGE) {
        lull_channel_put(share, ports->queues[letter->a], letter->b, letter->time,
                         letter->measured);
        return;
    }
    const struct lull_channel channel = {letter->b, letter->c, (uint32_t)letter->time,
                                         (int32_t)letter->measured};
    uint32_t queue = lull_channel_queue(share, &channel);
    if (queue == LULL_NONE || !lull_array_reserve(&ports->queues, &ports->capacity,
                                                  (size_t)letter->a + 1, sizeof *ports->queues))
        lull_share_no_memory(share);
    else
        ports->queues[letter->a] = queue;
}

/* Numbers of one sender come in turn; where a process has several threads, whose streams run ahead
 * of each other, a message may belong before others. */
void lull_channel_insert(struct share *share, struct queue *queue, uint32_t place)
{
    struct message *messages = share->messages, *fresh = &messages[place];
    if ((int32_t)(fresh->number - messages[queue->last].number) > 0) {
        messages[queue->last].next = place;
        queue->last = place;
        return;
    }
    uint32_t *link = &queue->first;
    while ((int32_t)(fresh->number - messages[*link].number) > 0)
        link = &messages[*link].next;
    fresh->next = *link;
    *link = place;
}

void lull_channel_wake(struct share *share, struct queue *queue, uint32_t number)
{
    for (struct stream **link = &queue->waiting; *link; link = &(*link)->next_waiting)
        if ((*link)->pending[(*link)->pending_at].number == number) {
            struct stream *stream = *link;
            *link = stream->next_waiting;
            lull_share_ready(share, stream);
            return;
        }
}

uint64_t lull_channel_left(const struct share *share)
{
    uint64_t left = 0;
    for (size_t q = 0; q < share->queues_by_channel.count; q++)
        for (uint32_t at = share->queues[q].first; at != LULL_NONE; at = share->messages[at].next)
            left++;
    return left;
}

void lull_channels_free(struct share *share)
{
    lull_hash_free(&share->links_by_channel);
    lull_hash_free(&share->queues_by_channel);
    free(share->links);
    free(share->queues);
    free(share->messages);
}
