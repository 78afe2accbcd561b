#include "support/same_trace.h"

#include "base/mix.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- definitions ----------------------------------------------------------------------------- */

static bool differ(struct lull_error *err, const char *what, uint32_t index)
{
    lull_fail(err, LULL_ERR_FORMAT, "%s %u differs", what, index);
    return false;
}

static bool same_count(struct lull_error *err, const char *what, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    lull_fail(err, LULL_ERR_FORMAT, "number of %s: %u and %u", what, a, b);
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_run(const struct lull_trace *a, const struct lull_trace *b, unsigned but,
                     struct lull_error *err)
{
    if (a->duration != b->duration || a->has_states != b->has_states) {
        lull_fail(err, LULL_ERR_FORMAT, "duration %" PRId64 " and %" PRId64 ", states %d and %d",
                  a->duration, b->duration, a->has_states, b->has_states);
        return false;
    }
    bool clock = a->start_realtime == b->start_realtime &&
                 a->clock_resolution == b->clock_resolution && a->clock_error == b->clock_error &&
                 same_text(a->producer, b->producer);
    return clock || but & SAME_BUT_CLOCK || differ(err, "clock or producer of run", 0);
}

static bool same_nodes(const struct lull_trace *a, const struct lull_trace *b,
                       struct lull_error *err)
{
    if (!same_count(err, "nodes", a->n_nodes, b->n_nodes))
        return false;
    for (uint32_t n = 0; n < a->n_nodes; n++)
        if (!same_text(a->nodes[n].name, b->nodes[n].name) ||
            !same_text(a->nodes[n].class_name, b->nodes[n].class_name) ||
            a->nodes[n].parent != b->nodes[n].parent)
            return differ(err, "node", n);
    return true;
}

static bool same_memory(const struct lull_process_memory *x, const struct lull_process_memory *y)
{
    return x->peak == y->peak && x->resident == y->resident && x->swapped == y->swapped &&
           x->node == y->node && x->limit == y->limit && x->group == y->group;
}

static bool same_readings(const struct lull_process *x, const struct lull_process *y)
{
    for (uint32_t i = 0; x->n_readings == y->n_readings && i < x->n_readings; i++)
        if (x->readings[i].time != y->readings[i].time ||
            x->readings[i].bytes != y->readings[i].bytes)
            return false;
    return x->n_readings == y->n_readings;
}

static bool same_places(const struct lull_trace *a, const struct lull_trace *b, unsigned but,
                        struct lull_error *err)
{
    bool names = !(but & SAME_BUT_NAMES);
    if (!same_count(err, "applications", a->n_applications, b->n_applications) ||
        !same_count(err, "processes", a->n_processes, b->n_processes) ||
        !same_count(err, "locations", a->n_locations, b->n_locations))
        return false;
    for (uint32_t p = 0; p < a->n_processes; p++) {
        const struct lull_process *x = &a->processes[p], *y = &b->processes[p];
        if (x->application != y->application || x->rank != y->rank ||
            (x->node != y->node && !(but & SAME_BUT_NODES)) ||
            x->first_location != y->first_location || x->n_locations != y->n_locations ||
            x->n_threads != y->n_threads || !same_memory(&x->memory, &y->memory) ||
            !same_readings(x, y) || (names && !same_text(x->name, y->name)))
            return differ(err, "process", p);
    }
    for (uint32_t l = 0; l < a->n_locations; l++) {
        const struct lull_location *x = &a->locations[l], *y = &b->locations[l];
        if (x->process != y->process || x->number != y->number || x->kind != y->kind ||
            x->role != y->role ||
            (names && (!same_text(x->name, y->name) || x->source_id != y->source_id)))
            return differ(err, "location", l);
    }
    return true;
}

static bool same_regions(const struct lull_trace *a, const struct lull_trace *b,
                         struct lull_error *err)
{
    if (!same_count(err, "regions", a->n_regions, b->n_regions))
        return false;
    for (uint32_t r = 0; r < a->n_regions; r++) {
        const struct lull_region *x = &a->regions[r], *y = &b->regions[r];
        if (!same_text(x->name, y->name) || !same_text(x->file, y->file) || x->line != y->line ||
            x->paradigm != y->paradigm || x->role != y->role || x->activity != y->activity ||
            x->user != y->user || !same_text(x->site, y->site) || x->whole != y->whole ||
            x->parallel != y->parallel || x->collective != y->collective)
            return differ(err, "region", r);
    }
    return true;
}

static uint32_t member(const struct lull_comm *comm, uint32_t rank)
{
    return comm->members ? comm->members[rank] : comm->first + rank;
}

static bool same_comms(const struct lull_trace *a, const struct lull_trace *b,
                       struct lull_error *err)
{
    if (!same_count(err, "communicators", a->n_comms, b->n_comms))
        return false;
    for (uint32_t c = 0; c < a->n_comms; c++) {
        const struct lull_comm *x = &a->comms[c], *y = &b->comms[c];
        bool same = same_text(x->name, y->name) && x->size == y->size && x->parent == y->parent &&
                    x->remote == y->remote && x->paradigm == y->paradigm;
        for (uint32_t r = 0; same && r < x->size; r++)
            same = member(x, r) == member(y, r);
        if (!same)
            return differ(err, "communicator", c);
    }
    return true;
}

static bool same_small(const struct lull_trace *a, const struct lull_trace *b, unsigned but,
                       struct lull_error *err)
{
    if (!(but & SAME_BUT_COUNTERS)) {
        if (!same_count(err, "counters", a->n_counters, b->n_counters))
            return false;
        for (uint32_t c = 0; c < a->n_counters; c++)
            if (!same_text(a->counters[c].name, b->counters[c].name) ||
                !same_text(a->counters[c].unit, b->counters[c].unit) ||
                a->counters[c].source_id != b->counters[c].source_id ||
                a->counters[c].role != b->counters[c].role)
                return differ(err, "counter", c);
    }
    if (!(but & SAME_BUT_MARKERS)) {
        if (!same_count(err, "markers", a->n_markers, b->n_markers))
            return false;
        for (uint32_t m = 0; m < a->n_markers; m++)
            if (!same_text(a->markers[m].name, b->markers[m].name) ||
                a->markers[m].source_id != b->markers[m].source_id)
                return differ(err, "marker", m);
    }
    for (uint32_t f = 0; f < a->n_files && f < b->n_files; f++) /* few formats tell them */
        if (!same_text(a->files[f].name, b->files[f].name) || a->files[f].kind != b->files[f].kind)
            return differ(err, "file", f);
    for (uint32_t i = 0; i < a->n_properties && i < b->n_properties; i++)
        if (!same_text(a->properties[i].key, b->properties[i].key) ||
            !same_text(a->properties[i].value, b->properties[i].value) ||
            a->properties[i].processes != b->properties[i].processes ||
            a->properties[i].first != b->properties[i].first)
            return differ(err, "property", i);
    if (!(but & SAME_BUT_STATES)) {
        if (!same_count(err, "states", a->n_states, b->n_states))
            return false;
        for (uint32_t s = 0; s < a->n_states; s++)
            if (!same_text(a->states[s].name, b->states[s].name) ||
                a->states[s].number != b->states[s].number ||
                a->states[s].activity != b->states[s].activity)
                return differ(err, "state", s);
    }
    return true;
}

bool same_definitions(const struct lull_trace *a, const struct lull_trace *b, unsigned but,
                      struct lull_error *ret_difference)
{
    return same_run(a, b, but, ret_difference) && same_places(a, b, but, ret_difference) &&
           (but & SAME_BUT_NODES || same_nodes(a, b, ret_difference)) &&
           (but & SAME_BUT_REGIONS || same_regions(a, b, ret_difference)) &&
           (but & SAME_BUT_COMMS || same_comms(a, b, ret_difference)) &&
           same_small(a, b, but, ret_difference);
}

/* ---- events: to a form that can be compared -------------------------------------------------- */

/* One event, or one reading of a COUNTERS event. */
struct item {
    int64_t time;
    const char *name; /* of what `id` names; "" where it names nothing */
    unsigned kind, op;
    uint64_t numbers[4];
};

struct items {
    struct item *items;
    size_t count, capacity;
};

/* Regions, and all the rest. */
struct form {
    struct items regions, others;
    struct lull_arena *arena;
    uint64_t *open; /* requests in the order of their opening; replaced by NO_REQUEST when done */
    size_t n_open, open_capacity;
};

static struct item *new_item(struct form *form, bool region, const struct lull_event *event)
{
    struct items *items = region ? &form->regions : &form->others;
    items->items = lull_arena_grow(form->arena, items->items, &items->capacity, items->count + 1,
                                   sizeof *items->items);
    struct item *item = &items->items[items->count++];
    *item = (struct item){.time = event->time, .kind = event->kind, .name = ""};
    return item;
}

static uint64_t opened(struct form *form, uint64_t request)
{
    form->open = lull_arena_grow(form->arena, form->open, &form->open_capacity, form->n_open + 1,
                                 sizeof *form->open);
    form->open[form->n_open] = request;
    return form->n_open++;
}

/* The order in which a request was opened. */
static uint64_t order_of(struct form *form, uint64_t request, bool done)
{
    for (size_t i = form->n_open; i-- > 0;)
        if (form->open[i] == request) {
            if (done)
                form->open[i] = LULL_NO_REQUEST;
            return i;
        }
    return LULL_NO_REQUEST - 1;
}

static uint64_t request_of(struct form *form, const struct lull_event *event, uint64_t request,
                           bool renumber)
{
    if (request == LULL_NO_REQUEST || !renumber)
        return request;
    switch (event->kind) {
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV_POST:
    case LULL_EVENT_COLLECTIVE_BEGIN:
        return opened(form, request);
    default:
        return order_of(form, request, event->kind != LULL_EVENT_REQUEST_TEST);
    }
}

static const char *comm_name(const struct lull_trace *trace, uint32_t id)
{
    return id == LULL_NONE ? "no communicator" : trace->comms[id].name;
}

static void add_readings(struct form *form, const struct lull_trace *trace,
                         const struct lull_event *event)
{
    for (uint32_t i = 0; i < event->readings.count; i++) {
        struct item *item = new_item(form, false, event);
        item->name = trace->counters[event->readings.values[i].counter].name;
        item->numbers[0] = event->readings.values[i].value;
    }
}

static void add_region(struct form *form, const struct lull_trace *trace,
                       const struct lull_event *event)
{
    const char *name = trace->regions[event->id].name;
    struct item *item = new_item(form, true, event);
    item->name = name;
    if (event->kind != LULL_EVENT_CALL)
        return;
    item->kind = LULL_EVENT_ENTER;
    item = new_item(form, true, event);
    item->name = name;
    item->kind = LULL_EVENT_LEAVE;
    item->time = event->time + event->duration;
}

static void add_event(struct form *form, const struct lull_trace *trace,
                      const struct lull_event *event, bool renumber)
{
    struct item *item;
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
    case LULL_EVENT_CALL:
        add_region(form, trace, event);
        break;
    case LULL_EVENT_STATE:
    case LULL_EVENT_FLUSH:
        item = new_item(form, false, event);
        item->numbers[0] = (uint64_t)event->duration;
        if (event->kind == LULL_EVENT_STATE)
            item->name = trace->states[event->id].name;
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV_POST:
    case LULL_EVENT_RECV:
        item = new_item(form, false, event);
        item->name = comm_name(trace, event->id);
        item->numbers[0] = event->message.bytes;
        item->numbers[1] = (uint64_t)event->message.peer;
        item->numbers[2] = (uint64_t)event->message.tag;
        item->numbers[3] = request_of(form, event, event->message.request, renumber);
        break;
    case LULL_EVENT_SEND_DONE:
    case LULL_EVENT_REQUEST_TEST:
    case LULL_EVENT_REQUEST_CANCELLED:
        item = new_item(form, false, event);
        item->numbers[3] = request_of(form, event, event->message.request, renumber);
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        item = new_item(form, false, event);
        item->name = comm_name(trace, event->id);
        item->op = event->op;
        item->numbers[0] = event->collective.sent;
        item->numbers[1] = event->collective.received;
        item->numbers[2] = (uint64_t)event->collective.root;
        item->numbers[3] = request_of(form, event, event->collective.request, renumber);
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        item = new_item(form, false, event);
        item->op = event->op;
        item->numbers[0] = event->transfer.bytes;
        item->numbers[1] = (uint64_t)event->transfer.target;
        item->numbers[2] = event->id;
        break;
    case LULL_EVENT_SAMPLE:
        item = new_item(form, false, event);
        item->name = event->id == LULL_NONE ? "" : trace->objects[event->id].path;
        item->numbers[0] = event->sample.offset;
        item->numbers[1] = event->sample.weight;
        break;
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_DEPEND:
    case LULL_EVENT_DEVICE_WAIT:
    case LULL_EVENT_OPERATION:
        item = new_item(form, false, event);
        item->name = event->id == LULL_NONE ? "" : trace->regions[event->id].name;
        item->numbers[0] = event->operation.number;
        item->numbers[1] = event->operation.bytes;
        item->numbers[2] = event->operation.location;
        if (event->kind == LULL_EVENT_OPERATION)
            item->numbers[3] = lull_mix(event->operation.sequence, (uint64_t)event->operation.peer);
        break;
    case LULL_EVENT_COUNTERS:
        add_readings(form, trace, event);
        break;
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        item = new_item(form, false, event);
        item->name = comm_name(trace, event->id);
        break;
    case LULL_EVENT_JOIN:
    case LULL_EVENT_THREAD_BEGIN:
    case LULL_EVENT_THREAD_END:
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        new_item(form, false, event);
        break;
    default:
        item = new_item(form, false, event);
        item->numbers[0] = event->number;
        if (event->kind == LULL_EVENT_MARKER)
            item->name = trace->markers[event->id].name;
        break;
    }
}

/* Duration of a span is a time, too. */
static bool same_item(const struct item *a, const struct item *b, int64_t tolerance)
{
    if (a->kind != b->kind || a->op != b->op || strcmp(a->name, b->name) != 0 ||
        llabs(a->time - b->time) > tolerance)
        return false;
    bool span = a->kind == LULL_EVENT_STATE || a->kind == LULL_EVENT_FLUSH;
    if (span)
        return llabs((int64_t)a->numbers[0] - (int64_t)b->numbers[0]) <= 2 * tolerance;
    return memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

static void describe(const struct items *items, size_t index, char *text, size_t size)
{
    if (index >= items->count) {
        snprintf(text, size, "nothing");
        return;
    }
    const struct item *item = &items->items[index];
    snprintf(text, size,
             "%s of '%.60s' op %u at %" PRId64 " (%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
             ")",
             lull_event_kind_name(item->kind), item->name, item->op, item->time, item->numbers[0],
             item->numbers[1], item->numbers[2], item->numbers[3]);
}

static bool same_items(const struct items *a, const struct items *b, int64_t tolerance,
                       struct lull_error *err)
{
    for (size_t i = 0; i < a->count || i < b->count; i++)
        if (i >= a->count || i >= b->count || !same_item(&a->items[i], &b->items[i], tolerance)) {
            char left[300], right[300];
            describe(a, i, left, sizeof left);
            describe(b, i, right, sizeof right);
            lull_fail(err, LULL_ERR_FORMAT, "event %zu: %s; other: %s", i, left, right);
            return false;
        }
    return true;
}

static void make_form(const struct same_sequence *sequence,
                      const struct same_events_options *options, struct form *form)
{
    uint64_t mask = options->mask ? options->mask : LULL_MASK_ALL;
    if (mask & (LULL_MASK(LULL_EVENT_CALL) | LULL_MASK(LULL_EVENT_ENTER)))
        mask |=
            LULL_MASK(LULL_EVENT_CALL) | LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE);
    /* Most events are calls, of which each is two items: memory that is new is dear under sanitizers. */
    form->regions.items = lull_arena_grow(form->arena, NULL, &form->regions.capacity,
                                          2 * sequence->count, sizeof *form->regions.items);
    for (size_t i = 0; i < sequence->count; i++)
        if (mask >> sequence->events[i].kind & 1)
            add_event(form, sequence->trace, &sequence->events[i], options->renumber_requests);
}

static bool equal_events(const struct lull_event *a, const struct lull_event *b)
{
    if (a->kind != LULL_EVENT_COUNTERS || b->kind != LULL_EVENT_COUNTERS)
        return memcmp(a, b, sizeof *a) == 0;
    return a->time == b->time && a->readings.count == b->readings.count &&
           memcmp(a->readings.values, b->readings.values,
                  a->readings.count * sizeof *a->readings.values) == 0;
}

/* To the byte, what no event has a use for included. */
static bool equal_sequences(const struct same_sequence *a, const struct same_sequence *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!equal_events(&a->events[i], &b->events[i]))
            return false;
    return true;
}

bool same_sequences(const struct same_sequence *a, const struct same_sequence *b,
                    const struct same_events_options *options, struct lull_error *ret_difference)
{
    static const struct same_events_options strict = {0};
    options = options ? options : &strict;
    if (options->same_definitions && equal_sequences(a, b))
        return true;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct form x = {.arena = arena}, y = {.arena = arena};
    make_form(a, options, &x);
    make_form(b, options, &y);
    bool same = same_items(&x.regions, &y.regions, options->tolerance, ret_difference) &&
                same_items(&x.others, &y.others, options->tolerance, ret_difference);
    lull_arena_destroy(arena);
    return same;
}

/* ---- collecting ------------------------------------------------------------------------------ */

struct collection {
    struct lull_arena *arena;
    pthread_mutex_t lock; /* of the arena */
    struct same_sequence *sequences;
    struct lull_event **events;
    size_t *capacity;
};

static void append_block(struct collection *into, uint32_t at, const struct lull_block *block)
{
    struct same_sequence *sequence = &into->sequences[at];
    into->events[at] = lull_arena_grow(into->arena, into->events[at], &into->capacity[at],
                                       sequence->count + block->count, sizeof **into->events);
    sequence->events = into->events[at];
    for (uint32_t i = 0; i < block->count; i++) {
        struct lull_event *copy = &into->events[at][sequence->count++];
        *copy = block->events[i];
        if (copy->kind != LULL_EVENT_COUNTERS)
            continue;
        size_t size = copy->readings.count * sizeof *copy->readings.values;
        struct lull_counter_reading *values = lull_arena_alloc(into->arena, size);
        memcpy(values, copy->readings.values, size);
        copy->readings.values = values;
    }
}

static void begin_collection(struct collection *collection, const struct lull_trace *trace,
                             uint32_t sequences, struct lull_arena *arena)
{
    collection->arena = arena;
    pthread_mutex_init(&collection->lock, NULL);
    collection->sequences = lull_arena_zero(arena, sequences, sizeof *collection->sequences);
    collection->events = lull_arena_zero(arena, sequences, sizeof(*collection->events));
    collection->capacity = lull_arena_zero(arena, sequences, sizeof *collection->capacity);
    for (uint32_t s = 0; s < sequences; s++)
        collection->sequences[s].trace = trace;
}

lull_status collect_by_cursor(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                              struct lull_arena *arena, struct same_sequence *ret_sequence,
                              struct lull_error *err)
{
    struct collection collection;
    struct lull_cursor *cursor;
    lull_status status = lull_cursor_open(trace, location, mask, &cursor, err);
    if (status != LULL_OK)
        return status;
    begin_collection(&collection, trace, 1, arena);
    struct lull_block block;
    while ((status = lull_cursor_next(cursor, &block, err)) == LULL_OK && block.count > 0)
        append_block(&collection, 0, &block);
    lull_cursor_close(cursor);
    if (status == LULL_OK)
        *ret_sequence = collection.sequences[0];
    return status;
}

static lull_status collect_block(void *context, unsigned worker, const struct lull_block *block,
                                 struct lull_error *err)
{
    struct collection *collection = context;
    (void)worker;
    (void)err;
    pthread_mutex_lock(&collection->lock);
    append_block(collection, block->location, block);
    pthread_mutex_unlock(&collection->lock);
    return LULL_OK;
}

lull_status collect_as(const struct lull_trace *trace, const struct lull_scan_options *options,
                       struct lull_arena *arena, struct same_sequence **ret_sequences,
                       struct lull_error *err)
{
    struct collection collection;
    begin_collection(&collection, trace, trace->n_locations, arena);
    struct lull_visitor visitor = {.context = &collection, .block = collect_block};
    lull_status status = lull_scan(trace, options, &visitor, err);
    if (status == LULL_OK)
        *ret_sequences = collection.sequences;
    return status;
}

lull_status collect_by_scan(const struct lull_trace *trace, uint64_t mask, unsigned workers,
                            struct lull_arena *arena, struct same_sequence **ret_sequences,
                            struct lull_error *err)
{
    const struct lull_scan_options options = {
        .mask = mask, .workers = workers, .application = LULL_NONE};
    return collect_as(trace, &options, arena, ret_sequences, err);
}

bool same_events(const struct lull_trace *a, const struct lull_trace *b,
                 const struct same_events_options *options, struct lull_error *ret_difference)
{
    struct same_sequence *x = NULL, *y = NULL;
    struct lull_arena *arena = lull_arena_create(NULL);
    bool same = same_count(ret_difference, "locations", a->n_locations, b->n_locations) &&
                collect_by_scan(a, 0, 1, arena, &x, ret_difference) == LULL_OK &&
                collect_by_scan(b, 0, 1, arena, &y, ret_difference) == LULL_OK;
    for (uint32_t l = 0; same && l < a->n_locations; l++) {
        same = same_sequences(&x[l], &y[l], options, ret_difference);
        if (!same)
            lull_fail_prefix(ret_difference, LULL_ERR_FORMAT, "location %u '%s'", l,
                             a->locations[l].name);
    }
    lull_arena_destroy(arena);
    return same;
}
