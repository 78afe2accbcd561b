/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding the records of MPI calls, and those that are neither regions nor calls. */
#include "base/mix.h"
#include "tape/records.h"
#include "trace/format/tape/read/tape_stream.h"

#include <stdlib.h>

/* ==== calls =================================================================================== */

/* Decoding MPI calls with their messages, requests and completions. */

enum { MOST_REQUESTS = 1 << 24, FIRST_REQUESTS_BITS = 3 };

/* ---- requests -----------------------------------------------------------------------------------
 *
 * A hash table with linear probing holds the open requests: its memory follows their number,
 * however long one of them stays open. It is not the hash table of base, because that cannot remove
 * single entries. */

static uint64_t home_of(const struct tape_requests *requests, uint64_t number)
{
    return lull_spread(number) >> (64 - requests->bits);
}

static uint64_t last_slot(const struct tape_requests *requests)
{
    return (UINT64_C(1) << requests->bits) - 1;
}

static void insert_request(struct tape_requests *requests, const struct tape_request *request)
{
    uint64_t at = home_of(requests, request->number);
    while (requests->table[at].record)
        at = (at + 1) & last_slot(requests);
    requests->table[at] = *request;
    requests->n_open++;
}

static bool enlarge_requests(struct tape_requests *requests)
{
    struct tape_requests larger = {
        .bits = requests->table ? requests->bits + 1 : FIRST_REQUESTS_BITS, .next = requests->next};
    larger.table = calloc((size_t)1 << larger.bits, sizeof *larger.table);
    if (!larger.table)
        return false;
    for (uint64_t i = 0; requests->table && i <= last_slot(requests); i++)
        if (requests->table[i].record)
            insert_request(&larger, &requests->table[i]);
    free(requests->table);
    *requests = larger;
    return true;
}

static bool open_request(struct tape_requests *requests, struct tape_request *request)
{
    bool full = !requests->table || requests->n_open * 4 > last_slot(requests) * 3;
    if (requests->n_open >= MOST_REQUESTS || (full && !enlarge_requests(requests)))
        return false;
    request->number = requests->next++;
    insert_request(requests, request);
    return true;
}

lull_status lull_tape_open_request(struct tape_stream *stream, struct tape_request *request,
                                   struct lull_error *err)
{
    if (open_request(&stream->requests, request))
        return LULL_OK;
    if (stream->requests.n_open < MOST_REQUESTS)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    return lull_tape_bad_record(stream, "too many open requests:", stream->requests.n_open, err);
}

/* The open request with that number; NULL: it is not open. Numbers in records have 32 bits and name
 * one of the last 2^32 requests. */
static struct tape_request *find_request(const struct tape_requests *requests, uint32_t number)
{
    uint64_t back = (uint64_t)(uint32_t)((uint32_t)requests->next - 1 - number) + 1;
    if (back > requests->next || !requests->table)
        return NULL;
    uint64_t full = requests->next - back, at = home_of(requests, full);
    for (; requests->table[at].record; at = (at + 1) & last_slot(requests))
        if (requests->table[at].number == full)
            return &requests->table[at];
    return NULL;
}

/* Whether the request was opened by a record that was not kept. */
static bool is_from_before(const struct tape_stream *stream, uint32_t number)
{
    const uint64_t back = (uint64_t)(uint32_t)((uint32_t)stream->requests.next - 1 - number) + 1;
    return stream->file->lost > 0 && back > stream->requests.next - stream->first_request;
}

/* Removes a request from the table, and closes the gap with the requests behind it that belong
 * further to the front. */
static void complete_request(struct tape_requests *requests, struct tape_request *request)
{
    struct tape_request *table = requests->table;
    const uint64_t last = last_slot(requests);
    uint64_t gap = (uint64_t)(request - table);
    for (uint64_t at = (gap + 1) & last; table[at].record; at = (at + 1) & last) {
        uint64_t home = home_of(requests, table[at].number);
        if (((at - home) & last) >= ((at - gap) & last)) {
            table[gap] = table[at];
            gap = at;
        }
    }
    table[gap].record = 0;
    requests->n_open--;
}

/* Makes *event say that `request` is complete; its matched values are filled in already. */
static void fill_completion(struct lull_event *event, const struct tape_request *request,
                            int64_t time)
{
    event->time = time;
    event->id = request->comm;
    event->op = 0;
    if (request->record == LULL_TAPE_CALL_ICOLLECTIVE) {
        event->kind = LULL_EVENT_COLLECTIVE_END;
        event->op = request->op;
        event->collective.sent = request->bytes;
        event->collective.received = request->received;
        event->collective.root = request->peer;
        event->collective.request = request->number;
        return;
    }
    event->kind = request->record == LULL_TAPE_CALL_ISEND ? LULL_EVENT_SEND_DONE : LULL_EVENT_RECV;
    event->message.request = request->number;
    event->message.bytes = request->peer == LULL_PROC_NULL ? 0 : request->bytes;
    event->message.peer = request->peer;
    event->message.tag = request->tag;
}

/* Fills in what a receive has matched. */
static lull_status match(const struct tape_stream *stream, const union lull_tape_slot *slot,
                         struct tape_request *request, struct lull_error *err)
{
    bool large = slot->u32[3] & LULL_TAPE_LARGE;
    request->tag = slot->i32[2];
    request->bytes = large ? slot[1].u64[0] : slot->u32[3] & ~(LULL_TAPE_MATCHED | LULL_TAPE_LARGE);
    return lull_tape_process_of(stream, slot->i32[1], request->comm, &request->peer, err);
}

void lull_tape_begin_wait(struct tape_stream *stream, unsigned extra, int64_t time)
{
    struct tape_waiting *waiting = &stream->waiting;
    *waiting =
        (struct tape_waiting){.slot = stream->at + 1, .end = stream->at + 1 + extra, .time = time};
    if (extra > 0)
        return;
    waiting->all.u32[0] = (uint32_t)(stream->requests.next - stream->requests.n_open);
    waiting->all.u32[1] = (uint32_t)stream->requests.n_open;
    waiting->slot = &waiting->all;
    waiting->end = waiting->slot + 1;
}

/* Writes the completions of the CALL_WAIT in progress as far as they fit. */
lull_status lull_tape_continue_wait(struct tape_stream *stream, struct lull_event *events,
                                    size_t capacity, size_t *count, struct lull_error *err)
{
    struct tape_waiting *waiting = &stream->waiting;
    while (waiting->slot < waiting->end && *count < capacity) {
        const uint32_t *fields = waiting->slot->u32;
        bool matched = fields[3] & LULL_TAPE_MATCHED;
        bool large = matched && fields[3] & LULL_TAPE_LARGE;
        bool cancelled = fields[3] == LULL_TAPE_CANCELLED, range = fields[3] == 0;
        bool freed = fields[3] == LULL_TAPE_FREED;
        uint32_t number = fields[0] + (range ? waiting->done : 0);
        struct tape_request *request =
            range && fields[1] == 0 ? NULL : find_request(&stream->requests, number);
        if ((large && waiting->slot + 1 >= waiting->end) ||
            !(matched || cancelled || freed || range) ||
            (!request && !(range && fields[1] == 0) && !is_from_before(stream, number)))
            return lull_tape_bad_record(stream,
                                        "wait completes a request that is not open:", number, err);
        lull_status status = LULL_OK;
        if (matched && request)
            status = match(stream, waiting->slot, request, err);
        if (status != LULL_OK)
            return status;
        if (request) {
            struct lull_event *event = &events[*count]; /* is kept if it is wanted, see below */
            fill_completion(event, request, waiting->time);
            if (cancelled)
                event->kind = LULL_EVENT_REQUEST_CANCELLED;
            else if (freed)
                event->kind = LULL_EVENT_REQUEST_FREED;
            complete_request(&stream->requests, request);
            *count += tape_wanted(stream, event->kind);
        }
        if (!request && range && fields[1] > 0) { /* passes over all requests from before */
            const uint32_t before = (uint32_t)stream->first_request - number,
                           left = fields[1] - waiting->done;
            waiting->done += (before < left ? before : left) - 1;
        }
        if (!range || ++waiting->done >= fields[1]) {
            waiting->slot += 1 + large;
            waiting->done = 0;
        }
    }
    return LULL_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void add_call_message(struct tape_stream *stream, struct tape_out *out, unsigned kind,
                             int64_t time, const struct tape_request *message)
{
    if (!tape_wanted(stream, kind))
        return;
    struct lull_event *event = tape_add(out, kind, time, message->comm);
    event->message.bytes = message->bytes;
    event->message.peer = message->peer;
    event->message.tag = message->tag;
    event->message.request = message->number;
}

static void add_collective(struct tape_stream *stream, struct tape_out *out, unsigned kind,
                           int64_t time, const struct tape_request *collective)
{
    if (!tape_wanted(stream, kind))
        return;
    struct lull_event *event = tape_add(out, kind, time, collective->comm);
    event->op = collective->op;
    event->collective.sent = collective->bytes;
    event->collective.received = collective->received;
    event->collective.root = collective->peer;
    event->collective.request = collective->number;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The message in one slot. */
static lull_status message_of(const struct tape_stream *stream, const union lull_tape_slot *slot,
                              struct tape_request *ret_message, struct lull_error *err)
{
    uint32_t id = (uint32_t)(slot->u64[1] >> 40);
    uint32_t comm = tape_index_of(stream, LULL_TAPE_MAP_COMM, id);
    if (comm == LULL_NONE)
        return lull_tape_bad_record(stream, "unknown communicator", id, err);
    *ret_message = (struct tape_request){.bytes = slot->u64[1] & LULL_TAPE_BYTES_MASK,
                                         .tag = slot->i32[1],
                                         .comm = comm,
                                         .number = LULL_NO_REQUEST};
    return lull_tape_process_of(stream, slot->i32[0], comm, &ret_message->peer, err);
}

static lull_status collective_of(const struct tape_stream *stream, uint32_t region,
                                 const union lull_tape_slot *slot,
                                 struct tape_request *ret_collective, struct lull_error *err)
{
    uint32_t id = (uint32_t)(slot->u64[0] >> 40), root = (uint32_t)(slot->u64[1] >> 40);
    uint32_t comm = tape_index_of(stream, LULL_TAPE_MAP_COMM, id);
    if (comm == LULL_NONE)
        return lull_tape_bad_record(stream, "unknown communicator", id, err);
    *ret_collective = (struct tape_request){.bytes = slot->u64[0] & LULL_TAPE_BYTES_MASK,
                                            .received = slot->u64[1] & LULL_TAPE_BYTES_MASK,
                                            .number = LULL_NO_REQUEST,
                                            .peer = LULL_ANY,
                                            .comm = comm,
                                            .op = stream->trace->regions[region].collective,
                                            .record = LULL_TAPE_CALL_ICOLLECTIVE};
    if (root == LULL_TAPE_NO_ROOT)
        return LULL_OK;
    return lull_tape_process_of(stream, (int32_t)root, comm, &ret_collective->peer, err);
}

/* The place for the shape of a record of a shaped kind with all its slots; NULL: no memory. */
static struct tape_shape *find_shape(struct tape_stream *stream, const union lull_tape_slot *at)
{
    if (!stream->shapes)
        stream->shapes = calloc(LULL_TAPE_SHAPES, sizeof *stream->shapes);
    return stream->shapes ? &stream->shapes[lull_tape_shape_of_record(at)] : NULL;
}

static lull_status no_memory_for_requests(const struct tape_stream *stream, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
}

lull_status lull_tape_keep_region(struct tape_stream *stream, const union lull_tape_slot *at,
                                  uint32_t region, struct lull_error *err)
{
    const unsigned kind = lull_tape_kind_of(at->record.head);
    if (lull_tape_extra_of(at->record.head) < lull_tape_shaped_slots(kind))
        return LULL_OK;
    struct tape_shape *shape = find_shape(stream, at);
    if (!shape)
        return no_memory_for_requests(stream, err);
    shape->kind = (uint8_t)kind;
    shape->region = region;
    return LULL_OK;
}

/* Makes the shape of the record at stream->at from its slots. */
static lull_status make_shape(struct tape_stream *stream, unsigned kind, uint32_t region,
                              const struct tape_shape **ret_shape, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    struct tape_shape *shape = find_shape(stream, stream->at);
    if (!shape)
        return no_memory_for_requests(stream, err);
    shape->kind = (uint8_t)kind;
    shape->region = region;
    *ret_shape = shape;
    if (kind == LULL_TAPE_CALL_COLLECTIVE || kind == LULL_TAPE_CALL_ICOLLECTIVE)
        return collective_of(stream, region, slot, &shape->posted, err);
    lull_status status = message_of(stream, slot, &shape->posted, err);
    shape->posted.record = (uint8_t)kind;
    if (status != LULL_OK || kind != LULL_TAPE_CALL_SENDRECV)
        return status;
    struct tape_request received;
    status = message_of(stream, slot + 1, &received, err);
    if (status != LULL_OK)
        return status;
    shape->peer = received.peer;
    shape->tag = received.tag;
    shape->comm = received.comm;
    shape->bytes = received.bytes;
    return LULL_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Adds the events of what happened in a call of that shape. */
static lull_status add_operations(struct tape_stream *stream, const struct tape_shape *shape,
                                  int64_t begin, int64_t end, struct tape_out *out,
                                  struct lull_error *err)
{
    struct tape_request what = shape->posted;
    const unsigned kind = shape->kind;
    lull_status status = LULL_OK;
    if (kind == LULL_TAPE_CALL_ISEND || kind == LULL_TAPE_CALL_IRECV ||
        kind == LULL_TAPE_CALL_ICOLLECTIVE)
        status = lull_tape_open_request(stream, &what, err);
    if (status != LULL_OK)
        return status;
    switch (kind) {
    case LULL_TAPE_CALL_RECV:
        add_call_message(stream, out, LULL_EVENT_RECV, end, &what);
        break;
    case LULL_TAPE_CALL_IRECV:
        add_call_message(stream, out, LULL_EVENT_RECV_POST, begin, &what);
        break;
    case LULL_TAPE_CALL_COLLECTIVE:
        add_collective(stream, out, LULL_EVENT_COLLECTIVE_BEGIN, begin, &what);
        add_collective(stream, out, LULL_EVENT_COLLECTIVE_END, end, &what);
        break;
    case LULL_TAPE_CALL_ICOLLECTIVE:
        add_collective(stream, out, LULL_EVENT_COLLECTIVE_BEGIN, begin, &what);
        break;
    default:
        add_call_message(stream, out, LULL_EVENT_SEND, begin, &what);
        break;
    }
    if (kind == LULL_TAPE_CALL_SENDRECV) {
        what.peer = shape->peer;
        what.tag = shape->tag;
        what.comm = shape->comm;
        what.bytes = shape->bytes;
        add_call_message(stream, out, LULL_EVENT_RECV, end, &what);
    }
    return LULL_OK;
}

/* The region of the call at stream->at, and the shape that a CALL_LIKE repeats; *ret_shape NULL:
 * the call is of another kind. */
static lull_status region_of(const struct tape_stream *stream, unsigned kind, uint32_t *ret_region,
                             const struct tape_shape **ret_shape, struct lull_error *err)
{
    const uint32_t id = lull_tape_id_of(stream->at->record.head);
    const bool like = kind == LULL_TAPE_CALL_LIKE;
    *ret_shape = like ? tape_shape_like(stream, id) : NULL;
    if (like && !*ret_shape)
        return lull_tape_bad_record(stream, "call like one that there was not, shape", id, err);
    *ret_region = like ? (*ret_shape)->region : tape_index_of(stream, LULL_TAPE_MAP_REGION, id);
    if (*ret_region == LULL_NONE)
        return lull_tape_bad_record(stream, "unknown region", id, err);
    return LULL_OK;
}

/* Decodes the messages and operations of a call of a shaped kind, or of one like it. */
static lull_status decode_operations(struct tape_stream *stream, unsigned kind, unsigned extra,
                                     uint32_t region, const struct tape_shape *like, int64_t begin,
                                     int64_t end, struct tape_out *out, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (!stream->requests_matter)
        return like ? LULL_OK : lull_tape_keep_region(stream, stream->at, region, err);
    if (!like && extra < lull_tape_shaped_slots(kind))
        return lull_tape_bad_record(stream, "call without its message, kind", kind, err);
    if (!like)
        status = make_shape(stream, kind, region, &like, err);
    return status == LULL_OK ? add_operations(stream, like, begin, end, out, err) : status;
}

static uint32_t submitting_thread(const struct tape_stream *stream, uint32_t number)
{
    return lull_tape_thread_index(stream->trace, stream->trace->locations[stream->location].process,
                                  number);
}

/* The region with that id, which may be none. False: there is no such region. */
static bool submitting_call(const struct tape_stream *stream, uint32_t id, uint32_t *ret_region)
{
    *ret_region =
        id == LULL_TAPE_NO_ID ? LULL_NONE : tape_index_of(stream, LULL_TAPE_MAP_REGION, id);
    return *ret_region != LULL_NONE || id == LULL_TAPE_NO_ID;
}

/* What the call was that stands in one record with its operation. */
static lull_status decode_short_operation(struct tape_stream *stream, int64_t begin,
                                          struct tape_out *out, struct lull_error *err)
{
    const uint32_t *told = stream->at[1].u32;
    uint32_t region;
    if (!submitting_call(stream, told[2], &region))
        return lull_tape_bad_record(stream, "unknown region", told[2], err);
    if (!tape_wanted(stream, LULL_EVENT_OPERATION))
        return LULL_OK;
    struct lull_event *event = tape_add(out, LULL_EVENT_OPERATION, begin, region);
    event->operation.number = told[0];
    event->operation.bytes = told[1];
    event->operation.sequence = LULL_NO_SEQUENCE;
    event->operation.peer = LULL_ANY;
    event->operation.location = submitting_thread(stream, told[3]);
    return LULL_OK;
}

lull_status lull_tape_decode_call(struct tape_stream *stream, unsigned kind, unsigned extra,
                                  struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    const struct tape_shape *like;
    uint32_t region;
    lull_status status = region_of(stream, kind, &region, &like, err);
    if (status != LULL_OK)
        return status;
    uint64_t length = record->value;
    if (kind == LULL_TAPE_CALL_OPERATION && extra == 0)
        return lull_tape_bad_record(stream, "record is too short, kind", kind, err);
    if (kind == LULL_TAPE_CALL && extra)
        length = stream->at[1].u64[0];
    else if (extra && length == LULL_TAPE_OPEN &&
             kind != LULL_TAPE_CALL_OPERATION) /* too long for its place: in the last slot */
        length = stream->at[extra--].u64[0];
    int64_t begin = tape_ns_of(stream, record->time);
    int64_t duration = tape_duration_of(stream, record->time, begin, length);
    if (!tape_in_run(stream, begin, duration))
        return lull_tape_bad_record(stream, "call does not lie in the run, length", length, err);
    uint64_t more = kind == LULL_TAPE_CALL && extra ? stream->at[1].u64[1] : 0;
    if (more > LULL_TAPE_MOST_MERGED)
        return lull_tape_bad_record(stream, "record stands for too many calls:", more, err);
    if (tape_wanted(stream, LULL_EVENT_CALL)) {
        struct lull_event *call = tape_add(out, LULL_EVENT_CALL, begin, region);
        call->duration = duration;
        call->op = more ? LULL_SEVERAL : 0;
        call->calls = 1 + more;
    }
    if (kind == LULL_TAPE_CALL)
        return LULL_OK;
    if (kind == LULL_TAPE_CALL_OPERATION)
        return decode_short_operation(stream, begin, out, err);
    if (kind != LULL_TAPE_CALL_WAIT)
        return decode_operations(stream, kind, extra, region, like, begin, begin + duration, out,
                                 err);
    if (stream->requests_matter)
        lull_tape_begin_wait(stream, extra, begin + duration);
    return LULL_OK;
}

/* ==== records ================================================================================= */

static const uint8_t message_kinds[LULL_TAPE_MESSAGES] = {
    [LULL_TAPE_MESSAGE_SEND] = LULL_EVENT_SEND,
    [LULL_TAPE_MESSAGE_SEND_DONE] = LULL_EVENT_SEND_DONE,
    [LULL_TAPE_MESSAGE_RECV_POST] = LULL_EVENT_RECV_POST,
    [LULL_TAPE_MESSAGE_RECV] = LULL_EVENT_RECV,
    [LULL_TAPE_MESSAGE_TEST] = LULL_EVENT_REQUEST_TEST,
    [LULL_TAPE_MESSAGE_CANCELLED] = LULL_EVENT_REQUEST_CANCELLED,
    [LULL_TAPE_MESSAGE_FREED] = LULL_EVENT_REQUEST_FREED,
};

static const uint8_t number_kinds[LULL_TAPE_NUMBERS] = {
    [LULL_TAPE_NUMBER_FORK] = LULL_EVENT_FORK,
    [LULL_TAPE_NUMBER_JOIN] = LULL_EVENT_JOIN,
    [LULL_TAPE_NUMBER_TEAM_BEGIN] = LULL_EVENT_TEAM_BEGIN,
    [LULL_TAPE_NUMBER_TEAM_END] = LULL_EVENT_TEAM_END,
    [LULL_TAPE_NUMBER_THREAD_BEGIN] = LULL_EVENT_THREAD_BEGIN,
    [LULL_TAPE_NUMBER_THREAD_END] = LULL_EVENT_THREAD_END,
    [LULL_TAPE_NUMBER_TASK_CREATE] = LULL_EVENT_TASK_CREATE,
    [LULL_TAPE_NUMBER_TASK_SWITCH] = LULL_EVENT_TASK_SWITCH,
    [LULL_TAPE_NUMBER_TASK_COMPLETE] = LULL_EVENT_TASK_COMPLETE,
    [LULL_TAPE_NUMBER_LOCK_ACQUIRE] = LULL_EVENT_LOCK_ACQUIRE,
    [LULL_TAPE_NUMBER_LOCK_RELEASE] = LULL_EVENT_LOCK_RELEASE,
    [LULL_TAPE_NUMBER_MEASURE_OFF] = LULL_EVENT_MEASURE_OFF,
    [LULL_TAPE_NUMBER_MEASURE_ON] = LULL_EVENT_MEASURE_ON,
    [LULL_TAPE_NUMBER_MARKER] = LULL_EVENT_MARKER,
    [LULL_TAPE_NUMBER_THREAD_CREATE] = LULL_EVENT_THREAD_CREATE,
    [LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN] = LULL_EVENT_THREAD_WAIT_BEGIN,
    [LULL_TAPE_NUMBER_THREAD_WAIT_END] = LULL_EVENT_THREAD_WAIT_END,
    [LULL_TAPE_NUMBER_SUBMIT] = LULL_EVENT_SUBMIT,
    [LULL_TAPE_NUMBER_DEPEND] = LULL_EVENT_DEPEND,
    [LULL_TAPE_NUMBER_DEVICE_WAIT] = LULL_EVENT_DEVICE_WAIT,
};

static lull_status decode_counters(struct tape_stream *stream, int64_t time, unsigned extra,
                                   struct tape_out *out, struct lull_error *err)
{
    if (stream->trace->n_counters == 0)
        return lull_tape_bad_record(stream, "reading of an unknown counter", stream->at[1].u32[2],
                                    err);
    struct lull_counter_reading *readings = stream->readings + stream->n_readings;
    for (unsigned i = 0; i < extra; i++) {
        const union lull_tape_slot *slot = stream->at + 1 + i;
        uint32_t counter = tape_index_of(stream, LULL_TAPE_MAP_COUNTER, slot->u32[2]);
        if (counter == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown counter", slot->u32[2], err);
        readings[i] = (struct lull_counter_reading){.value = slot->u64[0], .counter = counter};
    }
    stream->n_readings += extra;
    struct lull_event *event = tape_add(out, LULL_EVENT_COUNTERS, time, 0);
    event->readings.values = readings;
    event->readings.count = extra;
    return LULL_OK;
}

/* Several readings of counters that follow each other, two in a slot. */
static lull_status decode_counts(struct tape_stream *stream, int64_t time, unsigned extra,
                                 struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t first = lull_tape_id_of(record->head), count = record->value;
    if (count == 0 || count > 2 * extra)
        return lull_tape_bad_record(stream, "number of counters that does not fit", count, err);
    struct lull_counter_reading *readings = stream->readings + stream->n_readings;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t counter = tape_index_of(stream, LULL_TAPE_MAP_COUNTER, first + i);
        if (counter == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown counter", first + i, err);
        readings[i] = (struct lull_counter_reading){.value = stream->at[1 + i / 2].u64[i % 2],
                                                    .counter = counter};
    }
    stream->n_readings += count;
    struct lull_event *event = tape_add(out, LULL_EVENT_COUNTERS, time, 0);
    event->readings.values = readings;
    event->readings.count = count;
    return LULL_OK;
}

/* STATE and FLUSH: a duration in the record or in a slot of its own. */
static lull_status decode_span(struct tape_stream *stream, unsigned kind, unsigned extra,
                               struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t id = LULL_NONE;
    if (kind == LULL_EVENT_STATE) {
        id = tape_index_of(stream, LULL_TAPE_MAP_STATE, lull_tape_id_of(record->head));
        if (id == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown state", lull_tape_id_of(record->head),
                                        err);
    }
    uint64_t length = extra ? stream->at[1].u64[0] : record->value;
    int64_t begin = tape_ns_of(stream, record->time);
    int64_t duration = tape_duration_of(stream, record->time, begin, length);
    if (!tape_in_run(stream, begin, duration))
        return lull_tape_bad_record(stream, "span does not lie in the run, length", length, err);
    tape_add(out, kind, begin, id)->duration = duration;
    return LULL_OK;
}

/* The index behind the optional id of a record; LULL_TAPE_NO_ID stays LULL_NONE. */
static lull_status optional_id(const struct tape_stream *stream, enum lull_tape_map map,
                               uint32_t *ret_index, struct lull_error *err)
{
    uint32_t id = lull_tape_id_of(stream->at->record.head);
    *ret_index = id == LULL_TAPE_NO_ID ? LULL_NONE : tape_index_of(stream, map, id);
    if (id != LULL_TAPE_NO_ID && *ret_index == LULL_NONE)
        return lull_tape_bad_record(
            stream, map == LULL_TAPE_MAP_COMM ? "unknown communicator" : "unknown marker", id, err);
    return LULL_OK;
}

/* Takes the request number of a general record; LULL_TAPE_NEXT_REQUEST opens a request. */
static lull_status take_request(struct tape_stream *stream, uint64_t number,
                                struct tape_request *request, struct lull_error *err)
{
    request->number = number;
    return number == LULL_TAPE_NEXT_REQUEST ? lull_tape_open_request(stream, request, err)
                                            : LULL_OK;
}

/* The mode of a send, from the slots behind its record; an unknown mode is taken for the standard
 * one. */
static uint8_t mode_of(const union lull_tape_slot *slot)
{
    return slot[1].u32[2] < LULL_SEND_MODES ? (uint8_t)slot[1].u32[2] : LULL_SEND_STANDARD;
}

static lull_status decode_general_message(struct tape_stream *stream, unsigned kind,
                                          struct tape_out *out, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    bool send = kind == LULL_EVENT_SEND;
    struct tape_request message = {.bytes = slot[0].u64[0],
                                   .tag = slot[1].i32[1],
                                   .record = send ? LULL_TAPE_CALL_ISEND : LULL_TAPE_CALL_IRECV};
    lull_status status = optional_id(stream, LULL_TAPE_MAP_COMM, &message.comm, err);
    if (status == LULL_OK)
        status = lull_tape_process_of(stream, slot[1].i32[0], message.comm, &message.peer, err);
    if (status == LULL_OK)
        status = take_request(stream, slot[0].u64[1], &message, err);
    if (status != LULL_OK || !tape_wanted(stream, kind))
        return status;
    struct lull_event *event =
        tape_add(out, kind, tape_ns_of(stream, stream->at->record.time), message.comm);
    event->op = send ? mode_of(slot) : 0;
    event->message.bytes = message.bytes;
    event->message.request = message.number;
    event->message.tag = message.tag;
    event->message.peer = message.peer;
    return LULL_OK;
}

static lull_status decode_general_collective(struct tape_stream *stream, unsigned kind, unsigned op,
                                             struct tape_out *out, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    struct tape_request collective = {.bytes = slot[0].u64[0],
                                      .received = slot[0].u64[1],
                                      .op = op < LULL_COLLECTIVES ? (uint8_t)op
                                                                  : LULL_COLLECTIVE_UNKNOWN,
                                      .record = LULL_TAPE_CALL_ICOLLECTIVE};
    lull_status status = optional_id(stream, LULL_TAPE_MAP_COMM, &collective.comm, err);
    if (status == LULL_OK)
        status =
            lull_tape_process_of(stream, slot[1].i32[2], collective.comm, &collective.peer, err);
    if (status == LULL_OK)
        status = take_request(stream, slot[1].u64[0], &collective, err);
    if (status != LULL_OK || !tape_wanted(stream, kind))
        return status;
    struct lull_event *event =
        tape_add(out, kind, tape_ns_of(stream, stream->at->record.time), collective.comm);
    event->op = collective.op;
    event->collective.sent = collective.bytes;
    event->collective.received = collective.received;
    event->collective.request = collective.number;
    event->collective.root = collective.peer;
    return LULL_OK;
}

/* The index of the process with that number, in the usual case that the two are equal; false: they
 * are not. */
static inline bool find_shared_process(const struct tape_stream *stream, int32_t number,
                                       int32_t *ret_process)
{
    const struct lull_trace *trace = stream->trace;
    *ret_process = number;
    if (number == LULL_ANY || number == LULL_PROC_NULL)
        return true;
    return (uint32_t)number < trace->n_processes &&
           stream->data->process_numbers[number] == (uint32_t)number;
}

int lull_tape_decode_operation(const struct tape_stream *stream, const union lull_tape_slot *at,
                               int64_t time, struct lull_event *event)
{
    const union lull_tape_slot *slot = at + 1;
    const uint32_t value = at->record.value, id = lull_tape_id_of(at->record.head);
    const bool is_message = lull_tape_kind_of(at->record.head) == LULL_TAPE_MESSAGE;
    const uint64_t request = is_message ? slot[0].u64[1] : slot[1].u64[0];
    const uint32_t comm =
        id == LULL_TAPE_NO_ID ? LULL_NONE : tape_index_of(stream, LULL_TAPE_MAP_COMM, id);
    int32_t process;
    if (request == LULL_TAPE_NEXT_REQUEST || (comm == LULL_NONE && id != LULL_TAPE_NO_ID) ||
        (is_message && value >= LULL_TAPE_MESSAGES) ||
        !find_shared_process(stream, slot[1].i32[is_message ? 0 : 2], &process))
        return -1;
    event->time = time;
    event->id = comm;
    event->op = 0;
    event->reserved = 0;
    if (is_message) {
        event->kind = message_kinds[value];
        event->op = value == LULL_TAPE_MESSAGE_SEND ? mode_of(slot) : 0;
        event->message.bytes = slot[0].u64[0];
        event->message.request = request;
        event->message.peer = process;
        event->message.tag = slot[1].i32[1];
    } else {
        const uint32_t op = value & ~(UINT32_C(1) << 31);
        event->kind = value >> 31 ? LULL_EVENT_COLLECTIVE_END : LULL_EVENT_COLLECTIVE_BEGIN;
        event->op = op < LULL_COLLECTIVES ? (uint8_t)op : LULL_COLLECTIVE_UNKNOWN;
        event->collective.sent = slot[0].u64[0];
        event->collective.received = slot[0].u64[1];
        event->collective.request = request;
        event->collective.root = process;
    }
    return tape_wanted(stream, event->kind);
}

/* Targets are process numbers, because windows have no definitions that could give ranks a meaning.
 * The target may not have been recorded. */
static lull_status decode_transfer(struct tape_stream *stream, unsigned kind, unsigned op,
                                   struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t id = lull_tape_id_of(record->head), process = LULL_NONE;
    int32_t target = stream->at[1].i32[2];
    if (op >= (kind == LULL_EVENT_RMA ? (unsigned)LULL_RMA_OPS : (unsigned)LULL_IO_OPS))
        return lull_tape_bad_record(stream, "unknown operation", op, err);
    if (target != LULL_ANY && target != LULL_PROC_NULL) {
        bool shared = stream->file->header.flags & LULL_TAPE_SHARED_IDS;
        process = shared ? lull_tape_process_index(stream->trace, (uint32_t)target)
                         : lull_tape_member_index(stream->trace, (uint32_t)target);
        if (process == LULL_NONE && (shared || stream->data->n_members == 0))
            return lull_tape_bad_record(stream, "unknown process", (uint32_t)target, err);
        target = process == LULL_NONE ? LULL_PROC_NULL : (int32_t)process;
    }
    if (id == LULL_TAPE_NO_ID)
        id = LULL_NONE;
    else if (kind == LULL_EVENT_IO) /* not known in old tapes, where files had no definitions */
        id = tape_index_of(stream, LULL_TAPE_MAP_FILE, id);
    struct lull_event *event = tape_add(out, kind, tape_ns_of(stream, record->time), id);
    event->op = (uint8_t)op;
    event->transfer.bytes = stream->at[1].u64[0];
    event->transfer.target = target;
    return LULL_OK;
}

static bool is_meeting(unsigned kind)
{
    return kind == LULL_EVENT_THREAD_WAIT_BEGIN || kind == LULL_EVENT_THREAD_WAIT_END;
}

/* Decodes the fields behind the number of a wait for threads. */
static void decode_meeting(const struct tape_stream *stream, struct lull_event *event)
{
    const union lull_tape_slot *slot = stream->at + 1;
    event->op = slot->u32[3] > 0 ? LULL_THREAD_WAIT_BARRIER : LULL_THREAD_WAIT_JOIN;
    event->meeting.threads = slot->u32[3];
    event->meeting.location = LULL_NONE;
    if (slot->u32[3] == 0 && slot->u32[2] != LULL_TAPE_NO_LOCATION)
        event->meeting.location = lull_tape_thread_index(
            stream->trace, stream->trace->locations[stream->location].process, slot->u32[2]);
}

/* Decodes the fields behind the number of an operation of a device. */
static void decode_submission(const struct tape_stream *stream, unsigned kind,
                              struct lull_event *event)
{
    const union lull_tape_slot *slot = stream->at + 1;
    event->operation.other = kind == LULL_EVENT_DEPEND ? slot->u64[1] : 0;
    event->operation.location = LULL_NONE;
    if (kind != LULL_EVENT_DEPEND && slot->u32[2] != LULL_TAPE_NO_LOCATION)
        event->operation.location = lull_tape_stream_index(
            stream->trace, stream->trace->locations[stream->location].process, slot->u32[2]);
}

static lull_status decode_number(struct tape_stream *stream, unsigned kind, struct tape_out *out,
                                 struct lull_error *err)
{
    bool team = kind == LULL_EVENT_TEAM_BEGIN || kind == LULL_EVENT_TEAM_END;
    uint32_t id = LULL_NONE;
    lull_status status = LULL_OK;
    if (team || kind == LULL_EVENT_MARKER)
        status = optional_id(stream, team ? LULL_TAPE_MAP_COMM : LULL_TAPE_MAP_MARKER, &id, err);
    if (status != LULL_OK)
        return status;
    struct lull_event *event = tape_add(out, kind, tape_ns_of(stream, stream->at->record.time), id);
    event->number = stream->at[1].u64[0];
    if (is_meeting(kind))
        decode_meeting(stream, event);
    else if (kind >= LULL_EVENT_SUBMIT && kind <= LULL_EVENT_DEVICE_WAIT)
        decode_submission(stream, kind, event);
    return LULL_OK;
}

static lull_status decode_device_operation(struct tape_stream *stream, struct tape_out *out,
                                           struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    const uint32_t id = lull_tape_id_of(record->head);
    uint32_t region;
    if (!submitting_call(stream, id, &region))
        return lull_tape_bad_record(stream, "unknown region", id, err);
    struct lull_event *event =
        tape_add(out, LULL_EVENT_OPERATION, tape_ns_of(stream, record->time), region);
    event->operation.number = stream->at[1].u64[0];
    event->operation.bytes = stream->at[1].u64[1];
    event->operation.sequence =
        lull_tape_extra_of(record->head) > 1 ? stream->at[2].u64[0] : LULL_NO_SEQUENCE;
    event->operation.peer = lull_tape_extra_of(record->head) > 1 ? stream->at[2].i32[2] : LULL_ANY;
    event->operation.location = submitting_thread(stream, record->value);
    return LULL_OK;
}

lull_status lull_tape_decode_other(struct tape_stream *stream, unsigned kind, unsigned extra,
                                   struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t value = record->value, op = value & ~(UINT32_C(1) << 31);
    bool high = value >> 31;
    static const uint8_t least_extra[LULL_TAPE_KINDS] = {
        [LULL_TAPE_MESSAGE] = 2,  [LULL_TAPE_COLLECTIVE] = 2, [LULL_TAPE_TRANSFER] = 1,
        [LULL_TAPE_NUMBER] = 1,   [LULL_TAPE_COUNTERS] = 1,   [LULL_TAPE_COMPLETE] = 1,
        [LULL_TAPE_COUNTS] = 1,   [LULL_TAPE_OPENED] = 1,     [LULL_TAPE_RESUME] = 1,
        [LULL_TAPE_OPERATION] = 1};
    if (kind >= LULL_TAPE_KINDS || kind == LULL_TAPE_NOTHING)
        return lull_tape_bad_record(stream, "unknown record kind", kind, err);
    if (extra < least_extra[kind])
        return lull_tape_bad_record(stream, "record is too short, kind", kind, err);
    switch (kind) {
    case LULL_TAPE_STATE:
    case LULL_TAPE_FLUSH: {
        unsigned event = kind == LULL_TAPE_STATE ? LULL_EVENT_STATE : LULL_EVENT_FLUSH;
        return tape_wanted(stream, event) ? decode_span(stream, event, extra, out, err) : LULL_OK;
    }
    case LULL_TAPE_MESSAGE:
        if (value >= LULL_TAPE_MESSAGES)
            return lull_tape_bad_record(stream, "unknown message record", value, err);
        return stream->requests_matter
                   ? decode_general_message(stream, message_kinds[value], out, err)
                   : LULL_OK;
    case LULL_TAPE_COLLECTIVE: {
        unsigned event = high ? LULL_EVENT_COLLECTIVE_END : LULL_EVENT_COLLECTIVE_BEGIN;
        return stream->requests_matter ? decode_general_collective(stream, event, op, out, err)
                                       : LULL_OK;
    }
    case LULL_TAPE_TRANSFER: {
        unsigned event = high ? LULL_EVENT_RMA : LULL_EVENT_IO;
        return tape_wanted(stream, event) ? decode_transfer(stream, event, op, out, err) : LULL_OK;
    }
    case LULL_TAPE_NUMBER:
        if (value >= LULL_TAPE_NUMBERS)
            return lull_tape_bad_record(stream, "unknown number record", value, err);
        return tape_wanted(stream, number_kinds[value])
                   ? decode_number(stream, number_kinds[value], out, err)
                   : LULL_OK;
    case LULL_TAPE_OPERATION:
        return tape_wanted(stream, LULL_EVENT_OPERATION) ? decode_device_operation(stream, out, err)
                                                         : LULL_OK;
    case LULL_TAPE_COMPLETE:
        if (stream->requests_matter)
            lull_tape_begin_wait(stream, extra, tape_ns_of(stream, record->time));
        return LULL_OK;
    case LULL_TAPE_COUNTS:
        return tape_wanted(stream, LULL_EVENT_COUNTERS)
                   ? decode_counts(stream, tape_ns_of(stream, record->time), extra, out, err)
                   : LULL_OK;
    default: /* LULL_TAPE_COUNTERS */
        return tape_wanted(stream, LULL_EVENT_COUNTERS)
                   ? decode_counters(stream, tape_ns_of(stream, record->time), extra, out, err)
                   : LULL_OK;
    }
}
