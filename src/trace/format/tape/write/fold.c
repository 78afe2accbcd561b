/* Several events in one record: ENTER and LEAVE of the same region with nothing between become one
 * CALL; a CALL takes the message or collective that has its times with it. */
#include "trace/format/tape/write/writer.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the slots that hold a message or collective beside its call. */
static bool fits(const struct lull_event *call, uint32_t comm, uint64_t bytes)
{
    return call->op != LULL_SEVERAL && (uint64_t)call->duration < LULL_TAPE_OPEN &&
           comm < LULL_TAPE_NO_ROOT && bytes <= LULL_TAPE_BYTES_MASK;
}

/* The kind of record in which `call` and the message behind it become one; 0 if none. One with a
 * request opens the location's next one. */
static unsigned message_call_kind(const struct lull_event *call, const struct lull_event *message)
{
    const bool blocks = message->message.request == LULL_NO_REQUEST;
    if ((message->kind != LULL_EVENT_SEND &&
         message->kind != (blocks ? LULL_EVENT_RECV : LULL_EVENT_RECV_POST)) ||
        message->op != 0 || !fits(call, message->id, message->message.bytes))
        return 0;
    if (!blocks && message->time != call->time)
        return 0;
    if (!blocks)
        return message->kind == LULL_EVENT_SEND ? LULL_TAPE_CALL_ISEND : LULL_TAPE_CALL_IRECV;
    if (message->kind == LULL_EVENT_SEND)
        return message->time == call->time ? LULL_TAPE_CALL_SEND : 0;
    return message->time == call->time + call->duration ? LULL_TAPE_CALL_RECV : 0;
}

static bool begins_with(const struct lull_event *call, const struct lull_event *begin)
{
    return begin->kind == LULL_EVENT_COLLECTIVE_BEGIN && begin->time == call->time &&
           begin->collective.request == LULL_NO_REQUEST;
}

static bool has_root(const struct lull_event *event)
{
    const int32_t root = event->collective.root;
    return root >= LULL_ANY && (root < 0 || (uint32_t)root < LULL_TAPE_NO_ROOT);
}

static bool is_end_of_call(const struct lull_trace *trace, const struct lull_event *call,
                           const struct lull_event *begin, const struct lull_event *end)
{
    return end->kind == LULL_EVENT_COLLECTIVE_END && end->time == call->time + call->duration &&
           end->op == trace->regions[call->id].collective && end->op == begin->op &&
           end->id == begin->id && end->collective.request == LULL_NO_REQUEST &&
           end->collective.sent == begin->collective.sent &&
           end->collective.received == begin->collective.received &&
           end->collective.root == begin->collective.root && has_root(end) &&
           fits(call, end->id, end->collective.sent) &&
           end->collective.received <= LULL_TAPE_BYTES_MASK;
}

lull_status lull_tape_release_pending(struct tape_writer *writer, uint32_t location,
                                      struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    lull_status status = LULL_OK;
    if (lull_tape_holds_completions(out))
        return lull_tape_put_completions(writer, location, err);
    for (unsigned i = 0; status == LULL_OK && i < out->n_pending; i++)
        status = lull_tape_put_event(writer, location, &out->pending[i], err);
    out->n_pending = 0;
    return status;
}

lull_status lull_tape_shorten(struct tape_writer *writer, uint32_t location,
                              union lull_tape_slot *slots, size_t *count, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    const uint32_t number = lull_tape_shape_of_record(slots);
    struct lull_tape_shape shape = {.head = slots->record.head};
    memcpy(shape.words, slots + 1, (*count - 1) * sizeof *slots);
    if (!out->shapes)
        out->shapes = calloc(writer->n_shapes, sizeof *out->shapes);
    if (!out->shapes)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    struct lull_tape_shape *known = &out->shapes[number & (writer->n_shapes - 1)];
    if (memcmp(known, &shape, sizeof shape) != 0) {
        *known = shape;
        return LULL_OK;
    }
    slots->record.head = lull_tape_head(LULL_TAPE_CALL_LIKE, 0, number);
    *count = 1;
    return LULL_OK;
}

static lull_status put_shaped(struct tape_writer *writer, uint32_t location,
                              union lull_tape_slot *slots, struct lull_error *err)
{
    size_t count = 2;
    const lull_status status = lull_tape_shorten(writer, location, slots, &count, err);
    return status == LULL_OK ? lull_tape_put(writer, location, slots, count, err) : status;
}

static void make_message_call(unsigned kind, const struct lull_event *call,
                              const struct lull_event *event, union lull_tape_slot *slots)
{
    lull_tape_put_message_call(slots, kind, (uint64_t)call->time, call->id,
                               (uint32_t)call->duration, event->message.peer, event->message.tag,
                               event->id, event->message.bytes);
}

static void make_collective_call(unsigned kind, const struct lull_event *call,
                                 const struct lull_event *event, union lull_tape_slot *slots)
{
    const uint32_t root =
        event->collective.root < 0 ? LULL_TAPE_NO_ROOT : (uint32_t)event->collective.root;
    lull_tape_put_collective_call(slots, kind, (uint64_t)call->time, call->id,
                                  (uint32_t)call->duration, event->id, root, event->collective.sent,
                                  event->collective.received);
}

/* With the call that is held back, if there is one and it can be: then 2 slots, else 0. */
static unsigned fold_opening(const struct tape_writer *writer, const struct tape_location *out,
                             const struct lull_event *event, union lull_tape_slot *slots)
{
    const struct lull_event *call = &out->pending[0];
    if (out->n_pending != 1 || call->kind != LULL_EVENT_CALL || lull_tape_holds_completions(out))
        return 0;
    if (event->kind != LULL_EVENT_COLLECTIVE_BEGIN) {
        const unsigned kind = message_call_kind(call, event);
        if (kind == 0)
            return 0;
        make_message_call(kind, call, event, slots);
        return 2;
    }
    if (event->time != call->time || event->op != writer->trace->regions[call->id].collective ||
        !has_root(event) || !fits(call, event->id, event->collective.sent) ||
        event->collective.received > LULL_TAPE_BYTES_MASK)
        return 0;
    make_collective_call(LULL_TAPE_CALL_ICOLLECTIVE, call, event, slots);
    return 2;
}

/* Of an event that opens the location's next request. */
static lull_status take_opening(struct tape_writer *writer, uint32_t location,
                                const struct lull_event *event, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct lull_event unnumbered = *event;
    union lull_tape_slot slots[2];
    lull_status status = lull_tape_open_next(writer, location, event, err);
    if (status != LULL_OK)
        return status;
    if (fold_opening(writer, out, event, slots) > 0) {
        out->n_pending = 0;
        return put_shaped(writer, location, slots, err);
    }
    if (event->kind == LULL_EVENT_COLLECTIVE_BEGIN)
        unnumbered.collective.request = LULL_TAPE_NEXT_REQUEST;
    else
        unnumbered.message.request = LULL_TAPE_NEXT_REQUEST;
    status = lull_tape_release_pending(writer, location, err);
    return status == LULL_OK ? lull_tape_put_event(writer, location, &unnumbered, err) : status;
}

/* True when the event went into what was held back. */
static bool fold(struct tape_writer *writer, uint32_t location, const struct lull_event *event,
                 lull_status *ret_status, struct lull_error *err)
{
    struct tape_location *out = &writer->locations[location];
    struct lull_event *call = &out->pending[0];
    union lull_tape_slot slots[2];
    *ret_status = LULL_OK;
    if (out->n_pending == 0 || lull_tape_holds_completions(out))
        return false;
    if (call->kind == LULL_EVENT_ENTER) {
        if (event->kind != LULL_EVENT_LEAVE || event->id != call->id)
            return false;
        call->kind = LULL_EVENT_CALL;
        call->duration = event->time - call->time;
        return true;
    }
    if (out->n_pending == 2) {
        if (!is_end_of_call(writer->trace, call, &out->pending[1], event))
            return false;
        make_collective_call(LULL_TAPE_CALL_COLLECTIVE, call, event, slots);
    } else if (begins_with(call, event)) {
        out->pending[out->n_pending++] = *event;
        return true;
    } else {
        const unsigned kind = message_call_kind(call, event);
        if (kind != LULL_TAPE_CALL_SEND && kind != LULL_TAPE_CALL_RECV)
            return false;
        make_message_call(kind, call, event, slots);
    }
    out->n_pending = 0;
    *ret_status = put_shaped(writer, location, slots, err);
    return true;
}

static lull_status take_event(struct tape_writer *writer, uint32_t location,
                              const struct lull_event *event, struct lull_error *err)
{
    lull_status status;
    if (lull_tape_opens_next(&writer->locations[location], event))
        return take_opening(writer, location, event, err);
    if (lull_tape_complete(writer, location, event, &status, err))
        return status;
    if (fold(writer, location, event, &status, err))
        return status;
    status = lull_tape_release_pending(writer, location, err);
    if (status != LULL_OK)
        return status;
    if (event->kind != LULL_EVENT_ENTER && event->kind != LULL_EVENT_CALL)
        return lull_tape_put_event(writer, location, event, err);
    struct tape_location *out = &writer->locations[location];
    out->pending[0] = *event;
    out->n_pending = 1;
    return LULL_OK;
}

lull_status lull_tape_take_events(struct tape_writer *writer, const struct lull_block *block,
                                  struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t i = 0; status == LULL_OK && i < block->count; i++)
        status = take_event(writer, block->location, &block->events[i], err);
    return status;
}
