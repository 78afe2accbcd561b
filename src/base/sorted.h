/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking things up in sorted arrays, by bisection. */
#ifndef LULL_BASE_SORTED_H
#define LULL_BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Items in the order of a number:
 *
 *     size_t at = lull_sorted_first_u32(edges, n, sizeof *edges, offsetof(struct edge, from), rank);
 *     if (at < n && edges[at].from == rank)
 *         ...
 *
 * Returned is the index of the first of `count` items of `size` bytes whose number is `least` or
 * above; `count`: there is none. The number stands `offset` bytes behind the begin of an item. */
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

/* Items in any other order, with a condition that holds for each item in front of a place and for none
 * behind it:
 *
 *     struct lull_bisection at = {.end = n};
 *     while (lull_bisect(&at))
 *         at.in_front = compare(&items[at.middle], &wanted) < 0;
 *     if (at.begin < n && compare(&items[at.begin], &wanted) == 0)
 *         ...
 *
 * When the loop has ended, `begin` is the index of the first item, from the `begin` given at first to
 * `end`, for which the condition does not hold; the given `end`: it holds for all. */
struct lull_bisection {
    size_t begin, end;
    size_t middle; /* the caller is asked about this item */
    bool in_front; /* the answer */
    bool asked;
};

static inline bool lull_bisect(struct lull_bisection *at)
{
    if (at->asked && at->in_front)
        at->begin = at->middle + 1;
    else if (at->asked)
        at->end = at->middle;
    at->middle = at->begin + (at->end - at->begin) / 2;
    at->asked = at->begin < at->end;
    return at->asked;
}

#endif
