/* Decoding records that are neither regions nor calls. */
#include "trace/format/tape/read/stream.h"

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
};

static lull_status decode_counters(struct tape_stream *stream, int64_t time, unsigned extra,
                                   struct tape_out *out, struct lull_error *err)
{
    if (stream->trace->n_counters == 0)
        return lull_tape_bad_record(stream, "reading of an unknown counter", stream->at[1].u32[2],
                                    err);
    struct lull_reading *readings = stream->readings + stream->n_readings;
    for (unsigned i = 0; i < extra; i++) {
        const union lull_tape_slot *slot = stream->at + 1 + i;
        uint32_t counter = tape_index_of(stream, LULL_TAPE_MAP_COUNTER, slot->u32[2]);
        if (counter == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown counter", slot->u32[2], err);
        readings[i] = (struct lull_reading){.value = slot->u64[0], .counter = counter};
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
    struct lull_reading *readings = stream->readings + stream->n_readings;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t counter = tape_index_of(stream, LULL_TAPE_MAP_COUNTER, first + i);
        if (counter == LULL_NONE)
            return lull_tape_bad_record(stream, "unknown counter", first + i, err);
        readings[i] =
            (struct lull_reading){.value = stream->at[1 + i / 2].u64[i % 2], .counter = counter};
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

/* A request number that a general record carries; LULL_TAPE_NEXT_REQUEST opens one. */
static lull_status take_request(struct tape_stream *stream, uint64_t number,
                                struct tape_request *request, struct lull_error *err)
{
    request->number = number;
    return number == LULL_TAPE_NEXT_REQUEST ? lull_tape_open_request(stream, request, err)
                                            : LULL_OK;
}

/* Of a send in the slots behind its record; an unknown one says nothing. */
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

/* The process with a number; false: there is none. */
static inline bool find_shared_process(const struct tape_stream *stream, int32_t number,
                                       int32_t *ret_process)
{
    const struct lull_trace *trace = stream->trace;
    *ret_process = number;
    if (number == LULL_ANY || number == LULL_PROC_NULL)
        return true;
    return (uint32_t)number < trace->n_processes &&
           stream->data->process_numbers[number] == (uint32_t)number; /* as nearly always */
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

/* Targets are process numbers: windows have no definition that could give them ranks. One may not
 * have been recorded. */
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
    else if (kind == LULL_EVENT_IO) /* of old tapes, in which files had no definitions: not known */
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

/* What is behind the number of a wait for threads. */
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
    return LULL_OK;
}

/* Everything that is neither a region nor a call. */
lull_status lull_tape_decode_other(struct tape_stream *stream, unsigned kind, unsigned extra,
                                   struct tape_out *out, struct lull_error *err)
{
    const struct lull_tape_record *record = &stream->at->record;
    uint32_t value = record->value, op = value & ~(UINT32_C(1) << 31);
    bool high = value >> 31;
    static const uint8_t least_extra[LULL_TAPE_KINDS] = {
        [LULL_TAPE_MESSAGE] = 2, [LULL_TAPE_COLLECTIVE] = 2, [LULL_TAPE_TRANSFER] = 1,
        [LULL_TAPE_NUMBER] = 1,  [LULL_TAPE_COUNTERS] = 1,   [LULL_TAPE_COMPLETE] = 1,
        [LULL_TAPE_COUNTS] = 1,  [LULL_TAPE_OPENED] = 1,     [LULL_TAPE_RESUME] = 1};
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
