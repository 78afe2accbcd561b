/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues: the k-th message that is sent on a channel belongs to the k-th receive of that channel.
 *
 * A message is put into the queue of its channel under a number when it is sent, and taken under
 * the same number when it is received; puts and takes may come in any order of numbers. What a
 * message carries depends on the analysis (the ideal runtime carries two times, waits carry what
 * the sender had done). It has `size` bytes, a multiple of 8 that is the same in all calls for one
 * set of queues. Callers pass a constant, so that the compiler can use it in the inline functions.
 *
 * The caller gives the numbers. A thread that is alone in its process counts with `sent` and
 * `received` of the queue. Where several threads of a process communicate, the caller decides the
 * order of their messages first. Messages with the same number are taken in the order in which they
 * were put, so an analysis whose threads send and receive in order may give all messages the number
 * 0.
 *
 * The functions lock nothing: a set of queues is used by one thread at a time. Where an analysis is
 * divided, each share has a set of its own, and a message waits in the set of its receiver. The
 * sender names a queue of that set by a port (see below). How the shares exchange messages is left
 * to the analysis.
 *
 * Memory: about 100 bytes for each channel, and size + 8 bytes for each message that was sent and
 * not taken. */
#ifndef LULL_MATCH_QUEUE_H
#define LULL_MATCH_QUEUE_H

#include "activity/channel.h"
#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

/* ==== queues ================================================================================== */

/* An item of a list. The bytes that the item carries follow this struct. */
struct lull_match_item {
    uint32_t number; /* of the message in its channel, from 0, modulo 2^32 */
    uint32_t next;   /* index of the next item of the list; LULL_NONE: there is none */
};

/* One channel. */
struct lull_match_queue {
    uint32_t first, last;    /* the messages that were put and not taken, in the order of numbers:
                                indices of the first and the last item; LULL_NONE: there are none */
    uint32_t sent, received; /* for callers that count: how many messages so far, which is the
                                number of the next one */
    /* The following are for the caller; they are 0 in a new queue: */
    uint32_t holder; /* the share that has the receiver */
    uint32_t port;   /* the number by which that share knows the queue */
    void *waiting;   /* who waits for a message */
};

/* A set of queues. A struct of zeros is an empty set. */
struct lull_match_queues {
    struct lull_hash by_channel;
    struct lull_match_queue *all; /* [by_channel.count] */
    size_t capacity;
    unsigned char *items; /* the items of all lists */
    size_t n_items, item_capacity;
    uint32_t free_item; /* index plus 1 of an unused item, whose `next` is the index of the next
                           unused item; 0: there is none */
};

/* The index of the queue of a channel. Makes the queue if it does not exist; *ret_new says whether
 * it did so. LULL_NONE: no memory. */
uint32_t lull_match_queue_of(struct lull_match_queues *queues, const struct lull_channel *channel,
                             bool *ret_new);
struct lull_channel lull_match_channel(const struct lull_match_queues *queues, uint32_t queue);
/* How many messages of all queues were put and not taken. */
uint64_t lull_match_left(const struct lull_match_queues *queues, size_t size);
/* Releases the set, which is empty then. What the carried bytes refer to stays with the caller. */
void lull_match_queues_free(struct lull_match_queues *queues);

/* ---- items --------------------------------------------------------------------------------- */

static_assert(LULL_NONE == UINT32_MAX, "one more than no index is 0");

/* The pointer is valid until the next item is made. */
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

/* Part of lull_match_put: inserts an item by its number into a queue that is not empty. */
void lull_match_insert(struct lull_match_queues *queues, size_t size,
                       struct lull_match_queue *queue, uint32_t item);

/* A message is sent. Returns room for the bytes that it carries, which the caller fills before the
 * next put. NULL: no memory. */
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

/* Takes the first message with this number; *ret_carried gets what it carries. False: the message
 * has not been sent yet. */
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

/* Lists of the caller, whose items come from the same store as those of the queues. A list is the
 * index of its first item; LULL_NONE: the list is empty. */

/* Adds an item in front, and returns room for what it carries; NULL: no memory. `list` must not
 * point into an item, because items move when one is added. */
void *lull_match_list_add(struct lull_match_queues *queues, size_t size, uint32_t *list,
                          uint32_t number);
/* Takes the first item with this number out of the list. False: there is none. */
bool lull_match_list_remove(struct lull_match_queues *queues, size_t size, uint32_t *list,
                            uint32_t number, void *ret_carried);

/* ==== routes and ports ======================================================================== */

/* The queues of the channels of one location, so that each queue is looked up once. A struct of
 * zeros is empty. */
struct lull_match_routes {
    uint32_t *queues; /* [count], by the index of the channel at this location */
    size_t count, capacity;
};

/* The queue of a channel; LULL_NONE: it has not been looked up yet. */
static inline uint32_t lull_match_route_of(const struct lull_match_routes *routes, uint32_t channel)
{
    return channel < routes->count ? routes->queues[channel] : LULL_NONE;
}
/* The element of `queues` for a channel, which the caller fills. NULL: no memory. */
uint32_t *lull_match_route(struct lull_match_routes *routes, uint32_t channel);

/* A port is a number by which the set of queues of a sender names a queue in the set of the
 * receiver: the sender's set gives its ports from 0 on, and the receiver's set notes which of its
 * queues each port stands for. This struct is what one of two sets knows of the ports between them,
 * in both directions. A struct of zeros knows none. */
struct lull_match_ports {
    uint32_t given;   /* how many ports this set has given, to channels whose receivers are in the
                         other set */
    uint32_t *queues; /* [count], by port: queues of this set whose senders are in the other set */
    size_t count, capacity;
};

/* Notes that the set of queues at the other end has given `port` to `queue`. False: no memory. */
bool lull_match_port_set(struct lull_match_ports *ports, uint32_t port, uint32_t queue);

#endif
