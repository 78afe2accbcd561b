/* Queues: the k-th message of a channel belongs to its k-th receive.
 *
 * A message is put under its number when it is sent, and taken under its number when it is
 * received, in any order. What it carries is the business of the analysis (the ideal runtime
 * carries two times, waits carry what the sender had done): `size` bytes, a multiple of 8, the same
 * in all calls for one set of queues. Pass a constant, so that the compiler knows it.
 *
 * Whoever calls gives the numbers. A thread that is alone in its process counts with `sent` and
 * `received` of the queue; of several threads the order is decided before. Messages with one
 * number are taken in the order in which they were put; so an analysis whose threads send and
 * receive in order may give all the number 0.
 *
 * One set belongs to whoever evaluates, and nothing is locked here. Where several evaluate, each of
 * them has a set of its own, and messages wait in that of their receiver, to which the sender's
 * channel is known by a port. What they tell each other is not decided here.
 *
 * Memory: about 100 bytes a channel, and size + 8 a message that was sent and not taken. */
#ifndef LULL_MATCH_QUEUE_H
#define LULL_MATCH_QUEUE_H

#include "activity/channel.h"
#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

/* ==== queues ================================================================================== */

/* An item of a list. What it carries stands behind it. */
struct lull_match_item {
    uint32_t number; /* of the message in its channel, from 0; wraps around */
    uint32_t next;   /* the next item of its list; LULL_NONE: it is the last */
};

/* One channel. */
struct lull_match_queue {
    uint32_t first, last;    /* messages that were put and not taken, by number; LULL_NONE: none */
    uint32_t sent, received; /* so far, for those who count so; the next one has this number */
    /* For the caller; 0 in a new queue: */
    uint32_t holder; /* who has the receiver */
    uint32_t port;   /* the number by which the holder knows the queue */
    void *waiting;   /* who waits for a message */
};

/* A set of queues. Of zeros: empty. */
struct lull_match_queues {
    struct lull_hash by_channel;
    struct lull_match_queue *all; /* [by_channel.count] */
    size_t capacity;
    unsigned char *items; /* of all lists */
    size_t n_items, item_capacity;
    uint32_t free_item; /* index of an unused item plus 1; 0: none. Its `next` is the next one */
};

/* The index of the queue of a channel, made if needed (*ret_new). LULL_NONE: no memory. */
uint32_t lull_match_queue_of(struct lull_match_queues *queues, const struct lull_channel *channel,
                             bool *ret_new);
struct lull_channel lull_match_channel(const struct lull_match_queues *queues, uint32_t queue);
/* How many messages were put and not taken. */
uint64_t lull_match_left(const struct lull_match_queues *queues, size_t size);
/* Releases everything but what messages carry refers to. The set is empty then. */
void lull_match_queues_free(struct lull_match_queues *queues);

/* ---- items --------------------------------------------------------------------------------- */

static_assert(LULL_NONE == UINT32_MAX, "one more than no index is 0");

/* Good until the next item is made. */
static inline struct lull_match_item *lull_match_item_at(const struct lull_match_queues *queues,
                                                         size_t size, uint32_t item)
{
    void *at = queues->items + item * (sizeof(struct lull_match_item) + size);
    return at;
}

static inline void *lull_match_carried(struct lull_match_item *item)
{
    return item + 1;
}

/* LULL_NONE: no memory. */
static inline uint32_t lull_match_item_new(struct lull_match_queues *queues, size_t size)
{
    if (queues->free_item > 0) {
        const uint32_t item = queues->free_item - 1;
        queues->free_item = lull_match_item_at(queues, size, item)->next + 1;
        return item;
    }
    if (queues->n_items >= LULL_NONE ||
        !lull_array_reserve(&queues->items, &queues->item_capacity, queues->n_items + 1,
                            sizeof(struct lull_match_item) + size))
        return LULL_NONE;
    return (uint32_t)queues->n_items++;
}

static inline void lull_match_item_free(struct lull_match_queues *queues, size_t size,
                                        uint32_t item)
{
    lull_match_item_at(queues, size, item)->next = queues->free_item - 1;
    queues->free_item = item + 1;
}

/* ---- messages ------------------------------------------------------------------------------ */

/* For lull_match_put: into a queue that is not empty, by the item's number. */
void lull_match_insert(struct lull_match_queues *queues, size_t size,
                       struct lull_match_queue *queue, uint32_t item);

/* A message is sent: returns room for what it carries, for the caller to fill before the next
 * put. NULL: no memory. */
static inline void *lull_match_put(struct lull_match_queues *queues, size_t size, uint32_t index,
                                   uint32_t number)
{
    const uint32_t item = lull_match_item_new(queues, size);
    if (item == LULL_NONE)
        return NULL;
    struct lull_match_queue *queue = &queues->all[index];
    struct lull_match_item *fresh = lull_match_item_at(queues, size, item);
    *fresh = (struct lull_match_item){number, LULL_NONE};
    if (queue->first == LULL_NONE)
        queue->first = queue->last = item;
    else
        lull_match_insert(queues, size, queue, item);
    return fresh + 1;
}

/* Takes the message of that number; false: it has not been sent yet. */
static inline bool lull_match_take(struct lull_match_queues *queues, size_t size, uint32_t index,
                                   uint32_t number, void *ret_carried)
{
    struct lull_match_queue *queue = &queues->all[index];
    struct lull_match_item *before = NULL, *item = NULL;
    uint32_t last = LULL_NONE, at = queue->first;
    for (; at != LULL_NONE; last = at, at = item->next, before = item) {
        item = lull_match_item_at(queues, size, at);
        if (item->number == number)
            break;
    }
    if (at == LULL_NONE)
        return false;
    memcpy(ret_carried, item + 1, size);
    if (before)
        before->next = item->next;
    else
        queue->first = item->next;
    if (queue->last == at)
        queue->last = last;
    lull_match_item_free(queues, size, at);
    return true;
}

/* ---- lists beside the queues --------------------------------------------------------------- */

/* Lists of the caller whose items come from the same store. A list is the index of its first item;
 * LULL_NONE: it is empty. */

/* Adds an item in front; NULL: no memory. `list` must not be in an item. */
void *lull_match_list_add(struct lull_match_queues *queues, size_t size, uint32_t *list,
                          uint32_t number);
/* Takes the first item of that number out; false: there is none. */
bool lull_match_list_remove(struct lull_match_queues *queues, size_t size, uint32_t *list,
                            uint32_t number, void *ret_carried);

/* ==== routes and ports ======================================================================== */

/* The queues of the channels of one location, so that each is looked up once. Of zeros: empty. */
struct lull_match_routes {
    uint32_t *queues; /* [count], by channel of the location; LULL_NONE: not looked up yet */
    size_t count, capacity;
};

static inline uint32_t lull_match_route_of(const struct lull_match_routes *routes, uint32_t channel)
{
    return channel < routes->count ? routes->queues[channel] : LULL_NONE;
}
/* The place of a channel, for the caller to fill; NULL: no memory. */
uint32_t *lull_match_route(struct lull_match_routes *routes, uint32_t channel);

/* The ports between two sets of queues, as one of them knows them. Of zeros: none. */
struct lull_match_ports {
    uint32_t given;   /* to own queues whose receivers are in the other set: so many */
    uint32_t *queues; /* [count], by port: own queues whose senders are in the other set */
    size_t count, capacity;
};

/* Notes that the set of queues at the other end has given `port` to `queue`. False: no memory. */
bool lull_match_port_set(struct lull_match_ports *ports, uint32_t port, uint32_t queue);

#endif
