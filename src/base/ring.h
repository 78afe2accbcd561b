/* One queue of elements that are numbered on: pushed behind, popped in front, reached by place. Of
 * zeros it is empty. Pointers to elements are stale after a push. */
#ifndef LULL_BASE_RING_H
#define LULL_BASE_RING_H

#include <stdint.h>

struct lull_ring {
    unsigned char *items; /* [capacity], a power of two; the first is at `begin` */
    uint32_t begin, count, capacity;
};

/* A new last element of `size` bytes, always the same for a ring, which the caller fills. NULL: no
 * memory, and nothing has changed. */
void *lull_ring_push(struct lull_ring *ring, uint32_t size);
/* Drops the first; there is one. */
void lull_ring_pop(struct lull_ring *ring);
void lull_ring_free(struct lull_ring *ring);

/* The element at `place` < count from the first. */
static inline void *lull_ring_at(const struct lull_ring *ring, uint32_t size, uint32_t place)
{
    return ring->items + (uint64_t)((ring->begin + place) & (ring->capacity - 1)) * size;
}

#endif
