/* Writing a tape from events: for conversion, and for runs that lull itself makes.
 *
 * ENTER and LEAVE of the same region with nothing between become one CALL; a CALL takes the
 * message or collective that has its times with it. All ids are those of the trace, written once
 * for the run. Buffers are small and files are open only while a buffer is written, so that the
 * number of locations is not bounded by the number of files that may be open. */
#include "base/array.h"
#include "base/file.h"
#include "tape/definition.h"
#include "tape/encode.h"
#include "trace/format.h"
#include "trace/format/tape/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BUFFER = 4 * LULL_TAPE_CHUNK, FIRST_BUFFER = 1024, MOST_BUFFERED = 96 << 20 };

struct location_output {
    unsigned char *buffer;
    uint32_t used;
    size_t capacity;
    uint64_t flushed; /* bytes of records in the file */
    /* Held back, because the next event may fold into them: an ENTER, or a CALL, or a CALL and
     * its COLLECTIVE_BEGIN. */
    struct lull_event pending[2];
    uint8_t n_pending;
    bool created;
};

struct tape_writer {
    const struct lull_trace *trace;
    struct lull_output *output;
    struct location_output *locations;
    size_t buffered; /* sum of capacities */
};

/* ---- bytes ------------------------------------------------------------------------------------
 */

static void path_of(const struct tape_writer *writer, uint32_t location, char *path, size_t size)
{
    uint32_t process = writer->trace->locations[location].process;
    uint32_t number = location - writer->trace->processes[process].first_location;
    snprintf(path, size, "%s/%u/%u.%u.tape", lull_output_path(writer->output),
             process / LULL_TAPE_GROUP, process, number);
}

static lull_status write_all(int fd, const void *bytes, size_t size, uint64_t offset,
                             const char *path, struct lull_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lull_fail_errno(err, "%s: cannot write", path);
        done += (size_t)n;
    }
    return LULL_OK;
}

static lull_status make_group(const struct tape_writer *writer, uint32_t location,
                              struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", lull_output_path(writer->output),
             writer->trace->locations[location].process / LULL_TAPE_GROUP);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return lull_fail_errno(err, "%s: cannot create", path);
    return LULL_OK;
}

static lull_status flush(struct tape_writer *writer, uint32_t location, const void *header,
                         struct lull_error *err)
{
    struct location_output *out = &writer->locations[location];
    char path[4096];
    path_of(writer, location, path, sizeof path);
    lull_status status = out->created ? LULL_OK : make_group(writer, location, err);
    if (status != LULL_OK)
        return status;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return lull_fail_errno(err, "%s: cannot create", path);
    out->created = true;
    status = write_all(fd, out->buffer, out->used, LULL_TAPE_HEADER_SIZE + out->flushed, path, err);
    if (status == LULL_OK && header)
        status = write_all(fd, header, LULL_TAPE_HEADER_SIZE, 0, path, err);
    if (close(fd) != 0 && status == LULL_OK)
        status = lull_fail_errno(err, "%s: cannot write", path);
    out->flushed += out->used;
    out->used = 0;
    return status;
}

static lull_status flush_everything(struct tape_writer *writer, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < writer->trace->n_locations; l++) {
        struct location_output *out = &writer->locations[l];
        if (out->used > 0)
            status = flush(writer, l, NULL, err);
        free(out->buffer);
        out->buffer = NULL;
        out->capacity = 0;
    }
    writer->buffered = 0;
    return status;
}

static lull_status make_room(struct tape_writer *writer, uint32_t location, size_t size,
                             struct lull_error *err)
{
    struct location_output *out = &writer->locations[location];
    if (out->used + size <= out->capacity)
        return LULL_OK;
    if (out->capacity >= MOST_BUFFER)
        return flush(writer, location, NULL, err);
    if (writer->buffered > MOST_BUFFERED) {
        lull_status status = flush_everything(writer, err);
        if (status != LULL_OK)
            return status;
    }
    size_t before = out->capacity, wanted = before ? before * 4 : FIRST_BUFFER;
    if (!lull_array_reserve(&out->buffer, &out->capacity, wanted, 1))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", writer->trace->path);
    writer->buffered += out->capacity - before;
    return LULL_OK;
}

static lull_status append(struct tape_writer *writer, uint32_t location,
                          const union lull_tape_slot *slots, size_t count, struct lull_error *err)
{
    lull_status status = make_room(writer, location, count * sizeof *slots, err);
    if (status != LULL_OK)
        return status;
    struct location_output *out = &writer->locations[location];
    memcpy(out->buffer + out->used, slots, count * sizeof *slots);
    out->used += (uint32_t)(count * sizeof *slots);
    return LULL_OK;
}

/* Appends one record; before one that would cross the end of the chunk, pads up to there. */
static lull_status put(struct tape_writer *writer, uint32_t location,
                       const union lull_tape_slot *slots, size_t count, struct lull_error *err)
{
    const struct location_output *out = &writer->locations[location];
    size_t left = (LULL_TAPE_CHUNK - (out->flushed + out->used) % LULL_TAPE_CHUNK) / sizeof *slots;
    if (count > left) {
        static const union lull_tape_slot padding[LULL_TAPE_MOST_EXTRA + 1] = {
            {.record = {.head = LULL_TAPE_PAD}}};
        lull_status status = append(writer, location, padding, left, err);
        if (status != LULL_OK)
            return status;
    }
    return append(writer, location, slots, count, err);
}

/* ---- events -----------------------------------------------------------------------------------
 */

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
    return put(writer, location, slots, 1 + extra, err);
}

static lull_status put_message(struct tape_writer *writer, uint32_t location, unsigned kind,
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
    return put(writer, location, slots, 3, err);
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
    return put(writer, location, slots, 3, err);
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
    return put(writer, location, slots, 2, err);
}

static lull_status put_number(struct tape_writer *writer, uint32_t location, unsigned kind,
                              const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    slots[0].record.time = (uint64_t)event->time;
    slots[0].record.head = lull_tape_head(LULL_TAPE_NUMBER, 1, id_or_none(event->id));
    slots[0].record.value = kind;
    slots[1].u64[0] = event->number;
    return put(writer, location, slots, 2, err);
}

static lull_status put_counters(struct tape_writer *writer, uint32_t location,
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
        status = put(writer, location, slots, 1 + count, err);
    }
    return status;
}

static lull_status put_region(struct tape_writer *writer, uint32_t location,
                              const struct lull_event *event, struct lull_error *err)
{
    union lull_tape_slot slots[2] = {0};
    unsigned count = 1;
    if (event->kind == LULL_EVENT_CALL) {
        count =
            lull_tape_put_call(slots, (uint64_t)event->time, event->id, (uint64_t)event->duration);
    } else {
        unsigned kind = event->kind == LULL_EVENT_ENTER ? LULL_TAPE_ENTER : LULL_TAPE_LEAVE;
        slots[0].record.time = (uint64_t)event->time;
        slots[0].record.head = lull_tape_head(kind, 0, event->id);
    }
    return put(writer, location, slots, count, err);
}

/* What records with a sub-kind call an event: LULL_TAPE_MESSAGE_* or LULL_TAPE_NUMBER_*. */
static const uint8_t sub_kinds[LULL_EVENT_KINDS] = {
    [LULL_EVENT_SEND] = LULL_TAPE_MESSAGE_SEND,
    [LULL_EVENT_SEND_DONE] = LULL_TAPE_MESSAGE_SEND_DONE,
    [LULL_EVENT_RECV_POST] = LULL_TAPE_MESSAGE_RECV_POST,
    [LULL_EVENT_RECV] = LULL_TAPE_MESSAGE_RECV,
    [LULL_EVENT_REQUEST_TEST] = LULL_TAPE_MESSAGE_TEST,
    [LULL_EVENT_REQUEST_CANCELLED] = LULL_TAPE_MESSAGE_CANCELLED,
    [LULL_EVENT_FORK] = LULL_TAPE_NUMBER_FORK,
    [LULL_EVENT_JOIN] = LULL_TAPE_NUMBER_JOIN,
    [LULL_EVENT_TEAM_BEGIN] = LULL_TAPE_NUMBER_TEAM_BEGIN,
    [LULL_EVENT_TEAM_END] = LULL_TAPE_NUMBER_TEAM_END,
    [LULL_EVENT_THREAD_BEGIN] = LULL_TAPE_NUMBER_THREAD_BEGIN,
    [LULL_EVENT_THREAD_END] = LULL_TAPE_NUMBER_THREAD_END,
    [LULL_EVENT_TASK_CREATE] = LULL_TAPE_NUMBER_TASK_CREATE,
    [LULL_EVENT_TASK_SWITCH] = LULL_TAPE_NUMBER_TASK_SWITCH,
    [LULL_EVENT_TASK_COMPLETE] = LULL_TAPE_NUMBER_TASK_COMPLETE,
    [LULL_EVENT_LOCK_ACQUIRE] = LULL_TAPE_NUMBER_LOCK_ACQUIRE,
    [LULL_EVENT_LOCK_RELEASE] = LULL_TAPE_NUMBER_LOCK_RELEASE,
    [LULL_EVENT_MEASURE_OFF] = LULL_TAPE_NUMBER_MEASURE_OFF,
    [LULL_EVENT_MEASURE_ON] = LULL_TAPE_NUMBER_MEASURE_ON,
    [LULL_EVENT_MARKER] = LULL_TAPE_NUMBER_MARKER,
};

static lull_status put_event(struct tape_writer *writer, uint32_t location,
                             const struct lull_event *event, struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
    case LULL_EVENT_CALL:
        return put_region(writer, location, event, err);
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
        return put_message(writer, location, sub_kinds[event->kind], event, err);
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        return put_collective(writer, location, event, err);
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        return put_transfer(writer, location, event, err);
    case LULL_EVENT_COUNTERS:
        return put_counters(writer, location, event, err);
    default:
        return put_number(writer, location, sub_kinds[event->kind], event, err);
    }
}

/* ---- folding ----------------------------------------------------------------------------------
 */

/* Limits of the slots that hold a message or collective beside its call. */
static bool fits(const struct lull_event *call, uint32_t comm, uint64_t bytes)
{
    return (uint64_t)call->duration < LULL_TAPE_OPEN && comm < LULL_TAPE_NO_ROOT &&
           bytes <= LULL_TAPE_BYTES_MASK;
}

/* The kind of record in which `call` and the blocking message behind it become one; 0 if none. */
static unsigned message_call_kind(const struct lull_event *call, const struct lull_event *message)
{
    if ((message->kind != LULL_EVENT_SEND && message->kind != LULL_EVENT_RECV) ||
        message->message.request != LULL_NO_REQUEST ||
        !fits(call, message->id, message->message.bytes))
        return 0;
    if (message->kind == LULL_EVENT_SEND)
        return message->time == call->time ? LULL_TAPE_CALL_SEND : 0;
    return message->time == call->time + call->duration ? LULL_TAPE_CALL_RECV : 0;
}

static bool begins_with(const struct lull_event *call, const struct lull_event *begin)
{
    return begin->kind == LULL_EVENT_COLLECTIVE_BEGIN && begin->time == call->time &&
           begin->collective.request == LULL_NO_REQUEST;
}

static bool ends_with(const struct lull_trace *trace, const struct lull_event *call,
                      const struct lull_event *begin, const struct lull_event *end)
{
    int32_t root = end->collective.root;
    return end->kind == LULL_EVENT_COLLECTIVE_END && end->time == call->time + call->duration &&
           end->op == trace->regions[call->id].collective && end->op == begin->op &&
           end->id == begin->id && end->collective.request == LULL_NO_REQUEST &&
           end->collective.sent == begin->collective.sent &&
           end->collective.received == begin->collective.received &&
           root == begin->collective.root && root >= LULL_ANY &&
           (root < 0 || (uint32_t)root < LULL_TAPE_NO_ROOT) &&
           fits(call, end->id, end->collective.sent) &&
           end->collective.received <= LULL_TAPE_BYTES_MASK;
}

static lull_status release_pending(struct tape_writer *writer, uint32_t location,
                                   struct lull_error *err)
{
    struct location_output *out = &writer->locations[location];
    lull_status status = LULL_OK;
    for (unsigned i = 0; status == LULL_OK && i < out->n_pending; i++)
        status = put_event(writer, location, &out->pending[i], err);
    out->n_pending = 0;
    return status;
}

/* True when the event went into what was held back. */
static bool fold(struct tape_writer *writer, uint32_t location, const struct lull_event *event,
                 lull_status *ret_status, struct lull_error *err)
{
    struct location_output *out = &writer->locations[location];
    struct lull_event *call = &out->pending[0];
    union lull_tape_slot slots[2];
    *ret_status = LULL_OK;
    if (out->n_pending == 0)
        return false;
    if (call->kind == LULL_EVENT_ENTER) {
        if (event->kind != LULL_EVENT_LEAVE || event->id != call->id)
            return false;
        call->kind = LULL_EVENT_CALL;
        call->duration = event->time - call->time;
        return true;
    }
    if (out->n_pending == 2) {
        if (!ends_with(writer->trace, call, &out->pending[1], event))
            return false;
        uint32_t root =
            event->collective.root < 0 ? LULL_TAPE_NO_ROOT : (uint32_t)event->collective.root;
        lull_tape_put_collective_call(slots, LULL_TAPE_CALL_COLLECTIVE, (uint64_t)call->time,
                                      call->id, (uint32_t)call->duration, event->id, root,
                                      event->collective.sent, event->collective.received);
    } else if (begins_with(call, event)) {
        out->pending[out->n_pending++] = *event;
        return true;
    } else {
        unsigned kind = message_call_kind(call, event);
        if (kind == 0)
            return false;
        lull_tape_put_message_call(slots, kind, (uint64_t)call->time, call->id,
                                   (uint32_t)call->duration, event->message.peer,
                                   event->message.tag, event->id, event->message.bytes);
    }
    out->n_pending = 0;
    *ret_status = put(writer, location, slots, 2, err);
    return true;
}

static lull_status take_event(struct tape_writer *writer, uint32_t location,
                              const struct lull_event *event, struct lull_error *err)
{
    lull_status status;
    if (fold(writer, location, event, &status, err))
        return status;
    status = release_pending(writer, location, err);
    if (status != LULL_OK)
        return status;
    if (event->kind != LULL_EVENT_ENTER && event->kind != LULL_EVENT_CALL)
        return put_event(writer, location, event, err);
    struct location_output *out = &writer->locations[location];
    out->pending[0] = *event;
    out->n_pending = 1;
    return LULL_OK;
}

static lull_status write_block(void *state, const struct lull_block *block, struct lull_error *err)
{
    struct tape_writer *writer = state;
    lull_status status = LULL_OK;
    for (uint32_t i = 0; status == LULL_OK && i < block->count; i++)
        status = take_event(writer, block->location, &block->events[i], err);
    return status;
}

/* ---- closing ----------------------------------------------------------------------------------
 */

static lull_status finish_location(struct tape_writer *writer, uint32_t location,
                                   struct lull_error *err)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    struct location_output *out = &writer->locations[location];
    lull_status status = release_pending(writer, location, err);
    if (status != LULL_OK)
        return status;
    union {
        struct lull_tape_header header;
        unsigned char page[LULL_TAPE_HEADER_SIZE];
    } top = {.page = {0}};
    memcpy(top.header.magic, LULL_TAPE_MAGIC, sizeof top.header.magic);
    top.header.version = LULL_TAPE_VERSION;
    top.header.byte_order = LULL_TAPE_BYTE_ORDER;
    top.header.header_size = LULL_TAPE_HEADER_SIZE;
    top.header.record_size = sizeof(struct lull_tape_record);
    top.header.process = definition->process;
    top.header.number = definition->number;
    top.header.kind = definition->kind == LULL_LOCATION_DEVICE;
    top.header.role = definition->role;
    top.header.flags = LULL_TAPE_SHARED_IDS | LULL_TAPE_CLOSED;
    top.header.source_id = definition->source_id;
    top.header.committed = out->flushed + out->used;
    snprintf(top.header.name, sizeof top.header.name, "%s", definition->name);
    return flush(writer, location, &top, err);
}

static lull_status write_anchor(const struct tape_writer *writer, struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/" LULL_TAPE_ANCHOR_NAME, lull_output_path(writer->output));
    FILE *out = fopen(path, "w");
    bool good = out && fputs(LULL_TAPE_ANCHOR, out) != EOF;
    if (out && fclose(out) != 0)
        good = false;
    return good ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status close_writer(void *state, bool commit, struct lull_error *err)
{
    struct tape_writer *writer = state;
    lull_status status = LULL_OK;
    for (uint32_t l = 0; commit && status == LULL_OK && l < writer->trace->n_locations; l++)
        status = finish_location(writer, l, err);
    if (commit && status == LULL_OK)
        status = lull_tape_write_definitions(writer->trace, lull_output_path(writer->output), err);
    if (commit && status == LULL_OK)
        status = write_anchor(writer, err);
    for (uint32_t l = 0; l < writer->trace->n_locations; l++)
        free(writer->locations[l].buffer);
    free(writer->locations);
    if (commit && status == LULL_OK)
        status = lull_output_commit(writer->output, err);
    else
        lull_output_discard(writer->output);
    free(writer);
    return status;
}

lull_status lull_tape_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                  struct lull_writer *ret_writer, struct lull_error *err)
{
    if (trace->n_nodes > LULL_TAPE_MOST_IDS || trace->n_regions > LULL_TAPE_MOST_IDS ||
        trace->n_states > LULL_TAPE_MOST_IDS || trace->n_comms > LULL_TAPE_MOST_IDS ||
        trace->n_counters > LULL_TAPE_MOST_IDS || trace->n_markers > LULL_TAPE_MOST_IDS)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: more than %u definitions of one kind",
                         trace->path, LULL_TAPE_MOST_IDS);
    struct tape_writer *writer = calloc(1, sizeof *writer);
    struct location_output *locations = calloc(trace->n_locations, sizeof *locations);
    if (!writer || !locations) {
        free(writer);
        free(locations);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    writer->trace = trace;
    writer->locations = locations;
    lull_status status = lull_output_begin(path, true, replace, &writer->output, err);
    if (status != LULL_OK) {
        free(writer);
        free(locations);
        return status;
    }
    *ret_writer =
        (struct lull_writer){.state = writer, .block = write_block, .close = close_writer};
    return LULL_OK;
}
