/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking things up in arrays that are in the order of a number, by bisection:
 *
 *     size_t at = lull_sorted_first_u32(edges, n, sizeof *edges, offsetof(struct edge, from), rank);
 *     if (at < n && edges[at].from == rank)
 *         ...
 *
 * Returned is the index of the first of `count` items of `size` bytes whose number is `least` or
 * above; `count`: there is none. The number stands `offset` bytes behind the begin of an item. */
#ifndef LULL_BASE_SORTED_H
#define LULL_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

#define LULL_SORTED_FIRST(name, type)                                                      \
    static inline size_t name(const void *items, size_t count, size_t size, size_t offset, \
                              type least)                                                  \
    {                                                                                      \
        size_t low = 0, high = count;                                                      \
        while (low < high) {                                                               \
            const size_t middle = low + (high - low) / 2;                                  \
            const unsigned char *item = (const unsigned char *)items + size * middle;      \
            if (*(const type *)(const void *)(item + offset) < least)                      \
                low = middle + 1;                                                          \
            else                                                                           \
                high = middle;                                                             \
        }                                                                                  \
        return low;                                                                        \
    }

LULL_SORTED_FIRST(lull_sorted_first_u32, uint32_t)
LULL_SORTED_FIRST(lull_sorted_first_u64, uint64_t)
LULL_SORTED_FIRST(lull_sorted_first_i64, int64_t)
LULL_SORTED_FIRST(lull_sorted_first_f64, double)

#undef LULL_SORTED_FIRST

#endif
