/* Events as records of a tape, one for one. All ids are those of the trace. */
#include "tape/encode.h"
#include "trace/format/tape/write/writer.h"

/* Definitions have ids that fit (see lull_tape_writer_open); windows and files have none, and one
 * that does not fit is left out. */
static uint32_t id_or_none(uint32_t id)
{
    return id < LULL_TAPE_MOST_IDS ? id : LULL_TAPE_NO_ID;
}

static lull_status put_span(struct tape_writer *writer, uint32_t location, unsigned kind,
                            const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    unsigned extra = (uint64_t)event->duration >= LULL_TAPE_OPEN;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(
        kind, extra, kind == LULL_TAPE_STATE ? id_or_none(event->id) : LULL_TAPE_NO_ID);
    slots[0].record.value = extra ? 0 : (uint32_t)event->duration;
    slots[1].u64[0] = (uint64_t)event->duration;
    return lull_tape_put(writer, location, slots, 1 + extra, err);
}

static lull_status put_message_record(struct tape_writer *writer, uint32_t location, unsigned kind,
                                      const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[3] = {0};
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_MESSAGE, 2, id_or_none(event->id));
    slots[0].record.value = kind;
    slots[1].u64[0] = event->message.bytes;
    slots[1].u64[1] = event->message.request;
    slots[2].i32[0] = event->message.peer;
    slots[2].i32[1] = event->message.tag;
    slots[2].u32[2] = event->kind == LULL_EVENT_SEND ? event->op : 0;
    return lull_tape_put(writer, location, slots, 3, err);
}

static lull_status put_collective(struct tape_writer *writer, uint32_t location,
                                  const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[3] = {0};
    bool end = event->kind == LULL_EVENT_COLLECTIVE_END;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_COLLECTIVE, 2, id_or_none(event->id));
    slots[0].record.value = event->op | (uint32_t)end << 31;
    slots[1].u64[0] = event->collective.sent;
    slots[1].u64[1] = event->collective.received;
    slots[2].u64[0] = event->collective.request;
    slots[2].i32[2] = event->collective.root;
    return lull_tape_put(writer, location, slots, 3, err);
}

static lull_status put_transfer(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    bool rma = event->kind == LULL_EVENT_RMA;
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_TRANSFER, 1, id_or_none(event->id));
    slots[0].record.value = event->op | (uint32_t)rma << 31;
    slots[1].u64[0] = event->transfer.bytes;
    slots[1].i32[2] = event->transfer.target;
    return lull_tape_put(writer, location, slots, 2, err);
}

static lull_status put_number_record(struct tape_writer *writer, uint32_t location, unsigned kind,
                                     const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, id_or_none(event->id));
    slots[0].record.value = kind;
    slots[1].u64[0] = event->number;
    if (event->kind == LULL_EVENT_THREAD_WAIT_BEGIN || event->kind == LULL_EVENT_THREAD_WAIT_END) {
        const struct lull_trace *trace = writer->trace;
        const uint32_t other = event->meeting.location;
        slots[1].u32[2] =
            other < trace->n_locations ? trace->locations[other].number : LULL_TAPE_NO_LOCATION;
        slots[1].u32[3] = event->meeting.threads;
    }
    return lull_tape_put(writer, location, slots, 2, err);
}

static lull_status put_counter_record(struct tape_writer *writer, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t first = 0; status == LULL_OK && first < event->readings.count;
         first += LULL_TAPE_MOST_EXTRA) {
        union lull_tape_slot slots[1 + LULL_TAPE_MOST_EXTRA] = {0};
        uint32_t count = event->readings.count - first;
        if (count > LULL_TAPE_MOST_EXTRA)
            count = LULL_TAPE_MOST_EXTRA;
        slots[0].record.time = (uint64_t)event->time;
        slots[0].record.head = lull_tape_head(LULL_TAPE_COUNTERS, count, LULL_TAPE_NO_ID);
        for (uint32_t i = 0; i < count; i++) {
            slots[1 + i].u64[0] = event->readings.values[first + i].value;
            slots[1 + i].u32[2] = event->readings.values[first + i].counter;
        }
        status = lull_tape_put(writer, location, slots, 1 + count, err);
    }
    return status;
}

static lull_status put_region_record(struct tape_writer *writer, uint32_t location,
                                     const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    unsigned count = 1;
    if (event->kind == LULL_EVENT_CALL) {
        uint64_t more = lull_calls_of(event) - 1, duration = (uint64_t)event->duration;
        count = more ? lull_tape_put_calls(slots, (uint64_t)event->time, event->id, duration, more)
                     : lull_tape_put_call(slots, (uint64_t)event->time, event->id, duration);
    } else {
        unsigned kind = event->kind == LULL_EVENT_ENTER ? LULL_TAPE_ENTER : LULL_TAPE_LEAVE;
        slots[0].record.time = (uint64_t)event->time;
        slots[0].record.head = lull_tape_head(kind, 0, event->id);
    }
    return lull_tape_put(writer, location, slots, count, err);
}

/* What records with a sub-kind call an event: LULL_TAPE_MESSAGE_* or LULL_TAPE_NUMBER_*. */
static const uint8_t sub_kinds[LULL_EVENT_KINDS] = {
    [LULL_EVENT_SEND] = LULL_TAPE_MESSAGE_SEND,
    [LULL_EVENT_SEND_DONE] = LULL_TAPE_MESSAGE_SEND_DONE,
    [LULL_EVENT_RECV_POST] = LULL_TAPE_MESSAGE_RECV_POST,
    [LULL_EVENT_RECV] = LULL_TAPE_MESSAGE_RECV,
    [LULL_EVENT_REQUEST_TEST] = LULL_TAPE_MESSAGE_TEST,
    [LULL_EVENT_REQUEST_CANCELLED] = LULL_TAPE_MESSAGE_CANCELLED,
    [LULL_EVENT_REQUEST_FREED] = LULL_TAPE_MESSAGE_FREED,
    [LULL_EVENT_FORK] = LULL_TAPE_NUMBER_FORK,
    [LULL_EVENT_JOIN] = LULL_TAPE_NUMBER_JOIN,
    [LULL_EVENT_TEAM_BEGIN] = LULL_TAPE_NUMBER_TEAM_BEGIN,
    [LULL_EVENT_TEAM_END] = LULL_TAPE_NUMBER_TEAM_END,
    [LULL_EVENT_THREAD_BEGIN] = LULL_TAPE_NUMBER_THREAD_BEGIN,
    [LULL_EVENT_THREAD_END] = LULL_TAPE_NUMBER_THREAD_END,
    [LULL_EVENT_THREAD_CREATE] = LULL_TAPE_NUMBER_THREAD_CREATE,
    [LULL_EVENT_THREAD_WAIT_BEGIN] = LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN,
    [LULL_EVENT_THREAD_WAIT_END] = LULL_TAPE_NUMBER_THREAD_WAIT_END,
    [LULL_EVENT_TASK_CREATE] = LULL_TAPE_NUMBER_TASK_CREATE,
    [LULL_EVENT_TASK_SWITCH] = LULL_TAPE_NUMBER_TASK_SWITCH,
    [LULL_EVENT_TASK_COMPLETE] = LULL_TAPE_NUMBER_TASK_COMPLETE,
    [LULL_EVENT_LOCK_ACQUIRE] = LULL_TAPE_NUMBER_LOCK_ACQUIRE,
    [LULL_EVENT_LOCK_RELEASE] = LULL_TAPE_NUMBER_LOCK_RELEASE,
    [LULL_EVENT_MEASURE_OFF] = LULL_TAPE_NUMBER_MEASURE_OFF,
    [LULL_EVENT_MEASURE_ON] = LULL_TAPE_NUMBER_MEASURE_ON,
    [LULL_EVENT_MARKER] = LULL_TAPE_NUMBER_MARKER,
};

lull_status lull_tape_put_event(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
    case LULL_EVENT_CALL:
        return put_region_record(writer, location, event, err);
    case LULL_EVENT_STATE:
        return put_span(writer, location, LULL_TAPE_STATE, event, err);
    case LULL_EVENT_FLUSH:
        return put_span(writer, location, LULL_TAPE_FLUSH, event, err);
    case LULL_EVENT_SEND:
    case LULL_EVENT_SEND_DONE:
    case LULL_EVENT_RECV_POST:
    case LULL_EVENT_RECV:
    case LULL_EVENT_REQUEST_TEST:
    case LULL_EVENT_REQUEST_CANCELLED:
    case LULL_EVENT_REQUEST_FREED:
        return put_message_record(writer, location, sub_kinds[event->kind], event, err);
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        return put_collective(writer, location, event, err);
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        return put_transfer(writer, location, event, err);
    case LULL_EVENT_COUNTERS:
        return put_counter_record(writer, location, event, err);
    default:
        return put_number_record(writer, location, sub_kinds[event->kind], event, err);
    }
}
