/* Writing: events of all locations in time order to lines of a .prv.
 *
 * What happens on a location at one time is gathered into one line. Calls and flushes end by
 * themselves: their ends wait in a heap. States are rebuilt from the regions where the trace has
 * none, by the rules by which a breakdown without states spends time; so reading back spends it
 * the same. */
#include "trace/format/paraver_codes.h"
#include "trace/format/paraver_match.h"
#include "trace/format/paraver_spool.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum {
    NO_ACTIVITY = LULL_ACTIVITIES,
    NOT_CREATED = 2, /* states */
    TRACING_DISABLED = 14,
};
#define NEVER       INT64_MAX
#define NO_POSITION UINT64_MAX

struct text {
    char *data; /* malloc'd */
    size_t length, capacity;
};

struct frame {
    uint32_t region, code;
    uint8_t activity; /* NO_ACTIVITY: of what surrounds it */
};

/* The line that is being gathered, and what goes on on a location. */
struct place {
    struct text pairs, own; /* lull's own events come last: parameters behind them are theirs */
    struct lull_reading *counters;
    uint32_t n_counters, counters_capacity;
    bool in_line; /* listed among those with something to write */

    struct frame *stack;
    uint32_t depth, capacity, parallel_depth;
    bool began, off;
    int64_t call_end, flush_end, last_time;

    uint32_t state;
    int64_t state_begin;
    uint64_t state_position; /* of the end field in the spool */

    bool changes;                 /* `pairs` holds fields of fixed width */
    size_t collective_at;         /* of the open collective's sizes in `pairs`, 1-based; 0: none */
    uint64_t collective_position; /* or in the spool */
};

struct deadline {
    int64_t time;
    uint32_t location;
};

struct prv_writer {
    const struct lull_trace *trace;
    struct lull_arena *arena;
    struct lull_prv_codes *codes;
    struct lull_output *prv, *pcf, *row;
    struct lull_prv_spool *spool;
    bool gzip;
    struct place *places;
    uint32_t *in_line; /* locations with a line at `now`; as many as there are */
    uint32_t n_in_line;
    int64_t now, end;
    struct deadline *heap;
    size_t n_heap, heap_capacity;
    struct lull_prv_matcher matcher;
    bool out_of_memory;
};

/* ---- text ------------------------------------------------------------------------------------ */

static void append(struct prv_writer *writer, struct text *text, const char *data, size_t length)
{
    if (text->length + length > text->capacity) {
        size_t capacity = (text->length + length) * 2;
        char *larger = realloc(text->data, capacity);
        if (!larger) {
            writer->out_of_memory = true;
            return;
        }
        text->data = larger;
        text->capacity = capacity;
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
}

static size_t put_digits(char *out, uint64_t number)
{
    char digits[20];
    size_t n = 0, length = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        out[length++] = digits[--n];
    return length;
}

static void append_pair(struct prv_writer *writer, struct text *text, uint64_t type, uint64_t value)
{
    char pair[2 * 21];
    size_t length = 0;
    pair[length++] = ':';
    length += put_digits(pair + length, type);
    pair[length++] = ':';
    length += put_digits(pair + length, value);
    append(writer, text, pair, length);
}

static size_t put_object(const struct prv_writer *writer, char *out, uint32_t location)
{
    const struct lull_trace *trace = writer->trace;
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    size_t length = put_digits(out, writer->codes->cpus[location]);
    out[length++] = ':';
    length += put_digits(out + length, process->application + UINT64_C(1));
    out[length++] = ':';
    length += put_digits(out + length, process->rank + UINT64_C(1));
    out[length++] = ':';
    length += put_digits(out + length, location - process->first_location + UINT64_C(1));
    out[length++] = ':';
    return length;
}

/* ---- lines of events ------------------------------------------------------------------------- */

static void put_line(struct prv_writer *writer, uint32_t location)
{
    struct place *place = &writer->places[location];
    char head[128];
    size_t length = 0;
    if (place->changes)
        head[length++] = 'P';
    head[length++] = '2';
    head[length++] = ':';
    length += put_object(writer, head + length, location);
    length += put_digits(head + length, (uint64_t)writer->now);
    size_t before_pairs = length;
    for (uint32_t i = 0; i < place->n_counters; i++)
        append_pair(writer, &place->pairs, writer->codes->counters[place->counters[i].counter].type,
                    place->counters[i].value);
    append(writer, &place->pairs, place->own.data, place->own.length);
    append(writer, &place->pairs, "\n", 1);
    /* in one piece, so that the spool cannot part it */
    struct text line = {0};
    append(writer, &line, head, length);
    append(writer, &line, place->pairs.data, place->pairs.length);
    if (!writer->out_of_memory) {
        uint64_t position = lull_prv_spool_add(writer->spool, line.data, line.length);
        if (place->collective_at > 0)
            place->collective_position = position + before_pairs + place->collective_at - 1;
    }
    free(line.data);
    place->collective_at = 0;
    place->changes = false;
    place->pairs.length = place->own.length = 0;
    place->n_counters = 0;
    place->in_line = false;
}

static void put_lines(struct prv_writer *writer)
{
    for (uint32_t i = 0; i < writer->n_in_line; i++)
        put_line(writer, writer->in_line[i]);
    writer->n_in_line = 0;
}

static struct place *open_line(struct prv_writer *writer, uint32_t location)
{
    struct place *place = &writer->places[location];
    if (!place->in_line) {
        place->in_line = true;
        writer->in_line[writer->n_in_line++] = location;
    }
    return place;
}

static void pair(struct prv_writer *writer, uint32_t location, uint64_t type, uint64_t value)
{
    append_pair(writer, &open_line(writer, location)->pairs, type, value);
}

static void own_pair(struct prv_writer *writer, uint32_t location, uint64_t type, uint64_t value)
{
    append_pair(writer, &open_line(writer, location)->own, type, value);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void begin_state(struct prv_writer *writer, uint32_t location, uint32_t state)
{
    struct place *place = &writer->places[location];
    char line[192] = "P1:";
    size_t length = 3;
    length += put_object(writer, line + length, location);
    length += put_digits(line + length, (uint64_t)writer->now);
    line[length++] = ':';
    size_t field = length;
    length += (size_t)snprintf(line + length, sizeof line - length, "%0*lld:%0*u\n", LULL_PRV_FIELD,
                               (long long)writer->now, LULL_PRV_FIELD, state);
    place->state = state;
    place->state_begin = writer->now;
    place->state_position = lull_prv_spool_add(writer->spool, line, length) + field;
}

/* Those of no length, which take turns at one time, are one line whose state changes. */
static void change_state(struct prv_writer *writer, uint32_t location, uint32_t state)
{
    struct place *place = &writer->places[location];
    if (place->state == state)
        return;
    if (place->state_begin == writer->now) {
        place->state = state;
        lull_prv_spool_patch(writer->spool, place->state_position + LULL_PRV_FIELD + 1, state);
        return;
    }
    lull_prv_spool_patch(writer->spool, place->state_position, (uint64_t)writer->now);
    begin_state(writer, location, state);
}

static uint32_t base_state(const struct prv_writer *writer, uint32_t location, bool alive)
{
    const struct lull_location *definition = &writer->trace->locations[location];
    const struct place *place = &writer->places[location];
    if (definition->kind == LULL_LOCATION_DEVICE)
        return lull_prv_state_of(LULL_IDLE);
    if (definition->role == LULL_THREAD_WORKER)
        return lull_prv_state_of(place->parallel_depth ? LULL_USEFUL : LULL_IDLE);
    return alive ? lull_prv_state_of(LULL_USEFUL) : NOT_CREATED;
}

static uint32_t state_now(const struct prv_writer *writer, uint32_t location, bool alive)
{
    const struct place *place = &writer->places[location];
    uint8_t top = place->depth ? place->stack[place->depth - 1].activity : NO_ACTIVITY;
    if (place->off)
        return TRACING_DISABLED;
    if (place->flush_end != NEVER)
        return lull_prv_state_of(LULL_FLUSH);
    return top == NO_ACTIVITY ? base_state(writer, location, alive) : lull_prv_state_of(top);
}

static void update_state(struct prv_writer *writer, uint32_t location)
{
    if (!writer->trace->has_states)
        change_state(writer, location, state_now(writer, location, writer->places[location].began));
}

static void put_state(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    char line[192] = "1:";
    size_t length = 2;
    length += put_object(writer, line + length, location);
    length += put_digits(line + length, (uint64_t)event->time);
    line[length++] = ':';
    length += put_digits(line + length, (uint64_t)(event->time + event->duration));
    line[length++] = ':';
    length += put_digits(line + length, writer->codes->states[event->id]);
    line[length++] = '\n';
    lull_prv_spool_add(writer->spool, line, length);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The code to enter a region by: in a type that does not stack only one can be open. */
static uint32_t code_of(const struct prv_writer *writer, const struct place *place, uint32_t region)
{
    const struct lull_prv_code *codes = writer->codes->regions;
    for (uint32_t i = 0; !codes[region].nests && i < place->depth; i++)
        if (codes[place->stack[i].code].type == codes[region].type)
            return writer->trace->n_regions + region;
    return region;
}

static void enter(struct prv_writer *writer, uint32_t location, uint32_t region)
{
    struct place *place = &writer->places[location];
    uint32_t code = code_of(writer, place, region);
    if (place->depth == place->capacity) {
        uint32_t capacity = place->capacity ? place->capacity * 2 : 8;
        struct frame *larger = realloc(place->stack, capacity * sizeof *larger);
        if (!larger) {
            writer->out_of_memory = true;
            return;
        }
        place->stack = larger;
        place->capacity = capacity;
    }
    uint8_t activity =
        lull_activity_on(&writer->trace->regions[region], writer->trace->locations[location].kind);
    if (activity == NO_ACTIVITY && place->depth > 0)
        activity = place->stack[place->depth - 1].activity;
    place->stack[place->depth++] = (struct frame){region, code, activity};
    place->parallel_depth += writer->trace->regions[region].parallel;
    writer->codes->regions[code].used = true;
    pair(writer, location, writer->codes->regions[code].type, writer->codes->regions[code].value);
}

static void leave(struct prv_writer *writer, uint32_t location)
{
    struct place *place = &writer->places[location];
    if (place->depth == 0)
        return;
    const struct frame *frame = &place->stack[--place->depth];
    place->parallel_depth -= writer->trace->regions[frame->region].parallel;
    pair(writer, location, writer->codes->regions[frame->code].type, 0);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static bool before(const struct deadline *a, const struct deadline *b)
{
    return a->time != b->time ? a->time < b->time : a->location < b->location;
}

static void add_deadline(struct prv_writer *writer, int64_t time, uint32_t location)
{
    if (writer->n_heap == writer->heap_capacity) {
        size_t capacity = writer->heap_capacity ? writer->heap_capacity * 2 : 64;
        struct deadline *larger = realloc(writer->heap, capacity * sizeof *larger);
        if (!larger) {
            writer->out_of_memory = true;
            return;
        }
        writer->heap = larger;
        writer->heap_capacity = capacity;
    }
    struct deadline added = {time, location};
    size_t at = writer->n_heap++;
    for (; at > 0 && before(&added, &writer->heap[(at - 1) / 2]); at = (at - 1) / 2)
        writer->heap[at] = writer->heap[(at - 1) / 2];
    writer->heap[at] = added;
}

static struct deadline take_deadline(struct prv_writer *writer)
{
    struct deadline first = writer->heap[0], last = writer->heap[--writer->n_heap];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= writer->n_heap)
            break;
        if (child + 1 < writer->n_heap && before(&writer->heap[child + 1], &writer->heap[child]))
            child++;
        if (!before(&writer->heap[child], &last))
            break;
        writer->heap[at] = writer->heap[child];
        at = child;
    }
    writer->heap[at] = last;
    return first;
}

static void move_to(struct prv_writer *writer, int64_t time)
{
    if (time <= writer->now)
        return;
    put_lines(writer);
    writer->now = time;
}

static void end_call(struct prv_writer *writer, uint32_t location)
{
    struct place *place = &writer->places[location];
    if (place->call_end == NEVER)
        return;
    place->call_end = NEVER;
    leave(writer, location);
}

/* What has ended by itself on a location by now. A deadline whose call was cut finds nothing. */
static void end_due(struct prv_writer *writer, uint32_t location)
{
    struct place *place = &writer->places[location];
    if (place->call_end <= writer->now)
        end_call(writer, location);
    if (place->flush_end <= writer->now) {
        place->flush_end = NEVER;
        pair(writer, location, LULL_PRV_FLUSH, 0);
    }
}

/* All that ends before `time`; at the same time messages and collectives of a call come first. */
static void pass_deadlines(struct prv_writer *writer, int64_t time)
{
    while (writer->n_heap > 0 && writer->heap[0].time < time) {
        struct deadline deadline = take_deadline(writer);
        struct place *place = &writer->places[deadline.location];
        move_to(writer, deadline.time);
        place->last_time = writer->now > place->last_time ? writer->now : place->last_time;
        end_due(writer, deadline.location);
        update_state(writer, deadline.location);
    }
}

/* ---- messages and collectives ---------------------------------------------------------------- */

static void put_message(struct prv_writer *writer, const struct lull_prv_waiting *send,
                        const struct lull_prv_waiting *receive)
{
    char line[320] = "3:";
    size_t length = 2;
    length += put_object(writer, line + length, send->location);
    length += (size_t)snprintf(line + length, sizeof line - length,
                               "%lld:%lld:", (long long)send->time, (long long)send->time);
    length += put_object(writer, line + length, receive->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%llu:%d\n",
                               (long long)receive->time, (long long)receive->time,
                               (unsigned long long)receive->bytes, receive->tag);
    lull_prv_spool_add(writer->spool, line, length);
}

static uint64_t comm_id(const struct prv_writer *writer, uint32_t comm)
{
    return comm < writer->trace->n_comms ? writer->codes->comms[comm] : 0;
}

static uint64_t target_of(int32_t process)
{
    return process == LULL_PROC_NULL ? LULL_PRV_NOBODY : (uint64_t)(process + INT64_C(1));
}

/* To or from nobody: no other half will come. */
static void lone_message(struct prv_writer *writer, uint32_t location,
                         const struct lull_event *event)
{
    own_pair(writer, location,
             event->kind == LULL_EVENT_SEND ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE, 1);
    own_pair(writer, location, LULL_PRV_RMA_SIZE, event->message.bytes);
    own_pair(writer, location, LULL_PRV_RMA_TARGET, target_of(event->message.peer));
    own_pair(writer, location, LULL_PRV_OWN_TAG, (uint32_t)event->message.tag);
    if (comm_id(writer, event->id))
        own_pair(writer, location, LULL_PRV_COMMUNICATOR, comm_id(writer, event->id));
}

static void message(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    bool send = event->kind == LULL_EVENT_SEND;
    uint32_t process = writer->trace->locations[location].process;
    if (event->message.peer < 0 || (uint32_t)event->message.peer >= writer->trace->n_processes) {
        lone_message(writer, location, event);
        return;
    }
    uint32_t peer = (uint32_t)event->message.peer;
    struct lull_prv_waiting half = {.comm = event->id,
                                    .source = send ? process : peer,
                                    .destination = send ? peer : process,
                                    .tag = event->message.tag,
                                    .send = send,
                                    .location = location,
                                    .time = event->time,
                                    .bytes = event->message.bytes};
    struct lull_prv_waiting *other;
    if (!lull_prv_match(&writer->matcher, &half, &other)) {
        writer->out_of_memory = true;
        return;
    }
    if (other)
        put_message(writer, send ? &half : other, send ? other : &half);
    free(other);
}

/* Whether the event can be told by Extrae's parameters: blocking, in a call of its kind. */
static bool is_standard(const struct prv_writer *writer, uint32_t location,
                        const struct lull_event *event)
{
    const struct place *place = &writer->places[location];
    if (event->collective.request != LULL_NO_REQUEST || place->depth == 0)
        return false;
    const struct frame *top = &place->stack[place->depth - 1];
    return writer->codes->regions[top->code].type == LULL_PRV_MPI_COLLECTIVE &&
           (event->op == writer->trace->regions[top->region].collective ||
            event->op == LULL_COLLECTIVE_UNKNOWN);
}

static const uint64_t collective_parameters[] = {LULL_PRV_SEND_SIZE, LULL_PRV_RECEIVE_SIZE,
                                                 LULL_PRV_IS_ROOT, LULL_PRV_COMMUNICATOR};
enum {
    N_PARAMETERS = sizeof collective_parameters / sizeof *collective_parameters,
    PARAMETER_WIDTH = 1 + 8 + 1 + LULL_PRV_FIELD /* ":50100001:" and the field */
};

/* The sizes stand on the line of the begin and are known at the end. */
static void begin_collective(struct prv_writer *writer, uint32_t location,
                             const struct lull_event *event)
{
    struct place *place = &writer->places[location];
    if (place->collective_at > 0 || place->collective_position != NO_POSITION ||
        !is_standard(writer, location, event)) {
        own_pair(writer, location, LULL_PRV_OWN_EVENTS + 12, event->op + UINT64_C(1));
        if (comm_id(writer, event->id))
            own_pair(writer, location, LULL_PRV_COMMUNICATOR, comm_id(writer, event->id));
        return;
    }
    open_line(writer, location);
    place->changes = true;
    place->collective_at = place->pairs.length + 1;
    for (int i = 0; i < N_PARAMETERS; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, ":%llu:%0*d",
                              (unsigned long long)collective_parameters[i], LULL_PRV_FIELD, 0);
        append(writer, &place->pairs, text, (size_t)length);
    }
}

static void patch_collective(struct prv_writer *writer, struct place *place,
                             const uint64_t values[N_PARAMETERS])
{
    for (int i = 0; i < N_PARAMETERS; i++) {
        size_t field = (size_t)i * PARAMETER_WIDTH + PARAMETER_WIDTH - LULL_PRV_FIELD;
        if (place->collective_position != NO_POSITION) {
            lull_prv_spool_patch(writer->spool, place->collective_position + field, values[i]);
            continue;
        }
        char text[LULL_PRV_FIELD + 1];
        snprintf(text, sizeof text, "%0*llu", LULL_PRV_FIELD, (unsigned long long)values[i]);
        memcpy(place->pairs.data + place->collective_at - 1 + field, text, LULL_PRV_FIELD);
    }
    place->collective_at = 0;
    place->collective_position = NO_POSITION;
}

static void end_collective(struct prv_writer *writer, uint32_t location,
                           const struct lull_event *event)
{
    struct place *place = &writer->places[location];
    uint32_t process = writer->trace->locations[location].process;
    uint64_t comm = comm_id(writer, event->id);
    bool begun = place->collective_at > 0 || place->collective_position != NO_POSITION;
    if (begun && is_standard(writer, location, event)) {
        bool root = event->collective.root >= 0 && (uint32_t)event->collective.root == process;
        const uint64_t values[] = {event->collective.sent, event->collective.received, root, comm};
        patch_collective(writer, place, values);
        return;
    }
    own_pair(writer, location, LULL_PRV_OWN_EVENTS + 13, event->op + UINT64_C(1));
    own_pair(writer, location, LULL_PRV_SEND_SIZE, event->collective.sent);
    own_pair(writer, location, LULL_PRV_RECEIVE_SIZE, event->collective.received);
    if (comm)
        own_pair(writer, location, LULL_PRV_COMMUNICATOR, comm);
    if (event->collective.root >= 0)
        own_pair(writer, location, LULL_PRV_OWN_ROOT, (uint64_t)event->collective.root + 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Readings at one time add up: the reader takes the first of a time alone. */
static void counters(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    if (event->readings.count == 0)
        return;
    struct place *place = open_line(writer, location);
    for (uint32_t i = 0; i < event->readings.count; i++) {
        const struct lull_reading *reading = &event->readings.values[i];
        uint32_t at = 0;
        while (at < place->n_counters && place->counters[at].counter != reading->counter)
            at++;
        if (at == place->counters_capacity) {
            uint32_t capacity = at ? at * 2 : 8;
            struct lull_reading *larger = realloc(place->counters, capacity * sizeof *larger);
            if (!larger) {
                writer->out_of_memory = true;
                return;
            }
            place->counters = larger;
            place->counters_capacity = capacity;
        }
        if (at == place->n_counters)
            place->counters[place->n_counters++] =
                (struct lull_reading){.counter = reading->counter};
        place->counters[at].value += reading->value;
    }
}

/* Events that Extrae does not write: type, and value 1 or number + 1. */
static void own_event(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    uint64_t type = 0, value = 1;
    for (size_t i = 0; i < lull_prv_n_known_types; i++)
        if (lull_prv_known_types[i].kind == LULL_PRV_OWN &&
            lull_prv_known_types[i].index == event->kind)
            type = lull_prv_known_types[i].number;
    switch (event->kind) {
    case LULL_EVENT_FORK:
    case LULL_EVENT_TASK_CREATE:
    case LULL_EVENT_TASK_SWITCH:
    case LULL_EVENT_TASK_COMPLETE:
    case LULL_EVENT_LOCK_ACQUIRE:
    case LULL_EVENT_LOCK_RELEASE:
        value = event->number + 1;
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        value = event->op + UINT64_C(1);
        break;
    default:
        break;
    }
    if (type == 0)
        return; /* requests: Paraver knows complete messages only */
    own_pair(writer, location, type, value);
    if (event->kind != LULL_EVENT_RMA && event->kind != LULL_EVENT_IO)
        return;
    own_pair(writer, location, LULL_PRV_RMA_SIZE, event->transfer.bytes);
    own_pair(writer, location, LULL_PRV_RMA_TARGET, target_of(event->transfer.target));
}

static void call(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    end_call(writer, location);
    enter(writer, location, event->id);
    writer->places[location].call_end = event->time + event->duration;
    add_deadline(writer, event->time + event->duration, location);
}

static void flush(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct place *place = &writer->places[location];
    int64_t end = event->time + event->duration;
    if (place->flush_end == NEVER)
        pair(writer, location, LULL_PRV_FLUSH, 1);
    if (place->flush_end == NEVER || place->flush_end < end)
        place->flush_end = end;
    add_deadline(writer, end, location);
}

static void team(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct place *place = &writer->places[location];
    if (event->kind == LULL_EVENT_TEAM_BEGIN)
        place->parallel_depth++;
    else if (place->parallel_depth > 0)
        place->parallel_depth--;
    own_event(writer, location, event);
}

/* Before these what ends at the same time has ended. */
#define BEGINS_OR_ENDS \
    (LULL_MASK_TIME & ~(LULL_MASK(LULL_EVENT_STATE) | LULL_MASK(LULL_EVENT_COUNTERS)))

static void put_event(struct prv_writer *writer, uint32_t location, const struct lull_event *event)
{
    struct place *place = &writer->places[location];
    if (BEGINS_OR_ENDS >> event->kind & 1)
        end_due(writer, location);
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        end_call(writer, location);
        enter(writer, location, event->id);
        break;
    case LULL_EVENT_LEAVE:
        end_call(writer, location);
        leave(writer, location);
        break;
    case LULL_EVENT_CALL:
        call(writer, location, event);
        break;
    case LULL_EVENT_STATE:
        put_state(writer, location, event);
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        message(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
        begin_collective(writer, location, event);
        break;
    case LULL_EVENT_COLLECTIVE_END:
        end_collective(writer, location, event);
        break;
    case LULL_EVENT_COUNTERS:
        counters(writer, location, event);
        break;
    case LULL_EVENT_FLUSH:
        flush(writer, location, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        team(writer, location, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        place->off = event->kind == LULL_EVENT_MEASURE_OFF;
        pair(writer, location, LULL_PRV_TRACING, !place->off);
        break;
    case LULL_EVENT_MARKER:
        writer->codes->markers[event->id].used = true;
        pair(writer, location, writer->codes->markers[event->id].type, event->number);
        break;
    default:
        own_event(writer, location, event);
    }
}

/* A thread lives from its first event to its last, among those that say how it spends its time. */
static void note_life(struct place *place, const struct lull_event *event)
{
    if (!(LULL_MASK_TIME >> event->kind & 1))
        return;
    place->last_time = event->time;
    place->began = event->kind != LULL_EVENT_THREAD_END;
}

static lull_status write_block(void *state, const struct lull_block *block, struct lull_error *err)
{
    struct prv_writer *writer = state;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        pass_deadlines(writer, event->time);
        move_to(writer, event->time);
        note_life(&writer->places[block->location], event);
        put_event(writer, block->location, event);
        update_state(writer, block->location);
    }
    if (writer->out_of_memory)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    return LULL_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What is known only at the end but belongs before lines already written, put in place on copying:
 * a last state, or a message that found no other half. */
struct late {
    int64_t time;
    uint32_t location, state;
    const struct lull_prv_waiting *message; /* NULL: a state */
};

struct copy {
    const struct prv_writer *writer;
    gzFile gzip;
    FILE *file;
    struct late *late; /* sorted by time */
    size_t n_late, next_late;
    bool failed;
};

static void put_bytes(struct copy *copy, const char *data, size_t length)
{
    if (copy->gzip)
        copy->failed |= gzwrite(copy->gzip, data, (unsigned)length) != (int)length;
    else
        copy->failed |= fwrite(data, 1, length, copy->file) != length;
}

static void put_string(void *context, const char *text)
{
    put_bytes(context, text, strlen(text));
}

static void put_late_state(struct copy *copy, const struct late *late)
{
    char line[192] = "1:";
    size_t length = 2;
    length += put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(line + length, sizeof line - length, "%lld:%lld:%u\n",
                               (long long)late->time, (long long)copy->writer->end, late->state);
    put_bytes(copy, line, length);
}

static void put_late_message(struct copy *copy, const struct late *late)
{
    const struct lull_prv_waiting *half = late->message;
    uint64_t comm = comm_id(copy->writer, half->comm);
    char line[320] = "2:";
    size_t length = 2;
    length += put_object(copy->writer, line + length, late->location);
    length += (size_t)snprintf(
        line + length, sizeof line - length, "%lld:%u:1:%u:%llu:%u:%llu:%u:%u",
        (long long)late->time, half->send ? LULL_PRV_OWN_SEND : LULL_PRV_OWN_RECEIVE,
        LULL_PRV_RMA_SIZE, (unsigned long long)half->bytes, LULL_PRV_RMA_TARGET,
        (half->send ? half->destination : half->source) + 1ull, LULL_PRV_OWN_TAG,
        (uint32_t)half->tag);
    if (comm)
        length += (size_t)snprintf(line + length, sizeof line - length, ":%u:%llu",
                                   LULL_PRV_COMMUNICATOR, (unsigned long long)comm);
    line[length++] = '\n';
    put_bytes(copy, line, length);
}

static void put_late(struct copy *copy, int64_t until)
{
    for (; copy->next_late < copy->n_late; copy->next_late++) {
        const struct late *late = &copy->late[copy->next_late];
        if (late->time > until)
            break;
        if (late->message)
            put_late_message(copy, late);
        else
            put_late_state(copy, late);
    }
}

/* Time of a state or event line: the sixth field. */
static int64_t time_of(const char *line, size_t length)
{
    int colons = 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] == ':' && ++colons == 5)
            return strtoll(line + i + 1, NULL, 10);
    return 0;
}

static void copy_line(void *context, const char *line, size_t length)
{
    struct copy *copy = context;
    if (copy->next_late < copy->n_late && line[0] != '3')
        put_late(copy, time_of(line, length));
    put_bytes(copy, line, length);
}

static int compare_late(const void *a, const void *b)
{
    const struct late *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->location < right->location ? -1 : left->location > right->location;
}

/* The last states: from the last event on a thread of the program is not there any more. */
static void end_states(struct prv_writer *writer, struct copy *copy)
{
    for (uint32_t l = 0; !writer->trace->has_states && l < writer->trace->n_locations; l++) {
        struct place *place = &writer->places[l];
        uint32_t state = state_now(writer, l, false);
        int64_t end = writer->end;
        if (state != place->state && place->last_time <= place->state_begin) {
            lull_prv_spool_patch(writer->spool, place->state_position + LULL_PRV_FIELD + 1, state);
        } else if (state != place->state && place->last_time < end) {
            end = place->last_time;
            copy->late[copy->n_late++] = (struct late){end, l, state, NULL};
        }
        lull_prv_spool_patch(writer->spool, place->state_position, (uint64_t)end);
    }
}

static void end_messages(const struct prv_writer *writer, struct copy *copy)
{
    const struct lull_prv_matcher *matcher = &writer->matcher;
    for (size_t b = 0; b < matcher->n_buckets; b++)
        for (const struct lull_prv_waiting *half = matcher->buckets[b].first; half;
             half = half->next)
            copy->late[copy->n_late++] = (struct late){half->time, half->location, 0, half};
}

static lull_status copy_all(struct prv_writer *writer, struct copy *copy, struct lull_error *err)
{
    const char *path = lull_output_path(writer->prv);
    if (writer->gzip)
        copy->gzip = gzopen(path, "wb");
    else
        copy->file = fopen(path, "we");
    if (!copy->gzip && !copy->file)
        return lull_fail_errno(err, "%s: cannot write", path);
    lull_prv_write_header(writer->trace, writer->codes, writer->end, put_string, copy);
    lull_status status = lull_prv_spool_read(writer->spool, copy_line, copy, err);
    put_late(copy, INT64_MAX);
    if (copy->gzip)
        copy->failed |= gzclose(copy->gzip) != Z_OK;
    else
        copy->failed |= fclose(copy->file) != 0;
    if (status == LULL_OK && copy->failed)
        status = lull_fail_errno(err, "%s: cannot write", path);
    return status;
}

static lull_status finish(struct prv_writer *writer, struct lull_error *err)
{
    pass_deadlines(writer, INT64_MAX);
    put_lines(writer);
    writer->end = writer->now > writer->trace->duration ? writer->now : writer->trace->duration;
    struct copy copy = {.writer = writer};
    copy.late = calloc(writer->trace->n_locations + writer->matcher.n_waiting, sizeof *copy.late);
    if (!copy.late || writer->out_of_memory) {
        free(copy.late);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", lull_output_path(writer->prv));
    }
    end_states(writer, &copy);
    end_messages(writer, &copy);
    qsort(copy.late, copy.n_late, sizeof *copy.late, compare_late);
    lull_status status = copy_all(writer, &copy, err);
    free(copy.late);
    if (status == LULL_OK)
        status =
            lull_prv_write_pcf(writer->trace, writer->codes, lull_output_path(writer->pcf), err);
    if (status == LULL_OK)
        status =
            lull_prv_write_row(writer->trace, writer->codes, lull_output_path(writer->row), err);
    return status;
}

/* The .prv appears last: where it is, its companions are. */
static lull_status commit_all(struct prv_writer *writer, struct lull_error *err)
{
    struct lull_output **outputs[] = {&writer->pcf, &writer->row, &writer->prv};
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < sizeof outputs / sizeof *outputs; i++) {
        status = lull_output_commit(*outputs[i], err);
        *outputs[i] = NULL;
    }
    return status;
}

static void release(struct prv_writer *writer)
{
    for (uint32_t l = 0; writer->places && l < writer->trace->n_locations; l++) {
        free(writer->places[l].pairs.data);
        free(writer->places[l].own.data);
        free(writer->places[l].counters);
        free(writer->places[l].stack);
    }
    free(writer->places);
    free(writer->in_line);
    free(writer->heap);
    lull_prv_matcher_free(&writer->matcher);
    lull_prv_spool_close(writer->spool);
    lull_output_discard(writer->prv);
    lull_output_discard(writer->pcf);
    lull_output_discard(writer->row);
    lull_arena_destroy(writer->arena);
    free(writer);
}

static lull_status close_writer(void *state, bool commit, struct lull_error *err)
{
    struct prv_writer *writer = state;
    lull_status status = LULL_OK;
    if (commit)
        status = finish(writer, err);
    if (commit && status == LULL_OK)
        status = commit_all(writer, err);
    release(writer);
    return status;
}

/* ---- the beginning --------------------------------------------------------------------------- */

static lull_status open_outputs(struct prv_writer *writer, const char *path, bool replace,
                                struct lull_error *err)
{
    lull_status status = lull_output_begin(path, false, replace, &writer->prv, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".pcf", writer->arena), false, replace,
                                   &writer->pcf, err);
    if (status == LULL_OK)
        status = lull_output_begin(lull_prv_sibling(path, ".row", writer->arena), false, replace,
                                   &writer->row, err);
    if (status == LULL_OK)
        status = lull_prv_spool_open(path, &writer->spool, err);
    return status;
}

static lull_status prepare(struct prv_writer *writer, const char *path, struct lull_error *err)
{
    const struct lull_trace *trace = writer->trace;
    writer->codes = lull_prv_codes_make(trace, writer->arena);
    writer->places = calloc(trace->n_locations, sizeof *writer->places);
    writer->in_line = calloc(trace->n_locations, sizeof *writer->in_line);
    if (!writer->places || !writer->in_line)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations", path,
                         trace->n_locations);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct place *place = &writer->places[l];
        place->call_end = place->flush_end = NEVER;
        place->collective_position = NO_POSITION;
        if (!trace->has_states)
            begin_state(writer, l, state_now(writer, l, false));
    }
    return LULL_OK;
}

lull_status lull_prv_writer_open(const struct lull_trace *trace, const char *path, bool replace,
                                 struct lull_writer *ret_writer, struct lull_error *err)
{
    struct prv_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    size_t length = strlen(path);
    writer->trace = trace;
    writer->arena = lull_arena_create(NULL);
    writer->gzip = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
    lull_status status = open_outputs(writer, path, replace, err);
    if (status == LULL_OK)
        status = prepare(writer, path, err);
    if (status != LULL_OK) {
        release(writer);
        return status;
    }
    *ret_writer =
        (struct lull_writer){.state = writer, .block = write_block, .close = close_writer};
    return LULL_OK;
}
