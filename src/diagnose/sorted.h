/* Looking things up in arrays that are in the order of a number. Internal to the room. */
#ifndef LULL_DIAGNOSE_SORTED_H
#define LULL_DIAGNOSE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* The index of the first item whose number is `least` or above, among `count` items of `size`
 * bytes; the number is a uint32_t, `offset` bytes from the begin of an item. `count`: there is
 * none. */
static inline uint32_t lull_sorted_first(const void *items, uint32_t count, size_t size,
                                         size_t offset, uint32_t least)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const unsigned char *item = (const unsigned char *)items + size * middle;
        if (*(const uint32_t *)(const void *)(item + offset) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
