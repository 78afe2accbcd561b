/* Messages that are sent and not received. Message k of a channel belongs to receive k: they are in
 * this order, or numbered (lane.c). */
#include "base/array.h"
#include "wait/shared/letters.h"

#include <stdlib.h>

/* As a key without padding. */
struct channel_key {
    uint32_t source, target, comm, tag;
};

uint32_t lull_wait_queue(struct lull_waits *waits, const struct lull_channel *channel)
{
    const struct channel_key key = {channel->source, channel->target, channel->comm,
                                    (uint32_t)channel->tag};
    const size_t count = waits->queues_by_channel.count;
    uint64_t *index = NULL;
    bool is_new;
    if (lull_array_reserve(&waits->queues, &waits->queue_capacity, count + 1,
                           sizeof *waits->queues))
        index = lull_hash_add(&waits->queues_by_channel, &key, sizeof key, count, &is_new);
    if (!index) {
        waits->no_memory = true;
        return LULL_NONE;
    }
    if (is_new) {
        waits->queues[count] =
            (struct wait_queue){.first = LULL_NONE,
                                .last = LULL_NONE,
                                .source = channel->source,
                                .target = channel->target,
                                .next_of_source = waits->queues_of[channel->source]};
        waits->queues_of[channel->source] = (uint32_t)count;
        if (lull_wait_is_far(waits, channel->target))
            lull_wait_post_queue(waits, (uint32_t)count, channel);
    }
    return (uint32_t)*index;
}

static uint32_t find_place(struct lull_waits *waits)
{
    const uint32_t place = waits->free_message;
    if (place != LULL_NONE) {
        waits->free_message = waits->messages[place].next;
        return place;
    }
    if (waits->n_messages == LULL_NONE ||
        !lull_array_reserve(&waits->messages, &waits->message_capacity,
                            waits->n_messages + (size_t)1, sizeof *waits->messages))
        return LULL_NONE;
    return waits->n_messages++;
}

void lull_wait_wake_queue(struct lull_waits *waits, uint32_t index)
{
    struct wait_queue *queue = &waits->queues[index];
    while (queue->waiting) {
        struct wait_stream *waiting = queue->waiting;
        queue->waiting = waiting->next_waiting;
        lull_wait_ready(waits, waiting);
    }
}

static void put_message(struct lull_waits *waits, uint32_t index, uint32_t number,
                        const struct wait_cause *sent)
{
    const uint32_t place = find_place(waits);
    struct wait_cause dropped = *sent;
    if (place == LULL_NONE) {
        waits->no_memory = true;
        lull_wait_cause_drop(&dropped);
        return;
    }
    struct wait_queue *queue = &waits->queues[index];
    waits->messages[place] = (struct wait_message){*sent, LULL_NONE, number};
    if (queue->first == LULL_NONE)
        queue->first = place;
    else
        waits->messages[queue->last].next = place;
    queue->last = place;
    lull_wait_wake_queue(waits, index);
}

void lull_wait_deliver(struct lull_waits *waits, uint32_t queue, uint32_t number,
                       bool waits_for_receive, const struct wait_cause *sent)
{
    put_message(waits, queue, number, sent);
    if (waits->follows_posts)
        lull_wait_count_send(waits, queue, waits_for_receive);
}

bool lull_wait_receive(struct lull_waits *waits, uint32_t index, uint32_t number,
                       struct wait_cause *ret_sent)
{
    struct wait_queue *queue = &waits->queues[index];
    uint32_t place = queue->first, before = LULL_NONE;
    while (place != LULL_NONE && waits->messages[place].number != number) {
        before = place;
        place = waits->messages[place].next;
    }
    if (place == LULL_NONE)
        return false;
    struct wait_message *message = &waits->messages[place];
    *ret_sent = message->sent;
    if (before == LULL_NONE)
        queue->first = message->next;
    else
        waits->messages[before].next = message->next;
    if (queue->last == place)
        queue->last = before;
    message->next = waits->free_message;
    waits->free_message = place;
    return true;
}

void lull_wait_mail_free(struct lull_waits *waits)
{
    for (size_t q = 0; q < waits->queues_by_channel.count; q++) {
        lull_wait_posts_free(&waits->queues[q]);
        for (uint32_t at = waits->queues[q].first; at != LULL_NONE; at = waits->messages[at].next)
            lull_wait_cause_drop(&waits->messages[at].sent);
    }
    lull_hash_free(&waits->queues_by_channel);
    free(waits->queues);
    free(waits->messages);
}
