/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/samples.h"

#include "base/array.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* What items differ in; no padding. */
struct samples_key {
    struct lull_samples_context context;
    uint64_t offset;
    uint64_t object;
};

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

bool lull_samples_add(struct lull_samples *samples, const struct lull_samples_item *item,
                      size_t most)
{
    static const struct samples_key anything = {{0, LULL_NONE, LULL_NONE, 0}, 0, LULL_NONE};
    struct samples_key key = {item->context, item->offset, item->object};
    const bool full = samples->n_items >= most;
    if (!samples->numbers && !(samples->numbers = calloc(1, sizeof *samples->numbers)))
        return false;
    const uint64_t *number = full ? lull_hash_find(samples->numbers, &key, sizeof key) : NULL;
    if (!number) {
        key = full ? anything : key;
        number = lull_hash_add(samples->numbers, &key, sizeof key, samples->n_items, NULL);
    }
    if (!number)
        return false;
    if (*number == samples->n_items) {
        if (!lull_array_reserve(&samples->items, &samples->capacity, samples->n_items + 1,
                                sizeof *samples->items))
            return false;
        samples->items[samples->n_items++] = (struct lull_samples_item){
            .context = key.context, .offset = key.offset, .object = (uint32_t)key.object};
    }
    struct lull_samples_item *known = &samples->items[*number];
    known->count += item->count;
    known->weight = lull_samples_weights(known->weight, item->weight);
    return true;
}

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

static void forget_numbers(struct lull_samples *samples)
{
    if (samples->numbers)
        lull_hash_free(samples->numbers);
    free(samples->numbers);
    samples->numbers = NULL;
}

void lull_samples_sort(struct lull_samples *samples)
{
    forget_numbers(samples);
    if (samples->n_items > 1)
        qsort(samples->items, samples->n_items, sizeof *samples->items, lull_samples_order);
}

struct lull_samples lull_samples_copy(const struct lull_samples *samples, struct lull_arena *arena)
{
    struct lull_samples copy = *samples;
    copy.numbers = NULL;
    copy.items = NULL;
    if (samples->n_items > 0) {
        copy.items = lull_arena_zero(arena, samples->n_items, sizeof *copy.items);
        memcpy(copy.items, samples->items, samples->n_items * sizeof *copy.items);
    }
    return copy;
}

void lull_samples_free(struct lull_samples *samples)
{
    forget_numbers(samples);
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
    samples->numbers = NULL; /* what came are addresses of the other process */
    samples->items = NULL;
    samples->n_items = samples->capacity = 0;
    if (good)
        samples->items = lull_flow_get_items(flow, sizeof *samples->items, &samples->n_items);
    samples->capacity = samples->n_items;
    return samples->items != NULL;
}
