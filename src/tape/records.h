/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing calls as records of a tape, the shapes of such records, and the times that records span.
 *
 * What writes is inline, for the recorder's hot path and for generators. Each function fills slots
 * and returns how many; the caller has made sure that they fit into the chunk, and commits them. */
#ifndef LULL_TAPE_RECORDS_H
#define LULL_TAPE_RECORDS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== writing calls =========================================================================== */

/* A record of `more` + 1 calls; `duration` is that of all together, in ticks. */
static inline unsigned lull_tape_put_calls(union lull_tape_slot *slot, uint64_t time,
                                           uint32_t region, uint64_t duration, uint64_t more)
{
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_CALL, 1, region);
    slot[0].record.value = 0;
    slot[1].u64[0] = duration;
    slot[1].u64[1] = more;
    return 2;
}

/* A call of `duration` ticks; a long one needs a second slot. */
static inline unsigned lull_tape_put_call(union lull_tape_slot *slot, uint64_t time,
                                          uint32_t region, uint64_t duration)
{
    if (duration >= LULL_TAPE_OPEN)
        return lull_tape_put_calls(slot, time, region, duration, 0);
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_CALL, 0, region);
    slot[0].record.value = (uint32_t)duration;
    return 1;
}

/* Gives the call in `slot`, which has `extra` slots behind it, its duration in ticks; a long
 * duration needs one more slot. */
static inline unsigned lull_tape_set_duration(union lull_tape_slot *slot, unsigned extra,
                                              uint64_t duration)
{
    if (__builtin_expect(duration < LULL_TAPE_OPEN, 1)) {
        slot[0].record.value = (uint32_t)duration;
        return 1 + extra;
    }
    slot[0].record.head += 1 << 6;
    slot[0].record.value = LULL_TAPE_OPEN;
    slot[1 + extra].u64[0] = duration;
    slot[1 + extra].u64[1] = 0;
    return 2 + extra;
}

/* A CALL_SEND, CALL_RECV, CALL_ISEND or CALL_IRECV. The duration must be below LULL_TAPE_OPEN,
 * `bytes` must fit into 40 bits and `comm` into 24. */
static inline unsigned lull_tape_put_message_call(union lull_tape_slot *slot, unsigned kind,
                                                  uint64_t time, uint32_t region, uint32_t duration,
                                                  int32_t peer, int32_t tag, uint32_t comm,
                                                  uint64_t bytes)
{
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(kind, 1, region);
    slot[0].record.value = duration;
    slot[1].i32[0] = peer;
    slot[1].i32[1] = tag;
    slot[1].u64[1] = (bytes & LULL_TAPE_BYTES_MASK) | (uint64_t)comm << 40;
    return 2;
}

/* A CALL_COLLECTIVE or CALL_ICOLLECTIVE, with the same limits; `root` is LULL_TAPE_NO_ROOT where
 * there is none. */
static inline unsigned lull_tape_put_collective_call(union lull_tape_slot *slot, unsigned kind,
                                                     uint64_t time, uint32_t region,
                                                     uint32_t duration, uint32_t comm,
                                                     uint32_t root, uint64_t sent,
                                                     uint64_t received)
{
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(kind, 1, region);
    slot[0].record.value = duration;
    slot[1].u64[0] = (sent & LULL_TAPE_BYTES_MASK) | (uint64_t)comm << 40;
    slot[1].u64[1] = (received & LULL_TAPE_BYTES_MASK) | (uint64_t)root << 40;
    return 2;
}

/* ---- calls like earlier ones ----------------------------------------------------------------- */

/* Programs repeat their calls, so a record may say "like an earlier one". The shape of a call is a
 * hash, below LULL_TAPE_SHAPES, of its kind, its region and its slots, without time and duration.
 * Writer and reader each remember, per location and shape, the last call. Where a new call equals
 * the remembered one, a CALL_LIKE stands for it; otherwise it is written in full and takes the
 * other's place. */

/* The shape of a record. `head` counts the slots that the kind has, without that of a long
 * duration. `first` and `second` are the two words of its slot; for a CALL_SENDRECV, which has two
 * slots, they are the sums of both. */
static inline uint32_t lull_tape_shape_of(uint32_t head, uint64_t first, uint64_t second)
{
    const uint64_t mixed = (first ^ (second << 20 | second >> 44)) + head;
    return (uint32_t)(mixed * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* How many slots of a record of a shaped kind belong to its shape. */
static inline unsigned lull_tape_shaped_slots(unsigned kind)
{
    return kind == LULL_TAPE_CALL_SENDRECV ? 2 : 1;
}

static inline bool lull_tape_is_shaped(unsigned kind)
{
    return kind < 32 && LULL_TAPE_SHAPED >> kind & 1;
}

/* The same from the record itself, which is of a shaped kind and has its slots behind it. */
static inline uint32_t lull_tape_shape_of_record(const union lull_tape_slot *slot)
{
    const unsigned kind = lull_tape_kind_of(slot->record.head);
    const unsigned slots = lull_tape_shaped_slots(kind);
    const uint64_t first = slots > 1 ? slot[2].u64[0] : 0, second = slots > 1 ? slot[2].u64[1] : 0;
    return lull_tape_shape_of(lull_tape_head(kind, slots, lull_tape_id_of(slot->record.head)),
                              slot[1].u64[0] + first, slot[1].u64[1] + second);
}

/* What a writer keeps of the last call of a shape. */
struct lull_tape_shape {
    uint32_t head; /* 0: there was no such call */
    uint32_t reserved;
    uint64_t words[4]; /* of its one or two slots */
};

/* ==== the times that records span ============================================================= */

/* The earliest and the latest time of some records, in ticks; first > last: there are no times. */
struct lull_tape_span {
    uint64_t first, last;
};

#define LULL_TAPE_SPAN_EMPTY ((struct lull_tape_span){UINT64_MAX, 0})

/* Widens the span by the records in one chunk, up to the first damage: a record of an unknown kind,
 * or one that is earlier than the record before it. Returns false if there is damage. */
bool lull_tape_span_chunk(const union lull_tape_slot *slots, size_t count,
                          struct lull_tape_span *span);

#endif
