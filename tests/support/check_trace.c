#include "support/check_trace.h"

#include <stdlib.h>
#include <string.h>

struct place {
    int64_t time, call_end;
    uint32_t *open;
    size_t depth, capacity;
    bool begun, ended, has_details; /* has_details: they were looked for */
    struct lull_sample_details *details;
};

struct check {
    const struct lull_trace *trace;
    struct place *places; /* per location */
    struct lull_error *broken;
};

static lull_status broken(struct check *check, uint32_t location, const struct lull_event *event,
                          const char *promise)
{
    return lull_fail(check->broken, LULL_ERR_RANGE, "location %u, %s at %lld: %s", location,
                     event ? lull_event_kind_name(event->kind) : "-",
                     event ? (long long)event->time : -1, promise);
}

static bool is_peer(const struct lull_trace *trace, int32_t peer)
{
    return peer == LULL_ANY || peer == LULL_PROC_NULL ||
           (peer >= 0 && (uint32_t)peer < trace->n_processes);
}

static bool is_comm(const struct lull_trace *trace, uint32_t comm)
{
    return comm == LULL_NONE || comm < trace->n_comms;
}

/* What is wrong with the event by itself; NULL: nothing. */
static const char *check_fields(const struct lull_trace *trace, const struct lull_event *event)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
    case LULL_EVENT_LEAVE:
    case LULL_EVENT_CALL:
        return event->id < trace->n_regions ? NULL : "unknown region";
    case LULL_EVENT_STATE:
        return event->id < trace->n_states ? NULL : "unknown state";
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV_POST:
    case LULL_EVENT_RECV:
        if (!is_comm(trace, event->id))
            return "unknown communicator";
        return is_peer(trace, event->message.peer) ? NULL : "unknown peer";
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        if (!is_comm(trace, event->id))
            return "unknown communicator";
        if (event->op >= LULL_COLLECTIVES)
            return "unknown operation";
        return is_peer(trace, event->collective.root) ? NULL : "unknown root";
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        if (event->op >= (event->kind == LULL_EVENT_RMA ? (int)LULL_RMA_OPS : (int)LULL_IO_OPS))
            return "unknown operation";
        return is_peer(trace, event->transfer.target) ? NULL : "unknown target";
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        return is_comm(trace, event->id) ? NULL : "unknown team";
    case LULL_EVENT_MARKER:
        return event->id < trace->n_markers ? NULL : "unknown marker";
    case LULL_EVENT_SAMPLE:
        return event->id == LULL_NONE || event->id < trace->n_objects ? NULL : "unknown object";
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_DEPEND:
    case LULL_EVENT_DEVICE_WAIT:
    case LULL_EVENT_OPERATION:
        if (event->operation.location != LULL_NONE &&
            event->operation.location >= trace->n_locations)
            return "unknown location of an operation";
        return event->kind != LULL_EVENT_OPERATION || event->id == LULL_NONE ||
                       event->id < trace->n_regions
                   ? NULL
                   : "unknown region";
    case LULL_EVENT_COUNTERS:
        for (uint32_t i = 0; i < event->readings.count; i++)
            if (event->readings.values[i].counter >= trace->n_counters)
                return "unknown counter";
        return NULL;
    default:
        return event->kind < LULL_EVENT_KINDS ? NULL : "unknown kind";
    }
}

static bool push(struct place *place, uint32_t region)
{
    if (place->depth == place->capacity) {
        place->capacity = place->capacity ? 2 * place->capacity : 16;
        uint32_t *larger = realloc(place->open, place->capacity * sizeof *larger);
        if (!larger)
            return false;
        place->open = larger;
    }
    place->open[place->depth++] = region;
    return true;
}

/* What is wrong with the event after those before it. */
static const char *check_order(const struct lull_trace *trace, struct place *place,
                               const struct lull_event *event)
{
    bool span = event->kind == LULL_EVENT_CALL || event->kind == LULL_EVENT_STATE ||
                event->kind == LULL_EVENT_FLUSH;
    int64_t length = span ? event->duration : 0;
    if (event->time < place->time)
        return "time runs backwards";
    if (event->time < 0 || length < 0 || event->time > trace->duration ||
        length > trace->duration - event->time)
        return "outside of the run";
    place->time = event->time;
    if (event->kind > LULL_EVENT_CALL)
        return NULL;
    if (event->time < place->call_end)
        return "inside a call";
    if (event->kind == LULL_EVENT_CALL)
        place->call_end = event->time + length;
    if (event->kind == LULL_EVENT_ENTER && !push(place, event->id))
        return "out of memory";
    if (event->kind == LULL_EVENT_LEAVE &&
        (place->depth == 0 || place->open[--place->depth] != event->id))
        return "leaves another region than the innermost";
    return NULL;
}

/* What is wrong with what a sample has besides its place. */
static const char *check_detail(const struct lull_trace *trace, struct place *place,
                                uint32_t location, const struct lull_event *event)
{
    struct lull_sample_detail detail;
    struct lull_error err;
    if (!place->has_details &&
        lull_trace_details_open(trace, location, &place->details, &err) != LULL_OK)
        return NULL; /* the file has changed */
    place->has_details = true;
    if (!place->details || lull_trace_read_detail(trace, place->details, event->sample.number,
                                                  &detail, &err) != LULL_OK)
        return NULL;
    for (uint32_t i = 0; i < detail.n_stack; i++)
        if (detail.stack[i].object != LULL_NONE && detail.stack[i].object >= trace->n_objects)
            return "unknown object in a stack";
    return NULL;
}

static lull_status begin(void *context, unsigned worker, uint32_t location, struct lull_error *err)
{
    struct check *check = context;
    struct place *place = &check->places[location];
    (void)worker;
    (void)err;
    if (place->begun)
        return broken(check, location, NULL, "begun twice");
    place->begun = true;
    return LULL_OK;
}

static lull_status take_block(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    struct check *check = context;
    struct place *place = &check->places[block->location];
    (void)worker;
    (void)err;
    if (!place->begun || place->ended || block->count == 0)
        return broken(check, block->location, NULL, "a block outside of begin and end, or empty");
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        const char *wrong = check_fields(check->trace, event);
        if (!wrong)
            wrong = check_order(check->trace, place, event);
        if (!wrong && event->kind == LULL_EVENT_SAMPLE)
            wrong = check_detail(check->trace, place, block->location, event);
        if (wrong)
            return broken(check, block->location, event, wrong);
    }
    return LULL_OK;
}

static lull_status end(void *context, unsigned worker, uint32_t location, struct lull_error *err)
{
    struct check *check = context;
    struct place *place = &check->places[location];
    (void)worker;
    (void)err;
    if (!place->begun || place->ended || place->depth > 0)
        return broken(check, location, NULL, "ended twice, or with a region open");
    place->ended = true;
    return LULL_OK;
}

lull_status check_trace(const struct lull_trace *trace, unsigned workers, struct lull_error *err,
                        struct lull_error *ret_broken)
{
    ret_broken->text[0] = '\0';
    struct check check = {trace, calloc(trace->n_locations, sizeof *check.places), ret_broken};
    if (!check.places)
        return LULL_ERR_MEMORY;
    struct lull_visitor visitor = {&check, begin, take_block, end};
    struct lull_scan_options options = {.workers = workers, .application = LULL_NONE};
    lull_status status = lull_scan(trace, &options, &visitor, err);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (status == LULL_OK && !check.places[l].ended)
            status = broken(&check, l, NULL, "never visited");
        free(check.places[l].open);
        lull_trace_details_close(trace, check.places[l].details);
    }
    free(check.places);
    return status;
}
