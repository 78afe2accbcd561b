#include "base/ring.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 4 };

static bool grow_ring(struct lull_ring *ring, uint32_t size)
{
    const uint32_t capacity = ring->capacity ? 2 * ring->capacity : FIRST_ITEMS;
    unsigned char *items = capacity > ring->capacity ? malloc((uint64_t)capacity * size) : NULL;
    if (!items)
        return false;
    for (uint32_t i = 0; i < ring->count; i++)
        memcpy(items + (uint64_t)i * size, lull_ring_at(ring, size, i), size);
    free(ring->items);
    ring->items = items;
    ring->capacity = capacity;
    ring->begin = 0;
    return true;
}

void *lull_ring_push(struct lull_ring *ring, uint32_t size)
{
    if (ring->count == ring->capacity && !grow_ring(ring, size))
        return NULL;
    return lull_ring_at(ring, size, ring->count++);
}

void lull_ring_pop(struct lull_ring *ring)
{
    ring->begin = (ring->begin + 1) & (ring->capacity - 1);
    ring->count--;
}

void lull_ring_free(struct lull_ring *ring)
{
    free(ring->items);
    *ring = (struct lull_ring){0};
}
