/* SPDX-License-Identifier: BSD-3-Clause */
/* Walking the records of one location, part by part. */
#include "trace/format/tape/read/tape_stream.h"

#include "tape/records.h"
#include "trace/format/tape/read/tape_live.h"
#include "trace/format/tape/read/tape_samples.h"
#include "trace/format/tape/tape_share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Records may alternate between the loop below and the long way: entering the loop must cost
 * nothing. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { PREFETCH_SLOTS = 128 };

/* What is done with a record, by the table of common records. */
enum { LONG_WAY, PASS_OVER, OPERATION, CALL_OF_MPI, REGION_EVENT /* + enum lull_event_kind */ };

enum { MORE_SLOTS = 0x80 }; /* flag of a REGION_EVENT whose record has more than one slot */

/* On what the content of a table depends: bits of its number. */
enum {
    TABLE_REQUESTS = 1, /* requests matter */
    TABLE_COUNTERS = 2, /* counters are wanted */
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

/* All tables. Streams share them, because there may be thousands of streams. */
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

/* One segment of a clock, or a clock whose ticks are ns. Arithmetic is unsigned, see tape_ns_of. */
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

/* Whether a span of that length lies in the segment. */
static inline bool is_plain(const struct plain_clock *clock, bool ticks, uint64_t time,
                            uint64_t length)
{
    return !ticks ||
           (time >= clock->base_ticks && time < clock->limit && clock->limit - time > length);
}

/* The end of the chunk in which stream->at is, or of the records in memory. */
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

/* Decodes a common record that is not the event of a region in one slot. */
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

/* Decodes as many records from stream->at on as are common ones, into at most `capacity` events. */
static inline lull_status tape_decode_common(struct tape_stream *stream, struct tape_out *out,
                                             size_t capacity, struct lull_error *err)
{
    return stream->ticks ? decode_common_loop(stream, out, capacity, true, err)
                         : decode_common_loop(stream, out, capacity, false, err);
}

enum { MOST_READINGS = 2 * LULL_TAPE_MOST_EXTRA /* of one record */ };

lull_status lull_tape_bad_record(const struct tape_stream *stream, const char *what,
                                 unsigned long long value, struct lull_error *err)
{
    char path[4096];
    const uint64_t begin =
        stream->base + (uint64_t)(stream->at - stream->first) * sizeof *stream->at;
    const uint64_t offset = lull_tape_offset_of(stream->file, begin);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %llu: %s %llu",
                     lull_tape_file_path(stream->trace, stream->file, path, sizeof path),
                     (unsigned long long)offset, what, value);
}

lull_status lull_tape_process_of(const struct tape_stream *stream, int32_t peer, uint32_t comm,
                                 int32_t *ret_process, struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    uint32_t process = LULL_NONE;
    if (peer == LULL_ANY || peer == LULL_PROC_NULL) {
        *ret_process = peer;
        return LULL_OK;
    }
    if (stream->file->header.flags & LULL_TAPE_SHARED_IDS) {
        process = lull_tape_process_index(trace, (uint32_t)peer);
    } else if (comm < trace->n_comms && trace->comms[comm].paradigm != LULL_PARADIGM_OPENMP) {
        const struct lull_comm *group = &trace->comms[comm];
        const bool *outside = stream->data->outside;
        if (outside[comm] || (group->remote != LULL_NONE && outside[group->remote])) {
            *ret_process = LULL_PROC_NULL;
            return LULL_OK;
        }
        if (group->remote != LULL_NONE)
            group = &trace->comms[group->remote];
        process = lull_comm_member(group, (uint32_t)peer);
    }
    if (process >= trace->n_processes)
        return lull_tape_bad_record(stream, "unknown process or rank", (uint32_t)peer, err);
    *ret_process = (int32_t)process;
    return LULL_OK;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Decodes the open call of a process that died inside of it: its record stands behind the committed
 * ones. */
static lull_status decode_open_call(struct tape_stream *stream, struct tape_out *out,
                                    struct lull_error *err)
{
    uint32_t region = stream->file->open_region;
    uint64_t time = stream->file->open_time;
    const lull_status status =
        stream->live ? lull_tape_live_open_call(stream->live, &region, &time, err) : LULL_OK;
    stream->at = NULL;
    if (status == LULL_OK && region != LULL_NONE && tape_wanted(stream, LULL_EVENT_ENTER))
        tape_add(out, LULL_EVENT_ENTER, tape_ns_of(stream, time), region);
    return status;
}

/* Decodes an OPENED: a region that is open at the begin of a chunk of a ring. */
static lull_status decode_opened(struct tape_stream *stream, struct tape_out *out,
                                 struct lull_error *err)
{
    const uint32_t id = lull_tape_id_of(stream->at->record.head),
                   region = tape_index_of(stream, LULL_TAPE_MAP_REGION, id);
    if (region == LULL_NONE)
        return lull_tape_bad_record(stream, "unknown region", id, err);
    if (stream->joins && tape_wanted(stream, LULL_EVENT_ENTER))
        tape_add(out, LULL_EVENT_ENTER, tape_ns_of(stream, stream->at[1].u64[0]), region);
    return LULL_OK;
}

/* Decodes a RESUME: the rest of a thread's state at the begin of a chunk of a ring. */
static void decode_resume(struct tape_stream *stream, struct tape_out *out)
{
    if (!stream->joins)
        return;
    stream->joins = false;
    stream->requests.next = stream->first_request = stream->at[1].u64[0];
    if (stream->at->record.value == 0 && tape_wanted(stream, LULL_EVENT_MEASURE_ON))
        tape_add(out, LULL_EVENT_MEASURE_ON, tape_ns_of(stream, stream->at->record.time), LULL_NONE)
            ->number = 0;
}

/* Tells of the records that a ring has not kept: their time is as if it had not been measured. */
static void begin_in_ring(struct tape_stream *stream, struct tape_out *out)
{
    stream->begins_late = false;
    if (tape_wanted(stream, LULL_EVENT_MEASURE_OFF))
        tape_add(out, LULL_EVENT_MEASURE_OFF, tape_ns_of(stream, stream->file->life_begin),
                 LULL_NONE)
            ->number = 0;
}

static lull_status decode_one(struct tape_stream *stream, struct tape_out *out,
                              struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    unsigned kind = lull_tape_kind_of(record->head), extra = lull_tape_extra_of(record->head);
    size_t done = (size_t)(stream->at - stream->first) * sizeof *stream->at;
    size_t left = (LULL_TAPE_CHUNK - done % LULL_TAPE_CHUNK) / sizeof *stream->at;
    if (kind == LULL_TAPE_PAD) {
        size_t remaining = (size_t)(stream->end - stream->at);
        stream->at += left < remaining ? left : remaining;
        return LULL_OK;
    }
    if (extra >= left || extra >= (size_t)(stream->end - stream->at))
        return lull_tape_bad_record(stream, "record crosses the end of its chunk, kind", kind, err);
    lull_status status;
    if (kind == LULL_TAPE_ENTER || kind == LULL_TAPE_LEAVE) {
        unsigned event = kind == LULL_TAPE_ENTER ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE;
        uint32_t region =
            tape_index_of(stream, LULL_TAPE_MAP_REGION, lull_tape_id_of(record->head));
        if (region == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown region", lull_tape_id_of(record->head),
                                        err);
        if (tape_wanted(stream, event))
            tape_add(out, event, tape_ns_of(stream, record->time), region);
        status = LULL_OK;
    } else if ((kind >= LULL_TAPE_CALL && kind <= LULL_TAPE_CALL_SENDRECV) ||
               kind == LULL_TAPE_CALL_LIKE || kind == LULL_TAPE_CALL_OPERATION) {
        status = lull_tape_decode_call(stream, kind, extra, out, err);
    } else if (kind == LULL_TAPE_OPENED && extra > 0) {
        status = decode_opened(stream, out, err);
    } else if (kind == LULL_TAPE_RESUME && extra > 0) {
        decode_resume(stream, out);
        status = LULL_OK;
    } else {
        status = lull_tape_decode_other(stream, kind, extra, out, err);
    }
    stream->at += 1 + extra;
    return status;
}

/* Checks that all events lie in the run. The scan makes sure that time runs forward, and that a
 * call ends before the next region or call begins. So it is enough to check the first event, the
 * last event, and the last event of a region. */
static lull_status check_event_times(const struct tape_stream *stream,
                                     const struct lull_event *events, size_t count,
                                     struct lull_error *err)
{
    if (count == 0)
        return LULL_OK;
    const struct lull_event *region = &events[count - 1];
    while (region > events && region->kind > LULL_EVENT_CALL)
        region--;
    const struct lull_event *looked_at[] = {&events[0], region, &events[count - 1]};
    for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
        const struct lull_event *event = looked_at[i];
        int64_t duration = event->kind == LULL_EVENT_CALL ? event->duration : 0;
        char path[4096];
        if (!tape_in_run(stream, event->time, duration))
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: an event at %lld ns lies outside of the run of %lld ns",
                             lull_tape_file_path(stream->trace, stream->file, path, sizeof path),
                             (long long)event->time, (long long)stream->trace->duration);
    }
    return LULL_OK;
}

/* How many of the events, from the first, lie in the run, with the ends of calls. */
static size_t count_in_run(const struct tape_stream *stream, const struct lull_event *events,
                           size_t count)
{
    size_t i = 0;
    while (i < count && tape_in_run(stream, events[i].time,
                                    events[i].kind == LULL_EVENT_CALL ? events[i].duration : 0))
        i++;
    return i;
}

/* Ends a location at a damage: the events before it stay, and the measurement is off from there
 * on. */
static void end_at_damage(struct tape_stream *stream, struct tape_out *out)
{
    stream->at = NULL;
    stream->waiting = (struct tape_waiting){0};
    stream->damaged = true;
    out->count = count_in_run(stream, out->events, out->count);
    int64_t time = out->count > 0 ? out->events[out->count - 1].time : stream->last_time;
    if (tape_wanted(stream, LULL_EVENT_MEASURE_OFF))
        tape_add(out, LULL_EVENT_MEASURE_OFF, time, LULL_NONE)->number = 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* How many of the slots, from the first, belong to records that are there as a whole. A record that
 * crosses the end of its chunk counts as whole, and is found by decode_one. *ret_pad: the rest of
 * the chunk holds no records. */
static size_t count_whole(const union lull_tape_slot *slots, size_t n, bool ends_chunk,
                          bool *ret_pad)
{
    size_t at = 0;
    *ret_pad = false;
    while (at < n) {
        const uint32_t head = slots[at].record.head;
        const size_t next = at + 1 + lull_tape_extra_of(head);
        *ret_pad = lull_tape_kind_of(head) == LULL_TAPE_PAD;
        if (*ret_pad || (next > n && !ends_chunk))
            return at;
        at = next;
    }
    return n;
}

/* Reads the next part: whole records of one chunk, in place of the records in memory. */
static lull_status read_chunk_part(struct tape_stream *stream, struct lull_error *err)
{
    const struct lull_tape_file *file = stream->file;
    const uint64_t begin = stream->next, left = file->header.committed - begin;
    const size_t in_chunk = LULL_TAPE_CHUNK - (size_t)(begin % LULL_TAPE_CHUNK);
    const size_t rest = left < in_chunk ? (size_t)left : in_chunk;
    const size_t size = rest < stream->room ? rest : stream->room;
    size_t got = 0;
    bool pad;
    lull_status status = stream->source ? lull_tape_read_records_from(stream->source, file, begin,
                                                                      size, stream->part, &got, err)
                                        : lull_tape_read_records(stream->trace, file, begin, size,
                                                                 stream->part, &got, err);
    const size_t n = count_whole(stream->part, (status == LULL_OK ? got : 0) / sizeof *stream->part,
                                 got == rest, &pad);
    stream->first = stream->at = stream->part;
    stream->end = stream->part + n;
    stream->base = begin;
    stream->next = begin + (pad ? rest : n * sizeof *stream->part);
    if (status == LULL_OK && got < size)
        status = lull_tape_bad_record(stream, "records are missing, of bytes", size, err);
    return status;
}

static bool has_more_parts(const struct tape_stream *stream)
{
    return stream->part && !stream->live && stream->next < stream->file->header.committed;
}

/* The same of a location that is being recorded; *ret_state says whether there was one. */
static lull_status read_live_part(struct tape_stream *stream, enum tape_live_state *ret_state,
                                  struct lull_error *err)
{
    const uint64_t begin = stream->next;
    size_t n = 0;
    lull_status status = lull_tape_live_read(stream->live, begin, stream->part, stream->room, &n,
                                             &stream->next, ret_state, err);
    stream->first = stream->at = stream->part;
    stream->end = stream->part + (status == LULL_OK ? n : 0);
    stream->base = begin;
    return status;
}

enum { MOST_PER_RECORD = 3 };

static lull_status decode_some(struct tape_stream *stream, size_t capacity, struct tape_out *out,
                               struct lull_error *err)
{
    lull_status status = LULL_OK;
    while (status == LULL_OK && out->count + MOST_PER_RECORD < capacity) {
        if (stream->waiting.slot < stream->waiting.end) {
            status = lull_tape_continue_wait(stream, out->events, capacity, &out->count, err);
            continue;
        }
        if (!stream->at)
            break;
        if (stream->at == stream->end && has_more_parts(stream)) {
            status = read_chunk_part(stream, err);
            continue;
        }
        if (stream->at == stream->end && stream->live) {
            enum tape_live_state state = TAPE_LIVE_ENDED;
            status = read_live_part(stream, &state, err);
            if (state == TAPE_LIVE_NOTHING)
                break;
            if (status != LULL_OK || state == TAPE_LIVE_MORE)
                continue;
        }
        if (stream->at == stream->end) {
            status = decode_open_call(stream, out, err);
            break;
        }
        if (stream->has_common)
            status = tape_decode_common(stream, out, capacity - MOST_PER_RECORD, err);
        if (status != LULL_OK || stream->at == stream->end ||
            out->count + MOST_PER_RECORD >= capacity)
            continue;
        if (stream->n_readings + MOST_READINGS > stream->readings_capacity)
            break;
        status = decode_one(stream, out, err);
    }
    return status;
}

/* Whether what cannot be decoded was recorded after the run was opened: its definitions may have come
 * since. */
static bool is_stale(const struct tape_stream *stream)
{
    const size_t done = stream->at ? (size_t)(stream->at - stream->first) : 0;
    return stream->live &&
           stream->base + done * sizeof *stream->at >= stream->file->header.committed;
}

enum lull_events_state lull_tape_stream_state(const void *opened)
{
    const struct tape_stream *stream = opened;
    if (!stream->live || !stream->at)
        return LULL_EVENTS_ENDED;
    return stream->state;
}

static lull_status read_record_events(struct tape_stream *stream, struct lull_event *events,
                                      size_t capacity, size_t *ret_count, struct lull_error *err)
{
    struct tape_out out = {events, 0};
    struct lull_error wrong;
    stream->n_readings = 0;
    *ret_count = 0;
    if (stream->state == LULL_EVENTS_STALE)
        return LULL_OK;
    if (stream->begins_late)
        begin_in_ring(stream, &out);
    lull_status status = decode_some(stream, capacity - 1, &out, &wrong);
    if (status == LULL_OK)
        status = check_event_times(stream, events, out.count, &wrong);
    if (!stream->first && !stream->damaged)
        end_at_damage(stream, &out); /* the location was left out when the tape was opened */
    if (status == LULL_ERR_FORMAT && is_stale(stream)) {
        out.count = count_in_run(stream, events, out.count);
        stream->state = LULL_EVENTS_STALE;
        status = LULL_OK;
    }
    if (status != LULL_OK) {
        status = lull_trace_leave_out(stream->trace, stream->location, status, &wrong);
        if (status != LULL_OK)
            return lull_fail(err, status, "%s", wrong.text);
        end_at_damage(stream, &out);
    }
    if (out.count > 0)
        stream->last_time = events[out.count - 1].time;
    *ret_count = out.count;
    return LULL_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Samples stand in a part of the file for themselves. They are joined with the events of records in
 * the order of time: a sample comes behind the events of its time. */

enum { JOINED_EVENTS = 512 };

/* Whether samples that come behind all records count: not where later records are missing, because
 * nobody knows then what the thread did. */
static bool has_samples_behind(const struct tape_stream *stream)
{
    const unsigned stops = LULL_TAPE_BUDGET_REACHED | LULL_TAPE_WRITE_FAILED | LULL_TAPE_PROFILE;
    return !stream->damaged && !(stream->file->header.flags & stops);
}

/* The next event of a record in *ret_record, and the next sample in *ret_sample; each is NULL where
 * there is none. */
static lull_status see_both(struct tape_stream *stream, const struct lull_event **ret_record,
                            const struct lull_event **ret_sample, struct lull_error *err)
{
    struct tape_joining *joining = stream->joining;
    lull_status status = LULL_OK;
    if (joining->at == joining->count && !joining->ended) {
        joining->at = 0;
        status = read_record_events(stream, joining->events, JOINED_EVENTS, &joining->count, err);
        joining->ended = status != LULL_OK || joining->count == 0;
    }
    *ret_record = joining->at < joining->count ? &joining->events[joining->at] : NULL;
    *ret_sample =
        *ret_record || has_samples_behind(stream) ? lull_tape_samples_next(joining->samples) : NULL;
    return status;
}

/* Whether all events of records in memory have been handed out, and there may be more. Readings of
 * counters live until more are read. */
static bool needs_more_records(const struct tape_joining *joining)
{
    return joining->at == joining->count && !joining->ended;
}

static lull_status read_joined(struct tape_stream *stream, struct lull_event *events,
                               size_t capacity, size_t *ret_count, struct lull_error *err)
{
    struct tape_joining *joining = stream->joining;
    size_t count = 0;
    while (count < capacity && !(count > 0 && needs_more_records(joining))) {
        const struct lull_event *record, *sample;
        lull_status status = see_both(stream, &record, &sample, err);
        if (status != LULL_OK)
            return status;
        if (!record && !sample)
            break;
        if (record && (!sample || record->time <= sample->time)) {
            events[count++] = *record;
            joining->at++;
        } else {
            events[count++] = *sample;
            lull_tape_samples_take(joining->samples);
        }
    }
    *ret_count = count;
    return LULL_OK;
}

lull_status lull_tape_stream_read(void *opened, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err)
{
    struct tape_stream *stream = opened;
    return stream->joining ? read_joined(stream, events, capacity, ret_count, err)
                           : read_record_events(stream, events, capacity, ret_count, err);
}

static lull_status begin_joining(struct tape_stream *stream, struct lull_error *err)
{
    struct tape_samples *samples = NULL;
    lull_status status = LULL_OK;
    if (tape_wanted(stream, LULL_EVENT_SAMPLE) && stream->trace->events != LULL_EVENTS_NONE &&
        !stream->trace->live)
        status =
            lull_tape_samples_open(stream->trace, stream->location, stream->source, &samples, err);
    if (status != LULL_OK || !samples)
        return status;
    stream->joining = calloc(1, sizeof *stream->joining);
    if (stream->joining)
        stream->joining->events = malloc(JOINED_EVENTS * sizeof *stream->joining->events);
    if (stream->joining && stream->joining->events) {
        stream->joining->samples = samples;
        return LULL_OK;
    }
    lull_tape_samples_close(samples);
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
}

static void end_joining(struct tape_stream *stream)
{
    if (stream->joining) {
        lull_tape_samples_close(stream->joining->samples);
        free(stream->joining->events);
    }
    free(stream->joining);
}

/* ---- from begin to end ----------------------------------------------------------------------- */

/* A part of the records of each stream is in memory, a chunk at most. Mapped files would need no
 * copies, but their pages would be mapped and unmapped, which costs more: for that the system
 * stops all cores of the process. Where many streams are open, parts are smaller, so that all
 * together take a few times IN_SIGHT bytes, or a page each. Of the streams whose processes have
 * files of their own, the first MOST_OPEN_FILES keep their files open; the others open them for
 * each part. */
enum { IN_SIGHT = 1 << 26, LEAST_PART = 4096, MOST_OPEN_FILES = 128 };

static atomic_uint streams; /* of all tapes that this process reads */

static size_t part_size(uint32_t n)
{
    size_t size = LULL_TAPE_CHUNK;
    while (size > LEAST_PART && size * n > IN_SIGHT)
        size /= 2;
    return size;
}

/* Bytes of memory for a part of a stream's records: no more than there are records, because
 * thousands of streams may be open. Packed records are decoded by whole chunks. */
static size_t room_of(const struct tape_stream *stream, uint32_t n)
{
    const bool packed = stream->source && stream->source->packed;
    const size_t most = packed ? LULL_TAPE_CHUNK : part_size(n), line = 64;
    const uint64_t all = (stream->file->header.committed + line - 1) / line * line;
    if (stream->live)
        return most;
    return all == 0 ? line : all < most ? (size_t)all : most;
}

static lull_status no_memory_for_stream(const struct tape_stream *stream, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
}

static lull_status copy_records(struct tape_stream *stream, struct lull_error *err)
{
    const uint64_t size = stream->file->header.committed;
    stream->part = aligned_alloc(64, (size + 64) / 64 * 64);
    if (!stream->part)
        return no_memory_for_stream(stream, err);
    stream->first = stream->part;
    stream->end = stream->first + size / sizeof *stream->first;
    stream->next = size;
    return lull_tape_copy_records(stream->trace, stream->file, stream->part, err);
}

static lull_status open_source(struct tape_stream *stream, struct lull_error *err)
{
    stream->source = malloc(sizeof *stream->source);
    if (!stream->source)
        return no_memory_for_stream(stream, err);
    stream->source->fd = -1;
    return lull_tape_open_records(stream->trace, stream->file, stream->source, err);
}

/* Whether records may come while the run is read. */
static bool is_recorded(const struct tape_stream *stream)
{
    const unsigned flags = stream->file->header.flags;
    return stream->trace->live && flags & LULL_TAPE_TAILED && !(flags & LULL_TAPE_CLOSED);
}

static lull_status open_records(struct tape_stream *stream, struct lull_error *err)
{
    const uint32_t n = atomic_fetch_add(&streams, 1) + 1;
    lull_status status = LULL_OK;
    stream->counted = true;
    if (is_recorded(stream)) {
        status = lull_tape_live_open(stream->trace, stream->location, &stream->live, err);
        stream->state = LULL_EVENTS_WAIT;
    } else if (lull_tape_may_give_way(stream->trace, stream->file)) {
        return copy_records(stream, err);
    } else if (!stream->file->has_own_file || n <= MOST_OPEN_FILES)
        status = open_source(stream, err);
    if (status != LULL_OK)
        return status;
    stream->room = room_of(stream, n);
    stream->part = aligned_alloc(64, stream->room);
    stream->first = stream->end = stream->part;
    return stream->part ? LULL_OK : no_memory_for_stream(stream, err);
}

lull_status lull_tape_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    lull_status status = lull_tape_need(trace, location, err);
    if (status != LULL_OK)
        return status;
    struct tape_stream *stream = calloc(1, sizeof *stream);
    enum { READINGS = 1024 };
    if (stream && trace->n_counters > 0) {
        stream->readings = malloc(READINGS * sizeof *stream->readings);
        stream->readings_capacity = READINGS;
    }
    if (!stream || (trace->n_counters > 0 && !stream->readings)) {
        free(stream);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    }
    if (trace->n_counters == 0)
        stream->readings_capacity = MOST_READINGS; /* no counter can be valid */
    stream->trace = trace;
    stream->data = data;
    stream->file = &data->files[location];
    stream->mask = mask;
    stream->location = location;
    const uint64_t followed = LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
                              LULL_MASK(LULL_EVENT_COLLECTIVE_END);
    const uint64_t regions =
        LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) | LULL_MASK(LULL_EVENT_CALL);
    stream->requests_matter = (mask & followed) != 0;
    stream->has_common = (mask & regions) == regions;
    stream->common = common_table_for(stream);
    stream->ticks = stream->file->clock->n_segments > 0;
    if (stream->file->left_out) {
        *ret_stream = stream;
        return LULL_OK;
    }
    status = open_records(stream, err);
    if (status == LULL_OK)
        status = begin_joining(stream, err);
    if (status != LULL_OK) {
        lull_tape_stream_close(stream);
        return status;
    }
    stream->at = stream->first;
    stream->joins = stream->begins_late = stream->file->lost > 0;
    *ret_stream = stream;
    return LULL_OK;
}

void lull_tape_stream_close(void *opened)
{
    struct tape_stream *stream = opened;
    atomic_fetch_sub(&streams, stream->counted);
    if (stream->source)
        lull_tape_source_close(stream->source);
    free(stream->source);
    free(stream->part);
    free(stream->requests.table);
    free(stream->readings);
    free(stream->shapes);
    end_joining(stream);
    lull_tape_live_close(stream->live);
    free(stream);
}
