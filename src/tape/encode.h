/* Encoding of the records that have a form of their own: inline, for the recorder's hot path and
 * for generators. Each function fills slots and returns how many; the caller has made sure that
 * they fit into the chunk and commits them. */
#ifndef LULL_TAPE_ENCODE_H
#define LULL_TAPE_ENCODE_H

#include "tape/layout.h"

/* Several calls in one record, `more` beside the first; `duration`: of all together. */
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

/* Gives the call in `slot`, which has `extra` slots, its duration; a long one needs one more. */
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

/* CALL_SEND, CALL_RECV, CALL_ISEND, CALL_IRECV. Usable when the duration is below LULL_TAPE_OPEN,
 * bytes fit 40 and the communicator 24 bits. */
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

/* CALL_COLLECTIVE, CALL_ICOLLECTIVE. The same limits; `root` LULL_TAPE_NO_ROOT where there is none.
 */
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

/* A wait that completed `count` requests from `first` on as they were posted. */
static inline unsigned lull_tape_put_wait_range(union lull_tape_slot *slot, uint64_t time,
                                                uint32_t region, uint32_t duration, uint32_t first,
                                                uint32_t count)
{
    slot[0].record.time = time;
    slot[0].record.head = lull_tape_head(LULL_TAPE_CALL_WAIT, 1, region);
    slot[0].record.value = duration;
    slot[1].u32[0] = first;
    slot[1].u32[1] = count;
    slot[1].u32[2] = 0;
    slot[1].u32[3] = 0;
    return 2;
}

#endif
