/* Walking the records of one location in its mapped file. */
#include "trace/format/tape/read/stream.h"
#include "tape/encode.h"

#include <stdlib.h>
#include <sys/mman.h>

lull_status lull_tape_bad_record(const struct lull_stream *stream, const char *what,
                                 unsigned long long value, struct lull_error *err)
{
    char path[4096];
    uint64_t offset = (uint64_t)((const uint8_t *)stream->at - stream->mapping.data);
    if (stream->file->packed)
        offset = lull_tape_offset_of(stream->file, offset - LULL_TAPE_HEADER_SIZE);
    return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %llu: %s %llu",
                     lull_tape_file_path(stream->trace, stream->file, path, sizeof path),
                     (unsigned long long)offset, what, value);
}

lull_status lull_tape_process_of(const struct lull_stream *stream, int32_t peer, uint32_t comm,
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

/* ---- the common records -------------------------------------------------------------------------
 *
 * Most of a tape are regions, calls and operations. They are decoded in a loop of their own: a
 * table says, by the lowest ten bits of a record's head (kind and extra), which event a record
 * makes, that it is to be passed over, or that it needs the long way. */

enum { PREFETCH_SLOTS = 128, MOST_READINGS = 2 * LULL_TAPE_MOST_EXTRA /* of one record */ };
enum { LONG_WAY, PASS_OVER, OPERATION, CALL_OF_MPI, REGION_EVENT /* + enum lull_event_kind */ };
enum { MORE_SLOTS = 0x80 }; /* flag of a REGION_EVENT whose record has more than one slot */

static void make_common_table(struct lull_stream *stream)
{
    const uint64_t transfers = LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO);
    uint8_t *table = stream->common;
    table[lull_tape_head(LULL_TAPE_ENTER, 0, 0)] = REGION_EVENT + LULL_EVENT_ENTER;
    table[lull_tape_head(LULL_TAPE_LEAVE, 0, 0)] = REGION_EVENT + LULL_EVENT_LEAVE;
    table[lull_tape_head(LULL_TAPE_CALL, 0, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    if (!stream->requests_matter)
        table[lull_tape_head(LULL_TAPE_CALL_WAIT, 0, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    table[lull_tape_head(LULL_TAPE_CALL_LIKE, 0, 0)] = CALL_OF_MPI;
    if (stream->requests_matter && stream->file->header.flags & LULL_TAPE_SHARED_IDS) {
        table[lull_tape_head(LULL_TAPE_MESSAGE, 2, 0)] = OPERATION;
        table[lull_tape_head(LULL_TAPE_COLLECTIVE, 2, 0)] = OPERATION;
    }
    for (unsigned kind = LULL_TAPE_CALL_SEND; kind <= LULL_TAPE_CALL_SENDRECV; kind++)
        for (unsigned extra = 1; stream->requests_matter && extra <= LULL_TAPE_MOST_EXTRA; extra++)
            if (kind != LULL_TAPE_CALL_WAIT) /* completions may need more room than there is */
                table[lull_tape_head(kind, extra, 0)] = CALL_OF_MPI;
    for (unsigned extra = 1; extra <= LULL_TAPE_MOST_EXTRA; extra++) {
        if (!(stream->mask & LULL_MASK(LULL_EVENT_COUNTERS)))
            table[lull_tape_head(LULL_TAPE_COUNTS, extra, 0)] = PASS_OVER;
        if (!(stream->mask & transfers))
            table[lull_tape_head(LULL_TAPE_TRANSFER, extra, 0)] = PASS_OVER;
        if (stream->requests_matter)
            continue;
        table[lull_tape_head(LULL_TAPE_MESSAGE, extra, 0)] = PASS_OVER;
        table[lull_tape_head(LULL_TAPE_COLLECTIVE, extra, 0)] = PASS_OVER;
        table[lull_tape_head(LULL_TAPE_COMPLETE, extra, 0)] = PASS_OVER;
        for (unsigned kind = LULL_TAPE_CALL_SEND; kind <= LULL_TAPE_CALL_SENDRECV; kind++)
            table[lull_tape_head(kind, extra, 0)] = MORE_SLOTS | (REGION_EVENT + LULL_EVENT_CALL);
    }
}

/* The part of a clock in which no segment changes, or plain ns. Unsigned, see tape_ns_of. */
struct plain_clock {
    uint64_t base_ticks, limit, multiplier, base_ns;
    unsigned shift;
};

static struct plain_clock plain_clock_of(const struct lull_stream *stream)
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

static inline lull_status decode_common_loop(struct lull_stream *stream, struct tape_out *out,
                                             size_t capacity, bool ticks, struct lull_error *err)
{
    const struct plain_clock clock = plain_clock_of(stream);
    const struct lull_tape_ids *regions = &stream->file->ids->maps[LULL_TAPE_MAP_REGION];
    const uint32_t *index = regions->index;
    const size_t n_regions = regions->count;
    const uint8_t *common = stream->common;
    const union lull_tape_slot *at = stream->at;
    size_t done = (size_t)(at - stream->first) * sizeof *at;
    const union lull_tape_slot *limit =
        at + (LULL_TAPE_CHUNK - done % LULL_TAPE_CHUNK) / sizeof *at;
    if (limit > stream->end)
        limit = stream->end;
    struct lull_event *event = out->events + out->count;
    const struct lull_event *full = out->events + capacity;
    while (at < limit && event < full) {
        /* The hardware's prefetcher stops at every page of the mapping. */
        __builtin_prefetch(at + PREFETCH_SLOTS);
        const uint32_t head = at->record.head, value = at->record.value;
        const uint64_t time = at->record.time;
        const uint8_t way = common[head & 0x3ff];
        const uint32_t id = lull_tape_id_of(head);
        const union lull_tape_slot *next = at + 1;
        if (way < REGION_EVENT || way & MORE_SLOTS) {
            next += lull_tape_extra_of(head);
            if (way == LONG_WAY || next > limit)
                break;
            if (way == PASS_OVER) {
                at = next;
                continue;
            }
            if (way == CALL_OF_MPI) {
                stream->at = at;
                out->count = (size_t)(event - out->events);
                lull_status status = lull_tape_decode_call(stream, lull_tape_kind_of(head),
                                                           lull_tape_extra_of(head), out, err);
                if (status != LULL_OK)
                    return status;
                event = out->events + out->count;
                at = next;
                continue;
            }
            if (way == OPERATION) {
                if (ticks && (time < clock.base_ticks || time >= clock.limit))
                    break;
                const int made =
                    lull_tape_decode_operation(stream, at, plain_ns(&clock, ticks, time), event);
                if (made < 0)
                    break;
                event += made;
                at = next;
                continue;
            }
            if (lull_tape_is_shaped(lull_tape_kind_of(head)) && id < n_regions) {
                lull_status status = lull_tape_keep_region(stream, at, index[id], err);
                if (status != LULL_OK)
                    return status;
            }
        }
        if (id >= n_regions || value == LULL_TAPE_OPEN)
            break;
        if (ticks &&
            (time < clock.base_ticks || time >= clock.limit || clock.limit - time <= value))
            break;
        const uint32_t region = index[id];
        if (region == LULL_NONE)
            break;
        const int64_t begin = plain_ns(&clock, ticks, time);
        event->time = begin;
        event->kind = (uint8_t)((way & ~MORE_SLOTS) - REGION_EVENT);
        event->op = 0;
        event->reserved = 0;
        event->id = region;
        event->duration =
            ticks ? (int64_t)((uint64_t)plain_ns(&clock, ticks, time + value) - (uint64_t)begin)
                  : value;
        event++;
        at = next;
    }
    out->count = (size_t)(event - out->events);
    stream->at = at;
    return LULL_OK;
}

static lull_status decode_common(struct lull_stream *stream, struct tape_out *out, size_t capacity,
                                 struct lull_error *err)
{
    return stream->ticks ? decode_common_loop(stream, out, capacity, true, err)
                         : decode_common_loop(stream, out, capacity, false, err);
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* A process that died inside a call left its record open behind the committed ones. */
static void decode_open_call(struct lull_stream *stream, struct tape_out *out)
{
    const struct lull_tape_file *file = stream->file;
    stream->at = NULL;
    if (file->open_region != LULL_NONE && tape_wanted(stream, LULL_EVENT_ENTER))
        tape_add(out, LULL_EVENT_ENTER, tape_ns_of(stream, file->open_time), file->open_region);
}

/* A region that is open at the begin of a chunk of a ring. */
static lull_status decode_opened(struct lull_stream *stream, struct tape_out *out,
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

/* The rest of what is to be known there. */
static void decode_resume(struct lull_stream *stream, struct tape_out *out)
{
    if (!stream->joins)
        return;
    stream->joins = false;
    stream->requests.next = stream->first_request = stream->at[1].u64[0];
    if (stream->at->record.value == 0 && tape_wanted(stream, LULL_EVENT_MEASURE_ON))
        tape_add(out, LULL_EVENT_MEASURE_ON, tape_ns_of(stream, stream->at->record.time), LULL_NONE)
            ->number = 0;
}

/* What was not kept is as if it had not been measured. */
static void begin_in_ring(struct lull_stream *stream, struct tape_out *out)
{
    stream->begins_late = false;
    if (tape_wanted(stream, LULL_EVENT_MEASURE_OFF))
        tape_add(out, LULL_EVENT_MEASURE_OFF, tape_ns_of(stream, stream->file->life_begin),
                 LULL_NONE)
            ->number = 0;
}

static lull_status decode_one(struct lull_stream *stream, struct tape_out *out,
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
               kind == LULL_TAPE_CALL_LIKE) {
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

/* Keeps about WINDOW bytes of the file mapped in: what has been read is given back, so that memory
 * does not grow with the length of the trace, and what comes is asked for at once, which costs
 * less than a fault for every few pages. Both are hints; without them all works as well. */
static void slide_window(struct lull_stream *stream)
{
    enum { WINDOW = 1 << 20 };
    if (!stream->at)
        return;
    size_t done = (size_t)((const uint8_t *)stream->at - stream->mapping.data);
    if (done < stream->window || done >= stream->in_file)
        return;
    uint8_t *base = (uint8_t *)(uintptr_t)stream->mapping.data;
    size_t begin = done / WINDOW * WINDOW;
    size_t left = stream->in_file - begin;
    if (begin >= WINDOW)
        madvise(base + begin - WINDOW, WINDOW, MADV_DONTNEED);
#ifdef MADV_POPULATE_READ
    madvise(base + begin, left < WINDOW ? left : WINDOW, MADV_POPULATE_READ);
#endif
    stream->window = begin + (left < WINDOW ? left : WINDOW);
}

/* The scan sees to it that time runs forward, and that a call ends before the next region or call
 * begins. So the first event, the last one and the last of these say that all lie in the run. */
static lull_status check_block(const struct lull_stream *stream, const struct lull_event *events,
                               size_t count, struct lull_error *err)
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
static size_t count_in_run(const struct lull_stream *stream, const struct lull_event *events,
                           size_t count)
{
    size_t i = 0;
    while (i < count && tape_in_run(stream, events[i].time,
                                    events[i].kind == LULL_EVENT_CALL ? events[i].duration : 0))
        i++;
    return i;
}

/* The location ends where it is damaged: with what was good, and the measurement off. */
static void end_at_damage(struct lull_stream *stream, struct tape_out *out)
{
    stream->at = NULL;
    stream->waiting = (struct tape_waiting){0};
    stream->damaged = true;
    out->count = count_in_run(stream, out->events, out->count);
    int64_t time = out->count > 0 ? out->events[out->count - 1].time : stream->last_time;
    if (tape_wanted(stream, LULL_EVENT_MEASURE_OFF))
        tape_add(out, LULL_EVENT_MEASURE_OFF, time, LULL_NONE)->number = 0;
}

enum { MOST_PER_RECORD = 3 };

static lull_status decode_some(struct lull_stream *stream, size_t capacity, struct tape_out *out,
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
        if (stream->at == stream->end) {
            decode_open_call(stream, out);
            break;
        }
        if (stream->has_common)
            status = decode_common(stream, out, capacity - MOST_PER_RECORD, err);
        if (status != LULL_OK || stream->at == stream->end ||
            out->count + MOST_PER_RECORD >= capacity)
            continue;
        if (stream->n_readings + MOST_READINGS > stream->readings_capacity)
            break;
        status = decode_one(stream, out, err);
    }
    return status;
}

lull_status lull_tape_stream_read(struct lull_stream *stream, struct lull_event *events,
                                  size_t capacity, size_t *ret_count, struct lull_error *err)
{
    struct tape_out out = {events, 0};
    struct lull_error wrong;
    stream->n_readings = 0;
    slide_window(stream);
    if (stream->begins_late)
        begin_in_ring(stream, &out);
    lull_status status = decode_some(stream, capacity - 1, &out, &wrong);
    if (status == LULL_OK)
        status = check_block(stream, events, out.count, &wrong);
    if (stream->mapping.data == NULL && !stream->damaged)
        end_at_damage(stream, &out); /* it was left out when the tape was opened */
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

lull_status lull_tape_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  struct lull_stream **ret_stream, struct lull_error *err)
{
    const struct lull_tape_data *data = trace->format_data;
    struct lull_stream *stream = calloc(1, sizeof *stream);
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
    make_common_table(stream);
    stream->ticks = stream->file->clock->n_segments > 0;
    if (stream->file->left_out) {
        *ret_stream = stream;
        return LULL_OK;
    }
    lull_status status =
        lull_tape_map(trace, stream->file, &stream->mapping, &stream->in_file, err);
    if (status != LULL_OK) {
        lull_tape_stream_close(stream);
        return status;
    }
    stream->first = (const void *)(stream->mapping.data + LULL_TAPE_HEADER_SIZE);
    stream->at = stream->first;
    stream->end = stream->first + stream->file->header.committed / sizeof *stream->first;
    stream->joins = stream->begins_late = stream->file->lost > 0;
    *ret_stream = stream;
    return LULL_OK;
}

void lull_tape_stream_close(struct lull_stream *stream)
{
    lull_unmap(&stream->mapping);
    free(stream->requests.table);
    free(stream->readings);
    free(stream->shapes);
    free(stream);
}
