/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== ring ==================================================================================== */

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

/* ==== array =================================================================================== */

enum { FIRST_BYTES = 128 }; /* small arrays are many (one per location), so they begin small */

bool lull_array_enlarge(void *array, size_t *capacity, size_t need, size_t size)
{
    const size_t most = PTRDIFF_MAX / size;
    size_t larger = *capacity > 0 ? *capacity * 2 : FIRST_BYTES / size;
    if (larger > most)
        larger = most;
    if (larger < need)
        larger = need;
    if (need > most)
        return false;
    /* Pointers to all types of objects have the same form (POSIX), but only memcpy may write one of
     * any type. */
    void *memory;
    memcpy(&memory, array, sizeof memory);
    void *fresh = realloc(memory, larger * size);
    if (!fresh)
        return false;
    memcpy(array, &fresh, sizeof fresh);
    *capacity = larger;
    return true;
}

void lull_array_insert(void *items, uint32_t *count, uint32_t most, uint32_t at, const void *item,
                       size_t size)
{
    if (at == most)
        return;
    const uint32_t moved = (*count < most ? (*count)++ : most - 1) - at;
    char *place = (char *)items + at * size;
    memmove(place + size, place, moved * size);
    memcpy(place, item, size);
}
