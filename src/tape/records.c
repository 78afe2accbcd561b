/* SPDX-License-Identifier: BSD-3-Clause */
#include "tape/records.h"

#include "tape/layout.h"

#include <stdbool.h>

static uint64_t end_of(const union lull_tape_slot *slots, size_t count)
{
    const struct lull_tape_record *record = &slots->record;
    unsigned kind = lull_tape_kind_of(record->head);
    bool call = (kind >= LULL_TAPE_CALL && kind <= LULL_TAPE_CALL_SENDRECV) ||
                kind == LULL_TAPE_CALL_LIKE || kind == LULL_TAPE_CALL_OPERATION;
    bool span = kind == LULL_TAPE_STATE || kind == LULL_TAPE_FLUSH;
    unsigned extra = lull_tape_extra_of(record->head);
    if ((span || kind == LULL_TAPE_CALL) && extra > 0)
        return record->time + (count > 1 ? slots[1].u64[0] : 0);
    if (call && extra > 0 && record->value == LULL_TAPE_OPEN)
        return record->time + (count > extra ? slots[extra].u64[0] : 0);
    return record->time + (span || call ? record->value : 0);
}

/* Where a record is earlier than the one before it, one of the two is damaged. It is the first if
 * the second is not earlier than the record before both. */
bool lull_tape_span_chunk(const union lull_tape_slot *slots, size_t count,
                          struct lull_tape_span *span)
{
    uint64_t before = UINT64_MAX;
    for (size_t i = 0, next; i < count; i = next) {
        const struct lull_tape_record *record = &slots[i].record;
        unsigned kind = lull_tape_kind_of(record->head);
        next = i + 1 + lull_tape_extra_of(record->head);
        if (kind == LULL_TAPE_PAD)
            return true;
        bool last = next >= count || lull_tape_kind_of(slots[next].record.head) == LULL_TAPE_PAD;
        bool backwards = !last && slots[next].record.time < record->time;
        if (kind == LULL_TAPE_NOTHING || kind >= LULL_TAPE_KINDS ||
            (backwards && slots[next].record.time >= before))
            return false;
        before = record->time;
        uint64_t end = end_of(&slots[i], count - i);
        span->first = record->time < span->first ? record->time : span->first;
        span->last = end > span->last ? end : span->last;
        if (backwards)
            return false;
    }
    return true;
}
