/* Where messages wait, and who they are sent to; internal to the room.
 *
 * A channel is resolved once per location: the sender's share has a link for it, the receiver's a
 * queue. Message k of a channel belongs to receive k. */
#ifndef LULL_REPLAY_IDEAL_CHANNELS_H
#define LULL_REPLAY_IDEAL_CHANNELS_H

#include "base/array.h"
#include "replay/ideal/share.h"

/* LULL_NONE: no memory, which is noted. */
uint32_t lull_channel_queue(struct share *share, const struct lull_channel *channel);
uint32_t lull_channel_link(struct share *share, const struct lull_channel *channel);
/* The channel of a queue. */
struct lull_channel lull_channel_of_queue(const struct share *share, uint32_t queue);
/* A message for another share. */
void lull_channel_post(struct share *share, const struct link *link, uint32_t number, int64_t time,
                       int64_t sent);
void lull_channel_letter(struct share *share, uint32_t from, const struct letter *letter);
void lull_channel_insert(struct share *share, struct queue *queue, uint32_t message);
void lull_channel_wake(struct share *share, struct queue *queue, uint32_t number);
uint64_t lull_channel_left(const struct share *share); /* messages that nobody has received */
void lull_channels_free(struct share *share);

/* A place for a message; LULL_NONE: no memory. */
static inline uint32_t lull_channel_place(struct share *share)
{
    uint32_t place = share->free_message;
    if (place != LULL_NONE) {
        share->free_message = share->messages[place].next;
        return place;
    }
    if (share->n_messages >= LULL_NONE ||
        !lull_array_reserve(&share->messages, &share->message_capacity, share->n_messages + 1,
                            sizeof *share->messages))
        return LULL_NONE;
    return (uint32_t)share->n_messages++;
}

/* A message has been sent. */
static inline void lull_channel_put(struct share *share, uint32_t index, uint32_t number,
                                    int64_t time, int64_t sent)
{
    uint32_t place = lull_channel_place(share);
    if (place == LULL_NONE) {
        lull_share_no_memory(share);
        return;
    }
    struct queue *queue = &share->queues[index];
    struct message *message = &share->messages[place];
    *message = (struct message){time, sent, number, LULL_NONE};
    if (queue->first == LULL_NONE)
        queue->first = queue->last = place;
    else
        lull_channel_insert(share, queue, place);
    if (queue->waiting)
        lull_channel_wake(share, queue, number);
}

/* The message of a number, if it is there; then it is gone. */
static inline bool lull_channel_take(struct share *share, uint32_t index, uint32_t number,
                                     struct message *ret_message)
{
    struct queue *queue = &share->queues[index];
    uint32_t before = LULL_NONE, at = queue->first;
    while (at != LULL_NONE && share->messages[at].number != number) {
        before = at;
        at = share->messages[at].next;
    }
    if (at == LULL_NONE)
        return false;
    struct message *message = &share->messages[at];
    *ret_message = *message;
    if (before == LULL_NONE)
        queue->first = message->next;
    else
        share->messages[before].next = message->next;
    if (queue->last == at)
        queue->last = before;
    message->next = share->free_message;
    share->free_message = at;
    return true;
}

#endif
