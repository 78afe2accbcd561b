/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/queue.h"

#include <stdlib.h>

static_assert(sizeof(struct lull_channel) == 16, "a key without padding");

uint32_t lull_match_queue_of(struct lull_match_queues *queues, const struct lull_channel *channel,
                             bool *ret_new)
{
    const size_t count = queues->by_channel.count;
    uint64_t *index = NULL;
    *ret_new = false;
    if (lull_array_reserve(&queues->all, &queues->capacity, count + 1, sizeof *queues->all))
        index = lull_hash_add(&queues->by_channel, channel, sizeof *channel, count, ret_new);
    if (!index)
        return LULL_NONE;
    if (*ret_new)
        queues->all[count] = (struct lull_match_queue){.first = LULL_NONE, .last = LULL_NONE};
    return (uint32_t)*index;
}

struct lull_channel lull_match_channel(const struct lull_match_queues *queues, uint32_t queue)
{
    struct lull_channel channel; /* a key in the table may not be aligned */
    memcpy(&channel, lull_hash_key(&queues->by_channel, queue), sizeof channel);
    return channel;
}

uint64_t lull_match_left(const struct lull_match_queues *queues, size_t size)
{
    uint64_t left = 0;
    for (size_t q = 0; q < queues->by_channel.count; q++)
        for (uint32_t at = queues->all[q].first; at != LULL_NONE;
             at = lull_match_item_at(queues, size, at)->next)
            left++;
    return left;
}

void lull_match_queues_free(struct lull_match_queues *queues)
{
    lull_hash_free(&queues->by_channel);
    free(queues->all);
    free(queues->items);
    *queues = (struct lull_match_queues){0};
}

void lull_match_insert(struct lull_match_queues *queues, size_t size,
                       struct lull_match_queue *queue, uint32_t item)
{
    struct lull_match_item *fresh = lull_match_item_at(queues, size, item);
    struct lull_match_item *last = lull_match_item_at(queues, size, queue->last);
    if ((int32_t)(fresh->number - last->number) >= 0) {
        last->next = item;
        queue->last = item;
        return;
    }
    uint32_t *link = &queue->first;
    while ((int32_t)(fresh->number - lull_match_item_at(queues, size, *link)->number) >= 0)
        link = &lull_match_item_at(queues, size, *link)->next;
    fresh->next = *link;
    *link = item;
}

void *lull_match_list_add(struct lull_match_queues *queues, size_t size, uint32_t *list,
                          uint32_t number)
{
    const uint32_t item = lull_match_item_new(queues, size);
    if (item == LULL_NONE)
        return NULL;
    struct lull_match_item *fresh = lull_match_item_at(queues, size, item);
    *fresh = (struct lull_match_item){number, *list};
    *list = item;
    return fresh + 1;
}

bool lull_match_list_remove(struct lull_match_queues *queues, size_t size, uint32_t *list,
                            uint32_t number, void *ret_carried)
{
    for (uint32_t *at = list; *at != LULL_NONE;) {
        const uint32_t place = *at;
        struct lull_match_item *item = lull_match_item_at(queues, size, place);
        if (item->number != number) {
            at = &item->next;
            continue;
        }
        memcpy(ret_carried, item + 1, size);
        *at = item->next;
        lull_match_item_free(queues, size, place);
        return true;
    }
    return false;
}

uint32_t *lull_match_route(struct lull_match_routes *routes, uint32_t channel)
{
    if (!lull_array_reserve(&routes->queues, &routes->capacity, (size_t)channel + 1,
                            sizeof *routes->queues))
        return NULL;
    while (routes->count <= channel)
        routes->queues[routes->count++] = LULL_NONE;
    return &routes->queues[channel];
}

bool lull_match_port_set(struct lull_match_ports *ports, uint32_t port, uint32_t queue)
{
    if (!lull_array_reserve(&ports->queues, &ports->capacity, (size_t)port + 1,
                            sizeof *ports->queues))
        return false;
    while (ports->count <= port)
        ports->queues[ports->count++] = LULL_NONE;
    ports->queues[port] = queue;
    return true;
}
