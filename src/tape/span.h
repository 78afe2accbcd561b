/* Tape: from when to when the records of a location go, as its first chunk and its last two tell.
 */
#ifndef LULL_TAPE_SPAN_H
#define LULL_TAPE_SPAN_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* In ticks; empty: first > last. */
struct lull_tape_span {
    uint64_t first, last;
};

#define LULL_TAPE_SPAN_EMPTY ((struct lull_tape_span){UINT64_MAX, 0})

/* Widens the span by the records in one chunk, up to a damage: a record of no kind, or two in the
 * wrong order. Returns false at a damage. */
bool lull_tape_span_chunk(const union lull_tape_slot *slots, size_t count,
                          struct lull_tape_span *span);

#endif
