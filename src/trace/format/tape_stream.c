/* Decoding the records of one location from its mapped file. */
#include "base/file.h"
#include "trace/format.h"
#include "trace/format/tape.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What a request was opened as, until it completes. */
struct request {
    uint64_t bytes;
    int32_t peer, tag;
    uint32_t comm;
    uint8_t record; /* CALL_ISEND, CALL_IRECV, CALL_ICOLLECTIVE; 0: complete */
    uint8_t op;
    uint64_t received; /* of a collective; bytes are those sent */
};

enum { MOST_REQUESTS = 1 << 24, FIRST_REQUESTS = 64 };

/* Open requests lie in [oldest, next), in a ring of a power of two. */
struct requests {
    struct request *ring;
    uint64_t capacity, oldest, next;
};

/* A CALL_WAIT whose completions did not all fit into the caller's buffer. */
struct waiting {
    const union lull_tape_slot *slot, *end;
    uint32_t done; /* of the range in *slot */
    int64_t time;
};

struct lull_stream {
    const struct lull_trace *trace;
    const struct lull_tape_file *file;
    const struct lull_tape_data *data;
    struct lull_mapping mapping;
    const union lull_tape_slot *first, *at, *end;
    size_t window; /* bytes of the mapping that have been asked for; see slide_window */
    uint64_t mask;
    bool ticks;           /* times go through the clock */
    bool requests_matter; /* messages or collectives are wanted: requests must be followed */
    bool has_common;      /* all kinds of region events are wanted */
    uint8_t common[1024]; /* by kind and extra of a record: see decode_common */
    size_t segment;
    uint32_t location;
    struct requests requests;
    struct waiting waiting;
    struct lull_reading *readings; /* for as many COUNTERS as a block can hold */
    size_t readings_capacity, n_readings;
};

/* ---- errors and ids ---------------------------------------------------------------------------
 */

static lull_status bad_record(const struct lull_stream *stream, const char *what,
                              unsigned long long value, struct lull_error *err)
{
    char path[4096];
    return lull_fail(err, LULL_ERR_FORMAT, "%s: offset %zu: %s %llu",
                     lull_tape_file_path(stream->trace, stream->file, path, sizeof path),
                     (size_t)((const uint8_t *)stream->at - stream->mapping.data), what, value);
}

/* The trace's index for an id, or LULL_NONE for one that is not defined. */
static inline uint32_t index_of(const struct lull_stream *stream, enum lull_tape_map map,
                                uint32_t id)
{
    const struct lull_tape_ids *ids = &stream->file->ids->maps[map];
    return id < ids->count ? ids->index[id] : LULL_NONE;
}

/* Unsigned, as all arithmetic on times from a file: garbage wraps and is found by its range. */
static inline int64_t ns_of(struct lull_stream *stream, uint64_t ticks)
{
    uint64_t ns = ticks;
    if (stream->ticks)
        ns = (uint64_t)lull_tape_ns(stream->file->clock, ticks, &stream->segment);
    return (int64_t)(ns - (uint64_t)stream->data->origin);
}

/* A duration is the difference of two converted times, so that what follows never overlaps. */
static inline int64_t duration_of(struct lull_stream *stream, uint64_t ticks, uint64_t length)
{
    if (!stream->ticks)
        return (int64_t)length;
    size_t segment = stream->segment;
    return (int64_t)((uint64_t)lull_tape_ns(stream->file->clock, ticks + length, &segment) -
                     (uint64_t)lull_tape_ns(stream->file->clock, ticks, &stream->segment));
}

/* Whether what begins at `begin` and lasts `duration` lies in the run. */
static inline bool in_run(const struct lull_stream *stream, int64_t begin, int64_t duration)
{
    int64_t end = stream->trace->duration;
    return begin >= 0 && begin <= end && duration >= 0 && duration <= end - begin;
}

/* Peers are process numbers or ranks in the communicator; wildcards are negative. */
static lull_status process_of(const struct lull_stream *stream, int32_t peer, uint32_t comm,
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
        if (group->remote != LULL_NONE)
            group = &trace->comms[group->remote];
        process = lull_comm_member(group, (uint32_t)peer);
    }
    if (process >= trace->n_processes)
        return bad_record(stream, "unknown process or rank", (uint32_t)peer, err);
    *ret_process = (int32_t)process;
    return LULL_OK;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static bool open_request(struct requests *requests, const struct request *request)
{
    if (requests->next - requests->oldest == requests->capacity) {
        uint64_t capacity = requests->capacity ? requests->capacity * 2 : FIRST_REQUESTS;
        struct request *ring =
            capacity > MOST_REQUESTS ? NULL : calloc((size_t)capacity, sizeof *ring);
        if (!ring)
            return false;
        for (uint64_t r = requests->oldest; r < requests->next; r++)
            ring[r & (capacity - 1)] = requests->ring[r & (requests->capacity - 1)];
        free(requests->ring);
        requests->ring = ring;
        requests->capacity = capacity;
    }
    requests->ring[requests->next++ & (requests->capacity - 1)] = *request;
    return true;
}

/* NULL when the request is not open. Record numbers are 32 bits wide; the open ones are within
 * 2^24 of each other. */
static struct request *find_request(const struct requests *requests, uint32_t number,
                                    uint64_t *ret_number)
{
    uint64_t full = requests->oldest + (uint32_t)(number - (uint32_t)requests->oldest);
    if (full >= requests->next)
        return NULL;
    struct request *request = &requests->ring[full & (requests->capacity - 1)];
    *ret_number = full;
    return request->record ? request : NULL;
}

static void complete_request(struct requests *requests, struct request *request)
{
    request->record = 0;
    while (requests->oldest < requests->next &&
           requests->ring[requests->oldest & (requests->capacity - 1)].record == 0)
        requests->oldest++;
}

static bool wanted(const struct lull_stream *stream, unsigned kind)
{
    return stream->mask >> kind & 1;
}

/* The event that says that `request` is complete; its matched values are filled in already. */
static struct lull_event completion_event(const struct request *request, uint64_t number,
                                          int64_t time)
{
    struct lull_event event = {.time = time, .id = request->comm};
    if (request->record == LULL_TAPE_CALL_ICOLLECTIVE) {
        event.kind = LULL_EVENT_COLLECTIVE_END;
        event.op = request->op;
        event.collective.sent = request->bytes;
        event.collective.received = request->received;
        event.collective.root = request->peer;
        event.collective.request = number;
        return event;
    }
    event.kind = request->record == LULL_TAPE_CALL_ISEND ? LULL_EVENT_SEND_DONE : LULL_EVENT_RECV;
    event.message.request = number;
    event.message.bytes = request->bytes;
    event.message.peer = request->peer;
    event.message.tag = request->tag;
    return event;
}

/* Writes the completions of the CALL_WAIT in progress as far as they fit. */
static lull_status continue_wait(struct lull_stream *stream, struct lull_event *events,
                                 size_t capacity, size_t *count, struct lull_error *err)
{
    struct waiting *waiting = &stream->waiting;
    while (waiting->slot < waiting->end && *count < capacity) {
        const uint32_t *fields = waiting->slot->u32;
        bool matched = fields[3] & LULL_TAPE_MATCHED, large = fields[3] & LULL_TAPE_LARGE;
        uint64_t number = 0;
        struct request *request = NULL;
        if (matched || fields[1] > 0)
            request =
                find_request(&stream->requests, fields[0] + (matched ? 0 : waiting->done), &number);
        if ((large && waiting->slot + 1 >= waiting->end) || (!request && (matched || fields[1])))
            return bad_record(stream, "wait completes a request that is not open:",
                              fields[0] + waiting->done, err);
        if (matched) {
            lull_status status =
                process_of(stream, waiting->slot->i32[1], request->comm, &request->peer, err);
            if (status != LULL_OK)
                return status;
            request->tag = waiting->slot->i32[2];
            request->bytes = large ? waiting->slot[1].u64[0]
                                   : fields[3] & ~(LULL_TAPE_MATCHED | LULL_TAPE_LARGE);
        }
        if (request) {
            struct lull_event event = completion_event(request, number, waiting->time);
            complete_request(&stream->requests, request);
            if (wanted(stream, event.kind))
                events[(*count)++] = event;
        }
        if (matched || ++waiting->done >= fields[1]) {
            waiting->slot += 1 + (matched && large);
            waiting->done = 0;
        }
    }
    return LULL_OK;
}

/* ---- records ----------------------------------------------------------------------------------
 */

/* Where decoding puts events; `room` for the most that one record makes is guaranteed. */
struct out {
    struct lull_event *events;
    size_t count;
};

static inline struct lull_event *add(struct out *out, unsigned kind, int64_t time, uint32_t id)
{
    struct lull_event *event = &out->events[out->count++];
    event->time = time;
    event->kind = (uint8_t)kind;
    event->op = 0;
    event->id = id;
    return event;
}

static void add_message(struct lull_stream *stream, struct out *out, unsigned kind, int64_t time,
                        const struct request *message, uint64_t request)
{
    if (!wanted(stream, kind))
        return;
    struct lull_event *event = add(out, kind, time, message->comm);
    event->message.bytes = message->bytes;
    event->message.peer = message->peer;
    event->message.tag = message->tag;
    event->message.request = request;
}

/* The second slot of CALL_SEND and its like. */
static lull_status message_of(const struct lull_stream *stream, const union lull_tape_slot *slot,
                              struct request *ret_message, struct lull_error *err)
{
    uint32_t id = (uint32_t)(slot->u64[1] >> 40);
    uint32_t comm = index_of(stream, LULL_TAPE_MAP_COMM, id);
    if (comm == LULL_NONE)
        return bad_record(stream, "unknown communicator", id, err);
    *ret_message = (struct request){
        .bytes = slot->u64[1] & LULL_TAPE_BYTES_MASK, .tag = slot->i32[1], .comm = comm};
    return process_of(stream, slot->i32[0], comm, &ret_message->peer, err);
}

static lull_status decode_message_call(struct lull_stream *stream, unsigned kind, int64_t begin,
                                       int64_t end, struct out *out, struct lull_error *err)
{
    struct request message;
    lull_status status = message_of(stream, stream->at + 1, &message, err);
    if (status != LULL_OK)
        return status;
    uint64_t request = LULL_NO_REQUEST;
    if (kind == LULL_TAPE_CALL_ISEND || kind == LULL_TAPE_CALL_IRECV) {
        message.record = (uint8_t)kind;
        request = stream->requests.next;
        if (!open_request(&stream->requests, &message))
            return bad_record(stream, "too many open requests:", request, err);
    }
    switch (kind) {
    case LULL_TAPE_CALL_RECV:
        add_message(stream, out, LULL_EVENT_RECV, end, &message, request);
        break;
    case LULL_TAPE_CALL_IRECV:
        add_message(stream, out, LULL_EVENT_RECV_POST, begin, &message, request);
        break;
    default:
        add_message(stream, out, LULL_EVENT_SEND, begin, &message, request);
        break;
    }
    return LULL_OK;
}

static lull_status decode_collective_call(struct lull_stream *stream, unsigned kind,
                                          uint32_t region, int64_t begin, int64_t end,
                                          struct out *out, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    uint32_t id = (uint32_t)(slot->u64[0] >> 40), root = (uint32_t)(slot->u64[1] >> 40);
    uint32_t comm = index_of(stream, LULL_TAPE_MAP_COMM, id);
    if (comm == LULL_NONE)
        return bad_record(stream, "unknown communicator", id, err);
    struct request collective = {.bytes = slot->u64[0] & LULL_TAPE_BYTES_MASK,
                                 .received = slot->u64[1] & LULL_TAPE_BYTES_MASK,
                                 .peer = LULL_ANY,
                                 .comm = comm,
                                 .op = stream->trace->regions[region].collective,
                                 .record = LULL_TAPE_CALL_ICOLLECTIVE};
    lull_status status = LULL_OK;
    if (root != LULL_TAPE_NO_ROOT)
        status = process_of(stream, (int32_t)root, comm, &collective.peer, err);
    if (status != LULL_OK)
        return status;
    bool blocking = kind == LULL_TAPE_CALL_COLLECTIVE;
    uint64_t request = blocking ? LULL_NO_REQUEST : stream->requests.next;
    if (!blocking && !open_request(&stream->requests, &collective))
        return bad_record(stream, "too many open requests:", request, err);
    struct lull_event event = completion_event(&collective, request, begin);
    event.kind = LULL_EVENT_COLLECTIVE_BEGIN;
    if (wanted(stream, event.kind))
        out->events[out->count++] = event;
    event.kind = LULL_EVENT_COLLECTIVE_END;
    event.time = end;
    if (blocking && wanted(stream, event.kind))
        out->events[out->count++] = event;
    return LULL_OK;
}

static inline lull_status decode_call(struct lull_stream *stream, unsigned kind, unsigned extra,
                                      struct out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t region = index_of(stream, LULL_TAPE_MAP_REGION, lull_tape_id_of(record->head));
    if (region == LULL_NONE)
        return bad_record(stream, "unknown region", lull_tape_id_of(record->head), err);
    uint64_t length = record->value;
    if (kind == LULL_TAPE_CALL && extra)
        length = stream->at[1].u64[0];
    int64_t begin = ns_of(stream, record->time);
    int64_t duration = duration_of(stream, record->time, length);
    if (!in_run(stream, begin, duration))
        return bad_record(stream, "call does not lie in the run, length", length, err);
    if (wanted(stream, LULL_EVENT_CALL))
        add(out, LULL_EVENT_CALL, begin, region)->duration = duration;
    if (kind == LULL_TAPE_CALL || !stream->requests_matter)
        return LULL_OK;
    if (extra == 0)
        return bad_record(stream, "call without its message, kind", kind, err);
    if (kind == LULL_TAPE_CALL_WAIT) {
        stream->waiting = (struct waiting){
            .slot = stream->at + 1, .end = stream->at + 1 + extra, .time = begin + duration};
        return LULL_OK;
    }
    if (kind == LULL_TAPE_CALL_COLLECTIVE || kind == LULL_TAPE_CALL_ICOLLECTIVE)
        return decode_collective_call(stream, kind, region, begin, begin + duration, out, err);
    return decode_message_call(stream, kind, begin, begin + duration, out, err);
}

static const uint8_t message_kinds[LULL_TAPE_MESSAGES] = {
    [LULL_TAPE_MESSAGE_SEND] = LULL_EVENT_SEND,
    [LULL_TAPE_MESSAGE_SEND_DONE] = LULL_EVENT_SEND_DONE,
    [LULL_TAPE_MESSAGE_RECV_POST] = LULL_EVENT_RECV_POST,
    [LULL_TAPE_MESSAGE_RECV] = LULL_EVENT_RECV,
    [LULL_TAPE_MESSAGE_TEST] = LULL_EVENT_REQUEST_TEST,
    [LULL_TAPE_MESSAGE_CANCELLED] = LULL_EVENT_REQUEST_CANCELLED,
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
};

static lull_status decode_counters(struct lull_stream *stream, int64_t time, unsigned extra,
                                   struct out *out, struct lull_error *err)
{
    if (stream->trace->n_counters == 0)
        return bad_record(stream, "reading of an unknown counter", stream->at[1].u32[2], err);
    struct lull_reading *readings = stream->readings + stream->n_readings;
    for (unsigned i = 0; i < extra; i++) {
        const union lull_tape_slot *slot = stream->at + 1 + i;
        uint32_t counter = index_of(stream, LULL_TAPE_MAP_COUNTER, slot->u32[2]);
        if (counter == LULL_NONE)
            return bad_record(stream, "unknown counter", slot->u32[2], err);
        readings[i] = (struct lull_reading){.value = slot->u64[0], .counter = counter};
    }
    stream->n_readings += extra;
    struct lull_event *event = add(out, LULL_EVENT_COUNTERS, time, 0);
    event->readings.values = readings;
    event->readings.count = extra;
    return LULL_OK;
}

/* STATE and FLUSH: a duration in the record or in a slot of its own. */
static lull_status decode_span(struct lull_stream *stream, unsigned kind, unsigned extra,
                               struct out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t id = LULL_NONE;
    if (kind == LULL_EVENT_STATE) {
        id = index_of(stream, LULL_TAPE_MAP_STATE, lull_tape_id_of(record->head));
        if (id == LULL_NONE)
            return bad_record(stream, "unknown state", lull_tape_id_of(record->head), err);
    }
    uint64_t length = extra ? stream->at[1].u64[0] : record->value;
    int64_t begin = ns_of(stream, record->time);
    int64_t duration = duration_of(stream, record->time, length);
    if (!in_run(stream, begin, duration))
        return bad_record(stream, "span does not lie in the run, length", length, err);
    add(out, kind, begin, id)->duration = duration;
    return LULL_OK;
}

/* The index behind the optional id of a record; LULL_TAPE_NO_ID stays LULL_NONE. */
static lull_status optional_id(const struct lull_stream *stream, enum lull_tape_map map,
                               uint32_t *ret_index, struct lull_error *err)
{
    uint32_t id = lull_tape_id_of(stream->at->record.head);
    *ret_index = id == LULL_TAPE_NO_ID ? LULL_NONE : index_of(stream, map, id);
    if (id != LULL_TAPE_NO_ID && *ret_index == LULL_NONE)
        return bad_record(
            stream, map == LULL_TAPE_MAP_COMM ? "unknown communicator" : "unknown marker", id, err);
    return LULL_OK;
}

static lull_status decode_general_message(struct lull_stream *stream, unsigned kind,
                                          struct out *out, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    uint32_t comm;
    lull_status status = optional_id(stream, LULL_TAPE_MAP_COMM, &comm, err);
    if (status != LULL_OK)
        return status;
    struct lull_event *event = add(out, kind, ns_of(stream, stream->at->record.time), comm);
    event->message.bytes = slot[0].u64[0];
    event->message.request = slot[0].u64[1];
    event->message.tag = slot[1].i32[1];
    return process_of(stream, slot[1].i32[0], comm, &event->message.peer, err);
}

static lull_status decode_general_collective(struct lull_stream *stream, unsigned kind, unsigned op,
                                             struct out *out, struct lull_error *err)
{
    const union lull_tape_slot *slot = stream->at + 1;
    uint32_t comm;
    lull_status status = optional_id(stream, LULL_TAPE_MAP_COMM, &comm, err);
    if (status != LULL_OK)
        return status;
    struct lull_event *event = add(out, kind, ns_of(stream, stream->at->record.time), comm);
    event->op = op < LULL_COLLECTIVES ? (uint8_t)op : LULL_COLLECTIVE_UNKNOWN;
    event->collective.sent = slot[0].u64[0];
    event->collective.received = slot[0].u64[1];
    event->collective.request = slot[1].u64[0];
    return process_of(stream, slot[1].i32[2], comm, &event->collective.root, err);
}

/* Targets are process numbers: windows have no definition that could give them ranks. */
static lull_status decode_transfer(struct lull_stream *stream, unsigned kind, unsigned op,
                                   struct out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t id = lull_tape_id_of(record->head), process = LULL_NONE;
    int32_t target = stream->at[1].i32[2];
    if (op >= (kind == LULL_EVENT_RMA ? (unsigned)LULL_RMA_OPS : (unsigned)LULL_IO_OPS))
        return bad_record(stream, "unknown operation", op, err);
    if (target != LULL_ANY && target != LULL_PROC_NULL) {
        process = lull_tape_process_index(stream->trace, (uint32_t)target);
        if (process == LULL_NONE)
            return bad_record(stream, "unknown process", (uint32_t)target, err);
        target = (int32_t)process;
    }
    struct lull_event *event =
        add(out, kind, ns_of(stream, record->time), id == LULL_TAPE_NO_ID ? LULL_NONE : id);
    event->op = (uint8_t)op;
    event->transfer.bytes = stream->at[1].u64[0];
    event->transfer.target = target;
    return LULL_OK;
}

static lull_status decode_number(struct lull_stream *stream, unsigned kind, struct out *out,
                                 struct lull_error *err)
{
    bool team = kind == LULL_EVENT_TEAM_BEGIN || kind == LULL_EVENT_TEAM_END;
    uint32_t id = LULL_NONE;
    lull_status status = LULL_OK;
    if (team || kind == LULL_EVENT_MARKER)
        status = optional_id(stream, team ? LULL_TAPE_MAP_COMM : LULL_TAPE_MAP_MARKER, &id, err);
    if (status == LULL_OK)
        add(out, kind, ns_of(stream, stream->at->record.time), id)->number = stream->at[1].u64[0];
    return status;
}

/* Everything that is neither a region nor a call. */
static lull_status decode_other(struct lull_stream *stream, unsigned kind, unsigned extra,
                                struct out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t value = record->value, op = value & ~(UINT32_C(1) << 31);
    bool high = value >> 31;
    static const uint8_t least_extra[LULL_TAPE_KINDS] = {[LULL_TAPE_MESSAGE] = 2,
                                                         [LULL_TAPE_COLLECTIVE] = 2,
                                                         [LULL_TAPE_TRANSFER] = 1,
                                                         [LULL_TAPE_NUMBER] = 1,
                                                         [LULL_TAPE_COUNTERS] = 1};
    if (kind >= LULL_TAPE_KINDS || kind == LULL_TAPE_NOTHING)
        return bad_record(stream, "unknown record kind", kind, err);
    if (extra < least_extra[kind])
        return bad_record(stream, "record is too short, kind", kind, err);
    switch (kind) {
    case LULL_TAPE_STATE:
    case LULL_TAPE_FLUSH: {
        unsigned event = kind == LULL_TAPE_STATE ? LULL_EVENT_STATE : LULL_EVENT_FLUSH;
        return wanted(stream, event) ? decode_span(stream, event, extra, out, err) : LULL_OK;
    }
    case LULL_TAPE_MESSAGE:
        if (value >= LULL_TAPE_MESSAGES)
            return bad_record(stream, "unknown message record", value, err);
        return wanted(stream, message_kinds[value])
                   ? decode_general_message(stream, message_kinds[value], out, err)
                   : LULL_OK;
    case LULL_TAPE_COLLECTIVE: {
        unsigned event = high ? LULL_EVENT_COLLECTIVE_END : LULL_EVENT_COLLECTIVE_BEGIN;
        return wanted(stream, event) ? decode_general_collective(stream, event, op, out, err)
                                     : LULL_OK;
    }
    case LULL_TAPE_TRANSFER: {
        unsigned event = high ? LULL_EVENT_RMA : LULL_EVENT_IO;
        return wanted(stream, event) ? decode_transfer(stream, event, op, out, err) : LULL_OK;
    }
    case LULL_TAPE_NUMBER:
        if (value >= LULL_TAPE_NUMBERS)
            return bad_record(stream, "unknown number record", value, err);
        return wanted(stream, number_kinds[value])
                   ? decode_number(stream, number_kinds[value], out, err)
                   : LULL_OK;
    default: /* LULL_TAPE_COUNTERS */
        return wanted(stream, LULL_EVENT_COUNTERS)
                   ? decode_counters(stream, ns_of(stream, record->time), extra, out, err)
                   : LULL_OK;
    }
}

/* ---- the common records -------------------------------------------------------------------------
 *
 * Most of a tape are regions and calls. They are decoded in a loop of their own: a table says, by
 * the lowest ten bits of a record's head (kind and extra), which event a record makes, that it is
 * to be passed over, or that it needs the long way. */

enum { PREFETCH_SLOTS = 128 };
enum { LONG_WAY, PASS_OVER, REGION_EVENT /* + enum lull_event_kind */ };

static void make_common_table(struct lull_stream *stream)
{
    const uint64_t transfers = LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO);
    uint8_t *table = stream->common;
    table[lull_tape_head(LULL_TAPE_ENTER, 0, 0)] = REGION_EVENT + LULL_EVENT_ENTER;
    table[lull_tape_head(LULL_TAPE_LEAVE, 0, 0)] = REGION_EVENT + LULL_EVENT_LEAVE;
    table[lull_tape_head(LULL_TAPE_CALL, 0, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    for (unsigned extra = 1; extra <= LULL_TAPE_MOST_EXTRA; extra++) {
        if (!(stream->mask & transfers))
            table[lull_tape_head(LULL_TAPE_TRANSFER, extra, 0)] = PASS_OVER;
        if (stream->requests_matter)
            continue;
        table[lull_tape_head(LULL_TAPE_MESSAGE, extra, 0)] = PASS_OVER;
        table[lull_tape_head(LULL_TAPE_COLLECTIVE, extra, 0)] = PASS_OVER;
        for (unsigned kind = LULL_TAPE_CALL_SEND; kind <= LULL_TAPE_CALL_ICOLLECTIVE; kind++)
            table[lull_tape_head(kind, extra, 0)] = REGION_EVENT + LULL_EVENT_CALL;
    }
}

/* The part of a clock in which no segment changes, or plain ns. */
struct plain_clock {
    uint64_t base_ticks, limit, multiplier;
    int64_t base_ns;
    unsigned shift;
};

static struct plain_clock plain_clock_of(const struct lull_stream *stream)
{
    if (!stream->ticks)
        return (struct plain_clock){.limit = UINT64_MAX, .base_ns = -stream->data->origin};
    const struct lull_tape_scope *clock = stream->file->clock;
    const struct lull_tape_segment *segment = &clock->segments[stream->segment];
    bool last = stream->segment + 1 == clock->n_segments;
    return (struct plain_clock){.base_ticks = segment->base_ticks,
                                .limit = last ? UINT64_MAX : segment[1].base_ticks,
                                .multiplier = segment->multiplier,
                                .base_ns = segment->base_ns - stream->data->origin,
                                .shift = segment->shift};
}

static inline int64_t plain_ns(const struct plain_clock *clock, bool ticks, uint64_t time)
{
    if (!ticks)
        return (int64_t)time + clock->base_ns;
    return clock->base_ns +
           (int64_t)((unsigned __int128)(time - clock->base_ticks) * clock->multiplier >>
                     clock->shift);
}

static inline void decode_common_loop(struct lull_stream *stream, struct out *out, size_t capacity,
                                      bool ticks)
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
        const union lull_tape_slot *next = at + 1 + lull_tape_extra_of(head);
        if (way == LONG_WAY || next > limit)
            break;
        if (way == PASS_OVER) {
            at = next;
            continue;
        }
        if (id >= n_regions)
            break;
        if (ticks &&
            (time < clock.base_ticks || time >= clock.limit || clock.limit - time <= value))
            break;
        const uint32_t region = index[id];
        if (region == LULL_NONE)
            break;
        const int64_t begin = plain_ns(&clock, ticks, time);
        event->time = begin;
        event->kind = (uint8_t)(way - REGION_EVENT);
        event->op = 0;
        event->id = region;
        event->duration = ticks ? plain_ns(&clock, ticks, time + value) - begin : value;
        event++;
        at = next;
    }
    out->count = (size_t)(event - out->events);
    stream->at = at;
}

static void decode_common(struct lull_stream *stream, struct out *out, size_t capacity)
{
    if (stream->ticks)
        decode_common_loop(stream, out, capacity, true);
    else
        decode_common_loop(stream, out, capacity, false);
}

/* ---- the stream -------------------------------------------------------------------------------
 */

/* A process that died inside a call left its record open behind the committed ones. */
static void decode_open_call(struct lull_stream *stream, struct out *out)
{
    const struct lull_tape_file *file = stream->file;
    stream->at = NULL;
    if (file->open_region != LULL_NONE && wanted(stream, LULL_EVENT_ENTER))
        add(out, LULL_EVENT_ENTER, ns_of(stream, file->open_time), file->open_region);
}

static lull_status decode_one(struct lull_stream *stream, struct out *out, struct lull_error *err)
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
        return bad_record(stream, "record crosses the end of its chunk, kind", kind, err);
    lull_status status;
    if (kind == LULL_TAPE_ENTER || kind == LULL_TAPE_LEAVE) {
        unsigned event = kind == LULL_TAPE_ENTER ? LULL_EVENT_ENTER : LULL_EVENT_LEAVE;
        uint32_t region = index_of(stream, LULL_TAPE_MAP_REGION, lull_tape_id_of(record->head));
        if (region == LULL_NONE)
            return bad_record(stream, "unknown region", lull_tape_id_of(record->head), err);
        if (wanted(stream, event))
            add(out, event, ns_of(stream, record->time), region);
        status = LULL_OK;
    } else if (kind >= LULL_TAPE_CALL && kind <= LULL_TAPE_CALL_ICOLLECTIVE) {
        status = decode_call(stream, kind, extra, out, err);
    } else {
        status = decode_other(stream, kind, extra, out, err);
    }
    stream->at += 1 + extra;
    return status;
}

/* Keeps about WINDOW bytes of the file mapped in: what has been read is given back, so that memory
 * does not grow with the length of the trace, and what comes is asked for at once, which costs
 * less than a fault for every few pages. Both are hints; without them all works as well. */
static void slide_window(struct lull_stream *stream)
{
    enum { WINDOW = 256 << 10 };
    if (!stream->at)
        return;
    size_t done = (size_t)((const uint8_t *)stream->at - stream->mapping.data);
    if (done < stream->window)
        return;
    uint8_t *base = (uint8_t *)(uintptr_t)stream->mapping.data;
    size_t begin = done / WINDOW * WINDOW;
    size_t left = stream->mapping.size - begin;
    if (begin >= WINDOW)
        madvise(base + begin - WINDOW, WINDOW, MADV_DONTNEED);
#ifdef MADV_POPULATE_READ
    madvise(base + begin, left < WINDOW ? left : WINDOW, MADV_POPULATE_READ);
#endif
    stream->window = begin + (left < WINDOW ? left : WINDOW);
}

/* The scan sees to it that time runs forward: so the first and the last event say that all lie in
 * the run. */
static lull_status check_block(const struct lull_stream *stream, const struct lull_event *events,
                               size_t count, struct lull_error *err)
{
    int64_t first = events[0].time, last = events[count - 1].time;
    if (in_run(stream, first, 0) && in_run(stream, last, 0))
        return LULL_OK;
    char path[4096];
    return lull_fail(
        err, LULL_ERR_FORMAT, "%s: an event at %lld ns lies outside of the run of %lld ns",
        lull_tape_file_path(stream->trace, stream->file, path, sizeof path),
        (long long)(in_run(stream, first, 0) ? last : first), (long long)stream->trace->duration);
}

lull_status lull_tape_stream_read(struct lull_stream *stream, struct lull_event *events,
                                  size_t capacity, size_t *ret_count, struct lull_error *err)
{
    enum { MOST_PER_RECORD = 3 };
    struct out out = {events, 0};
    stream->n_readings = 0;
    slide_window(stream);
    lull_status status = LULL_OK;
    while (status == LULL_OK && out.count + MOST_PER_RECORD < capacity) {
        if (stream->waiting.slot < stream->waiting.end) {
            status = continue_wait(stream, events, capacity, &out.count, err);
            continue;
        }
        if (!stream->at)
            break;
        if (stream->at == stream->end) {
            decode_open_call(stream, &out);
            break;
        }
        if (stream->has_common)
            decode_common(stream, &out, capacity - MOST_PER_RECORD);
        if (stream->at == stream->end || out.count + MOST_PER_RECORD >= capacity)
            continue;
        if (stream->n_readings + LULL_TAPE_MOST_EXTRA > stream->readings_capacity)
            break;
        status = decode_one(stream, &out, err);
    }
    if (status == LULL_OK && out.count > 0)
        status = check_block(stream, events, out.count, err);
    if (status == LULL_OK)
        *ret_count = out.count;
    return status;
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
        stream->readings_capacity = LULL_TAPE_MOST_EXTRA; /* no counter can be valid */
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
    char path[4096];
    lull_tape_file_path(trace, stream->file, path, sizeof path);
    lull_status status = lull_map_file(path, &stream->mapping, err);
    if (status == LULL_OK &&
        stream->mapping.size < LULL_TAPE_HEADER_SIZE + stream->file->header.committed)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: truncated since it was opened", path);
    if (status != LULL_OK) {
        lull_tape_stream_close(stream);
        return status;
    }
    stream->first = (const void *)(stream->mapping.data + LULL_TAPE_HEADER_SIZE);
    stream->at = stream->first;
    stream->end = stream->first + stream->file->header.committed / sizeof *stream->first;
    *ret_stream = stream;
    return LULL_OK;
}

void lull_tape_stream_close(struct lull_stream *stream)
{
    lull_unmap(&stream->mapping);
    free(stream->requests.ring);
    free(stream->readings);
    free(stream);
}
