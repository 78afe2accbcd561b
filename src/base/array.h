/* SPDX-License-Identifier: BSD-3-Clause */
/* One growing array, and a ring built like it, in memory of malloc. What lives in an arena grows
 * with lull_arena_grow.
 *
 *     struct item *items = NULL;
 *     size_t capacity = 0, count = 0;
 *     if (!lull_array_reserve(&items, &capacity, count + 1, sizeof *items))
 *         return no memory;
 *     items[count++] = item;
 *     ...
 *     free(items); */
#ifndef LULL_BASE_ARRAY_H
#define LULL_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== array =================================================================================== */

/* As lull_array_reserve, for a `need` above the capacity. */
bool lull_array_enlarge(void *array, size_t *capacity, size_t need, size_t size);

/* Room for `need` elements of `size` bytes. `array` is the address of the pointer to the first
 * element (NULL with a capacity of 0 is an empty array); pointers into the array are stale
 * afterwards, new elements are not cleared. The capacity at least doubles when it has to grow, so
 * that appending takes constant time on average. False when memory runs out or the size in bytes
 * would overflow: array and capacity are as before then. */
static inline bool lull_array_reserve(void *array, size_t *capacity, size_t need, size_t size)
{
    return need <= *capacity || lull_array_enlarge(array, capacity, need, size);
}

/* Inserts an element of `size` bytes at index `at` <= *count into a list that holds `most` elements
 * at most: when the list is full, its last element falls off. For at == most nothing changes. */
void lull_array_insert(void *items, uint32_t *count, uint32_t most, uint32_t at, const void *item,
                       size_t size);

/* ==== ring ==================================================================================== */

/* A queue of elements: pushed behind, popped in front, reached by their place. A ring of zeros is
 * empty. Pointers to elements are stale after a push. */

struct lull_ring {
    unsigned char *items; /* [capacity], a power of two; the first is at `begin` */
    uint32_t begin, count, capacity;
};

/* Adds a last element of `size` bytes, which is always the same size for one ring; the caller fills
 * it. NULL: no memory, and nothing has changed. */
void *lull_ring_push(struct lull_ring *ring, uint32_t size);
/* Drops the first element; there must be one. */
void lull_ring_pop(struct lull_ring *ring);
void lull_ring_free(struct lull_ring *ring);

/* The element at `place` < count, counted from the first. */
static inline void *lull_ring_at(const struct lull_ring *ring, uint32_t size, uint32_t place)
{
    return ring->items + (uint64_t)((ring->begin + place) & (ring->capacity - 1)) * size;
}

#endif
