/* SPDX-License-Identifier: BSD-3-Clause */
/* Which operations of a series (match/circle.h) are open: somebody has come to them, or to a later
 * one, and not all have left.
 *
 * What is kept of an operation depends on the analysis: the ideal runtime keeps times, waits keep what
 * those who came had done. It has `size` bytes, the same in all calls for a series. Callers pass a
 * constant, so that the compiler can use it in these functions. Operations are opened and closed in
 * the order of their numbers, which are modulo 2^32. */
#ifndef LULL_MATCH_SERIES_H
#define LULL_MATCH_SERIES_H

#include "base/array.h"

#include <string.h>

/* A struct of zeros has no open operation; the first one has the number 0. lull_ring_free(&operations)
 * releases it; what the kept bytes refer to stays with the caller. */
struct lull_match_series {
    uint32_t first;              /* the number of the oldest operation that is open */
    struct lull_ring operations; /* what is kept of each, from `first` on */
};

/* Whether an operation has been closed. */
static inline bool lull_match_is_closed(const struct lull_match_series *series, uint32_t number)
{
    return (int32_t)(number - series->first) < 0;
}

/* What is kept of an open operation, by its place behind the oldest one. */
static inline void *lull_match_open_at(const struct lull_match_series *series, uint32_t size,
                                       uint32_t place)
{
    return lull_ring_at(&series->operations, size, place);
}

/* What is kept of an operation that has not been closed. It and those before it are opened if need be,
 * as copies of `fresh`. Valid until the next one is opened. NULL: no memory. */
static inline void *lull_match_open(struct lull_match_series *series, uint32_t size,
                                    uint32_t number, const void *fresh)
{
    while (number - series->first >= series->operations.count) {
        void *opened = lull_ring_push(&series->operations, size);
        if (!opened)
            return NULL;
        memcpy(opened, fresh, size);
    }
    return lull_match_open_at(series, size, number - series->first);
}

/* Closes the oldest operation; there must be one. */
static inline void lull_match_close(struct lull_match_series *series)
{
    lull_ring_pop(&series->operations);
    series->first++;
}

#endif
