/* Decoding MPI calls with their messages, requests and completions. */
#include "tape/encode.h"
#include "trace/format/tape/read/stream.h"

#include <stdlib.h>

enum { MOST_REQUESTS = 1 << 24, FIRST_REQUESTS_BITS = 3 };

/* ---- requests -----------------------------------------------------------------------------------
 *
 * A hash table with linear probing holds the open ones: memory follows their number, however long
 * one of them stays open. It is not the table of base because entries leave it, one for one. */

static uint64_t home_of(const struct tape_requests *requests, uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - requests->bits);
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

/* NULL when the request is not open. Record numbers are 32 bits wide: they name one of the last
 * 2^32. */
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

/* Opened by a record that was not kept. */
static bool is_from_before(const struct tape_stream *stream, uint32_t number)
{
    const uint64_t back = (uint64_t)(uint32_t)((uint32_t)stream->requests.next - 1 - number) + 1;
    return stream->file->lost > 0 && back > stream->requests.next - stream->first_request;
}

/* Closes the gap with what was inserted behind it. */
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
            struct lull_event *event = &events[*count]; /* counts if it is wanted */
            fill_completion(event, request, waiting->time);
            if (cancelled)
                event->kind = LULL_EVENT_REQUEST_CANCELLED;
            else if (freed)
                event->kind = LULL_EVENT_REQUEST_FREED;
            complete_request(&stream->requests, request);
            *count += tape_wanted(stream, event->kind);
        }
        if (!request && range && fields[1] > 0) { /* all of them at once that are from before */
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

/* ---- shapes -----------------------------------------------------------------------------------
 */

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

/* The place of a record of a shaped kind that has its slots; NULL: no memory. */
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

/* That of the record at stream->at, whose slots hold what is in it. */
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

/* What happened in a call of that shape. */
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

/* The region of the call at stream->at, and what it is like; *ret_shape NULL: like none. */
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

/* The messages and operations of a call of a shaped kind, or like one. */
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
    if (kind == LULL_TAPE_CALL && extra)
        length = stream->at[1].u64[0];
    else if (extra && length == LULL_TAPE_OPEN) /* too long for its place: in the last slot */
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
    if (kind != LULL_TAPE_CALL_WAIT)
        return decode_operations(stream, kind, extra, region, like, begin, begin + duration, out,
                                 err);
    if (stream->requests_matter)
        lull_tape_begin_wait(stream, extra, begin + duration);
    return LULL_OK;
}
