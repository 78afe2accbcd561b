/* The common records: most of a tape are regions, calls and operations. They are decoded in a loop
 * of their own: a table says, by the lowest ten bits of a record's head (kind and extra), which
 * event a record makes, that it is to be passed over, or that it needs the long way. Part of
 * stream.c, which enters the loop for every record that took the long way. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_COMMON_H
#define LULL_TRACE_FORMAT_TAPE_READ_COMMON_H

#include "tape/encode.h"
#include "trace/format/tape/read/stream.h"

#include <pthread.h>

/* Records may alternate between this loop and the long way: entering it must cost nothing. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { PREFETCH_SLOTS = 128 };
enum { LONG_WAY, PASS_OVER, OPERATION, CALL_OF_MPI, REGION_EVENT /* + enum lull_event_kind */ };
enum { MORE_SLOTS = 0x80 }; /* flag of a REGION_EVENT whose record has more than one slot */

/* What a table depends on. */
enum {
    TABLE_REQUESTS = 1, /* requests matter */
    TABLE_COUNTERS = 2, /* they are wanted */
    TABLE_TRANSFERS = 4,
    TABLE_SHARED_IDS = 8,
    TABLES = 16
};

static void make_common_table(uint8_t *table, unsigned of)
{
    const bool requests_matter = of & TABLE_REQUESTS;
    table[lull_tape_head(LULL_TAPE_ENTER, 0, 0)] = REGION_EVENT + LULL_EVENT_ENTER;
    table[lull_tape_head(LULL_TAPE_LEAVE, 0, 0)] = REGION_EVENT + LULL_EVENT_LEAVE;
    table[lull_tape_head(LULL_TAPE_CALL, 0, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    if (!requests_matter)
        table[lull_tape_head(LULL_TAPE_CALL_WAIT, 0, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    table[lull_tape_head(LULL_TAPE_CALL_LIKE, 0, 0)] = CALL_OF_MPI;
    if (requests_matter && of & TABLE_SHARED_IDS) {
        table[lull_tape_head(LULL_TAPE_MESSAGE, 2, 0)] = OPERATION;
        table[lull_tape_head(LULL_TAPE_COLLECTIVE, 2, 0)] = OPERATION;
    }
    for (unsigned kind = LULL_TAPE_CALL_SEND; kind <= LULL_TAPE_CALL_SENDRECV; kind++)
        for (unsigned extra = 1; requests_matter && extra <= LULL_TAPE_MOST_EXTRA; extra++)
            if (kind != LULL_TAPE_CALL_WAIT) /* completions may need more room than there is */
                table[lull_tape_head(kind, extra, 0)] = CALL_OF_MPI;
    for (unsigned extra = 1; extra <= LULL_TAPE_MOST_EXTRA; extra++) {
        if (!(of & TABLE_COUNTERS))
            table[lull_tape_head(LULL_TAPE_COUNTS, extra, 0)] = PASS_OVER;
        if (!(of & TABLE_TRANSFERS))
            table[lull_tape_head(LULL_TAPE_TRANSFER, extra, 0)] = PASS_OVER;
        if (requests_matter)
            continue;
        table[lull_tape_head(LULL_TAPE_MESSAGE, extra, 0)] = PASS_OVER;
        table[lull_tape_head(LULL_TAPE_COLLECTIVE, extra, 0)] = PASS_OVER;
        table[lull_tape_head(LULL_TAPE_COMPLETE, extra, 0)] = PASS_OVER;
        for (unsigned kind = LULL_TAPE_CALL_SEND; kind <= LULL_TAPE_CALL_SENDRECV; kind++)
            table[lull_tape_head(kind, extra, 0)] = MORE_SLOTS | (REGION_EVENT + LULL_EVENT_CALL);
    }
}

/* Streams share them: there may be thousands. */
static uint8_t common_tables[TABLES][1024];

static void make_common_tables(void)
{
    for (unsigned of = 0; of < TABLES; of++)
        make_common_table(common_tables[of], of);
}

static const uint8_t *common_table_for(const struct tape_stream *stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint64_t transfers = LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO);
    pthread_once(&once, make_common_tables);
    return common_tables[(stream->requests_matter ? TABLE_REQUESTS : 0) |
                         (stream->mask & LULL_MASK(LULL_EVENT_COUNTERS) ? TABLE_COUNTERS : 0) |
                         (stream->mask & transfers ? TABLE_TRANSFERS : 0) |
                         (stream->file->header.flags & LULL_TAPE_SHARED_IDS ? TABLE_SHARED_IDS
                                                                            : 0)];
}

/* The part of a clock in which no segment changes, or plain ns. Unsigned, see tape_ns_of. */
struct plain_clock {
    uint64_t base_ticks, limit, multiplier, base_ns;
    unsigned shift;
};

static struct plain_clock plain_clock_of(const struct tape_stream *stream)
{
    if (!stream->ticks)
        return (struct plain_clock){.limit = UINT64_MAX,
                                    .base_ns = -(uint64_t)stream->data->origin};
    const struct lull_tape_scope *clock = stream->file->clock;
    const struct lull_tape_segment *segment = &clock->segments[stream->segment];
    bool last = stream->segment + 1 == clock->n_segments;
    return (struct plain_clock){.base_ticks = segment->base_ticks,
                                .limit = last ? UINT64_MAX : segment[1].base_ticks,
                                .multiplier = segment->multiplier,
                                .base_ns =
                                    (uint64_t)segment->base_ns - (uint64_t)stream->data->origin,
                                .shift = segment->shift};
}

static inline int64_t plain_ns(const struct plain_clock *clock, bool ticks, uint64_t time)
{
    if (!ticks)
        return (int64_t)(time + clock->base_ns);
    return (int64_t)(clock->base_ns +
                     (uint64_t)((unsigned __int128)(time - clock->base_ticks) * clock->multiplier >>
                                clock->shift));
}

/* Whether the clock's part holds a span of that length. */
static inline bool is_plain(const struct plain_clock *clock, bool ticks, uint64_t time,
                            uint64_t length)
{
    return !ticks ||
           (time >= clock->base_ticks && time < clock->limit && clock->limit - time > length);
}

/* Where the slots end that are decoded before the pages behind them are asked for. */
static inline const union lull_tape_slot *chunk_end(const struct tape_stream *stream)
{
    const size_t slot = sizeof *stream->at;
    const size_t done = (size_t)(stream->at - stream->first) * slot;
    const union lull_tape_slot *end =
        stream->at + (LULL_TAPE_CHUNK - done % LULL_TAPE_CHUNK) / slot;
    return end < stream->end ? end : stream->end;
}

static inline lull_status decode_shaped_call(struct tape_stream *stream,
                                             const union lull_tape_slot *at, struct tape_out *out,
                                             struct lull_event **event, struct lull_error *err)
{
    const uint32_t head = at->record.head;
    stream->at = at;
    out->count = (size_t)(*event - out->events);
    lull_status status =
        lull_tape_decode_call(stream, lull_tape_kind_of(head), lull_tape_extra_of(head), out, err);
    *event = out->events + out->count;
    return status;
}

static inline void set_region_event(struct lull_event *event, uint8_t way, uint32_t region,
                                    int64_t begin, int64_t duration)
{
    event->time = begin;
    event->kind = (uint8_t)((way & ~MORE_SLOTS) - REGION_EVENT);
    event->op = 0;
    event->reserved = 0;
    event->id = region;
    event->duration = duration;
}

/* What becomes of a record: made into events or passed over, a region's event to be made, or left
 * to the long way. */
enum fate { DONE, REGION, LEFT, FAILED };

/* Of a record that is no region's event with one slot. */
static ALWAYS_INLINE enum fate decode_longer(struct tape_stream *stream,
                                             const union lull_tape_slot *at, uint8_t way,
                                             const struct plain_clock *clock, bool ticks,
                                             struct tape_out *out, struct lull_event **event,
                                             lull_status *ret_status, struct lull_error *err)
{
    const struct lull_tape_ids *regions = &stream->file->ids->maps[LULL_TAPE_MAP_REGION];
    const uint32_t head = at->record.head, id = lull_tape_id_of(head);
    if (way == PASS_OVER)
        return DONE;
    if (way == CALL_OF_MPI) {
        *ret_status = decode_shaped_call(stream, at, out, event, err);
        return *ret_status == LULL_OK ? DONE : FAILED;
    }
    if (way == OPERATION) {
        const uint64_t time = at->record.time;
        if (!is_plain(clock, ticks, time, 0))
            return LEFT;
        const int made =
            lull_tape_decode_operation(stream, at, plain_ns(clock, ticks, time), *event);
        *event += made > 0 ? made : 0;
        return made < 0 ? LEFT : DONE;
    }
    if (lull_tape_is_shaped(lull_tape_kind_of(head)) && id < regions->count)
        *ret_status = lull_tape_keep_region(stream, at, regions->index[id], err);
    return *ret_status == LULL_OK ? REGION : FAILED;
}

static ALWAYS_INLINE lull_status decode_common_loop(struct tape_stream *stream,
                                                    struct tape_out *out, size_t capacity,
                                                    bool ticks, struct lull_error *err)
{
    const struct plain_clock clock = plain_clock_of(stream);
    const struct lull_tape_ids *regions = &stream->file->ids->maps[LULL_TAPE_MAP_REGION];
    const uint32_t *index = regions->index;
    const size_t n_regions = regions->count;
    const uint8_t *common = stream->common;
    const union lull_tape_slot *at = stream->at, *limit = chunk_end(stream), *next;
    struct lull_event *event = out->events + out->count;
    const struct lull_event *full = out->events + capacity;
    lull_status status = LULL_OK;
    for (; at < limit && event < full; at = next) {
        /* The hardware's prefetcher stops at every page. */
        __builtin_prefetch(at + PREFETCH_SLOTS);
        const uint32_t head = at->record.head, value = at->record.value;
        const uint64_t time = at->record.time;
        const uint8_t way = common[head & 0x3ff];
        const uint32_t id = lull_tape_id_of(head);
        next = at + 1;
        if (way < REGION_EVENT || way & MORE_SLOTS) {
            next += lull_tape_extra_of(head);
            if (way == LONG_WAY || next > limit)
                break;
            const enum fate fate =
                decode_longer(stream, at, way, &clock, ticks, out, &event, &status, err);
            if (fate == DONE)
                continue;
            if (fate == FAILED)
                return status;
            if (fate == LEFT)
                break;
        }
        if (id >= n_regions || value == LULL_TAPE_OPEN || index[id] == LULL_NONE ||
            !is_plain(&clock, ticks, time, value))
            break;
        const int64_t begin = plain_ns(&clock, ticks, time);
        set_region_event(
            event++, way, index[id], begin,
            ticks ? (int64_t)((uint64_t)plain_ns(&clock, ticks, time + value) - (uint64_t)begin)
                  : value);
    }
    out->count = (size_t)(event - out->events);
    stream->at = at;
    return LULL_OK;
}

/* As many records from stream->at on as the loop can decode, into at most `capacity` events. */
static inline lull_status tape_decode_common(struct tape_stream *stream, struct tape_out *out,
                                             size_t capacity, struct lull_error *err)
{
    return stream->ticks ? decode_common_loop(stream, out, capacity, true, err)
                         : decode_common_loop(stream, out, capacity, false, err);
}

#endif
