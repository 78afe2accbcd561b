/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/sample.h"

#include <stddef.h>
#include <stdlib.h>

static int compare_sampled(const void *a, const void *b)
{
    const struct lull_sample_item *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    for (int i = 0; i < 2; i++)
        if (x->times[i] != y->times[i])
            return x->times[i] < y->times[i] ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

void lull_sample_settle(struct lull_sample *sample)
{
    qsort(sample->items, sample->count, sizeof *sample->items, compare_sampled);
    if (sample->count > LULL_SAMPLE) {
        sample->count = LULL_SAMPLE;
        sample->most = sample->items[LULL_SAMPLE - 1].hash;
    }
}

/* Leaves the LULL_SAMPLE smallest of more items, in any order. That takes a fraction of the time of
 * sorting them. Source: C. A. R. Hoare, Algorithm 65: FIND, Communications of the ACM 4 (1961). */
static void drop_largest(struct lull_sample *sample)
{
    struct lull_sample_item *items = sample->items;
    const ptrdiff_t last = LULL_SAMPLE - 1;
    for (ptrdiff_t low = 0, high = (ptrdiff_t)sample->count - 1; low < high;) {
        const struct lull_sample_item middle = items[last];
        ptrdiff_t up = low, down = high;
        while (up <= down) {
            while (compare_sampled(&items[up], &middle) < 0)
                up++;
            while (compare_sampled(&middle, &items[down]) < 0)
                down--;
            if (up > down)
                break;
            const struct lull_sample_item item = items[up];
            items[up++] = items[down];
            items[down--] = item;
        }
        low = down < last ? up : low;
        high = last < up ? down : high;
    }
    sample->count = LULL_SAMPLE;
    sample->most = items[last].hash;
}

bool lull_sample_add(struct lull_sample **sample, const struct lull_sample_item *item)
{
    if (!*sample) {
        *sample = malloc(sizeof **sample);
        if (!*sample)
            return false;
        (*sample)->count = 0;
        (*sample)->most = UINT64_MAX;
    }
    if (item->hash > (*sample)->most)
        return true;
    if ((*sample)->count == 2 * LULL_SAMPLE)
        drop_largest(*sample);
    (*sample)->items[(*sample)->count++] = *item;
    return true;
}

bool lull_sample_join(struct lull_sample **sample, const struct lull_sample *other)
{
    bool fits = true;
    for (uint32_t i = 0; other && fits && i < other->count; i++)
        fits = lull_sample_add(sample, &other->items[i]);
    return fits;
}

bool lull_sample_put(struct lull_sample *sample, struct lull_flow *flow)
{
    if (!sample)
        return lull_flow_put_items(flow, NULL, 0, sizeof *sample->items);
    lull_sample_settle(sample);
    return lull_flow_put_items(flow, sample->items, sample->count, sizeof *sample->items);
}

bool lull_sample_get(struct lull_sample **sample, struct lull_flow *flow)
{
    size_t count;
    struct lull_sample_item *items = lull_flow_get_items(flow, sizeof *items, &count);
    bool fits = items != NULL;
    for (size_t i = 0; fits && i < count; i++)
        fits = lull_sample_add(sample, &items[i]);
    free(items);
    return fits;
}
