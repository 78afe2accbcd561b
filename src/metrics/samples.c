/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/samples.h"

#include "base/array.h"
#include "base/mix.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

uint64_t lull_samples_weights(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void lull_samples_count(struct lull_samples *samples, uint64_t weight)
{
    samples->count++;
    samples->weight = lull_samples_weights(samples->weight, weight);
    samples->heaviest = weight > samples->heaviest ? weight : samples->heaviest;
    samples->squares += (double)weight * (double)weight;
}

/* ---- items are found ------------------------------------------------------------------------- */

/* A table of its own, because samples come in millions: 10^7 of 32 threads, at 8,192 places and contexts each, in any
 * order, took 1.2 s with lull_hash, whose keys stand beside the items, and take 0.35 s (Intel Xeon, busy, 3 runs). */

static bool is_like(const struct lull_samples_item *a, const struct lull_samples_item *b)
{
    return a->offset == b->offset && a->object == b->object && a->context.path == b->context.path &&
           a->context.call == b->context.call && a->context.parallel == b->context.parallel &&
           a->context.locked == b->context.locked;
}

static uint64_t hash_of_item(const struct lull_samples_item *item)
{
    const struct lull_samples_context *context = &item->context;
    const uint64_t inner = (uint64_t)context->call << 32 | context->path;
    const uint64_t outer =
        ((uint64_t)context->parallel << 32 | item->object) ^ (uint64_t)context->locked << 63;
    return lull_mix(lull_mix(lull_mix(0, item->offset), inner), outer);
}

/* The slot that has an item like this, or the free one where it belongs. */
static uint32_t *slot_of_item(const struct lull_samples *samples,
                              const struct lull_samples_item *item)
{
    const size_t last = samples->n_slots - 1;
    for (size_t at = hash_of_item(item) & last;; at = (at + 1) & last) {
        uint32_t *slot = &samples->slots[at];
        if (*slot == 0 || is_like(&samples->items[*slot - 1], item))
            return slot;
    }
}

/* At most half of the slots are taken. False: no memory. */
static bool make_slots(struct lull_samples *samples)
{
    enum { FIRST_SLOTS = 64, ITEMS_MOST = 1 << 30 };
    if (samples->n_slots > 2 * samples->n_items)
        return true;
    if (samples->n_items >= ITEMS_MOST)
        return false;
    const size_t n = samples->n_slots > 0 ? 2 * samples->n_slots : FIRST_SLOTS;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    free(samples->slots);
    samples->slots = slots;
    samples->n_slots = n;
    for (size_t i = 0; i < samples->n_items; i++)
        *slot_of_item(samples, &samples->items[i]) = (uint32_t)i + 1;
    return true;
}

bool lull_samples_add(struct lull_samples *samples, const struct lull_samples_item *item,
                      size_t most)
{
    static const struct lull_samples_item anything = {.context = {0, LULL_NONE, LULL_NONE, 0},
                                                      .object = LULL_NONE};
    const struct lull_samples_item *key = item;
    if (!make_slots(samples))
        return false;
    uint32_t *slot = slot_of_item(samples, key);
    if (*slot == 0 && samples->n_items >= most)
        slot = slot_of_item(samples, key = &anything);
    if (*slot == 0) {
        if (!lull_array_reserve(&samples->items, &samples->capacity, samples->n_items + 1,
                                sizeof *samples->items))
            return false;
        samples->items[samples->n_items] = *key;
        samples->items[samples->n_items].count = 0;
        samples->items[samples->n_items].weight = 0;
        *slot = (uint32_t)++samples->n_items;
    }
    struct lull_samples_item *known = &samples->items[*slot - 1];
    known->count += item->count;
    known->weight = lull_samples_weights(known->weight, item->weight);
    return true;
}

/* ---- ready ----------------------------------------------------------------------------------- */

int lull_samples_order(const void *a, const void *b)
{
    const struct lull_samples_item *x = a, *y = b;
    const uint64_t of_x[] = {x->object,       x->offset,           x->context.path,
                             x->context.call, x->context.parallel, x->context.locked};
    const uint64_t of_y[] = {y->object,       y->offset,           y->context.path,
                             y->context.call, y->context.parallel, y->context.locked};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        if (of_x[i] != of_y[i])
            return of_x[i] < of_y[i] ? -1 : 1;
    return 0;
}

static void forget_slots(struct lull_samples *samples)
{
    free(samples->slots);
    samples->slots = NULL;
    samples->n_slots = 0;
}

void lull_samples_sort(struct lull_samples *samples)
{
    forget_slots(samples);
    if (samples->n_items > 1)
        qsort(samples->items, samples->n_items, sizeof *samples->items, lull_samples_order);
}

struct lull_samples lull_samples_copy(const struct lull_samples *samples, struct lull_arena *arena)
{
    struct lull_samples copy = *samples;
    copy.slots = NULL;
    copy.n_slots = 0;
    copy.items = NULL;
    if (samples->n_items > 0) {
        copy.items = lull_arena_zero(arena, samples->n_items, sizeof *copy.items);
        memcpy(copy.items, samples->items, samples->n_items * sizeof *copy.items);
    }
    return copy;
}

void lull_samples_free(struct lull_samples *samples)
{
    forget_slots(samples);
    free(samples->items);
    *samples = (struct lull_samples){0};
}

bool lull_samples_put(const struct lull_samples *samples, struct lull_flow *flow)
{
    return lull_flow_put(flow, samples, sizeof *samples) &&
           lull_flow_put_items(flow, samples->items, samples->n_items, sizeof *samples->items);
}

bool lull_samples_get(struct lull_samples *samples, struct lull_flow *flow)
{
    lull_samples_free(samples);
    const bool good = lull_flow_get(flow, samples, sizeof *samples);
    samples->slots = NULL; /* what came are addresses of the other process */
    samples->items = NULL;
    samples->n_items = samples->capacity = samples->n_slots = 0;
    if (good)
        samples->items = lull_flow_get_items(flow, sizeof *samples->items, &samples->n_items);
    samples->capacity = samples->n_items;
    return samples->items != NULL;
}
