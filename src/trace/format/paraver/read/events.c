/* What the pairs of an event line mean: regions, collectives, markers. */
#include "trace/format/paraver/read/scan.h"

#include "base/array.h"
#include "trace/format/paraver/tables.h"

#include <string.h>

enum {
    MOST_OPEN_REGIONS = 1 << 14
}; /* regions of a location; beyond them the innermost is replaced */

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status end_collective(struct lull_prv_scan *scan, struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    track->in_collective = false;
    track->collective.time = scan->time;
    track->collective.kind = LULL_EVENT_COLLECTIVE_END;
    return lull_prv_put(scan, &track->collective, err);
}

/* Leaves the region at index `at` of the open ones, wherever it stands. */
static lull_status leave_open_region(struct lull_prv_scan *scan, uint32_t at,
                                     struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    struct lull_prv_open left = track->open[at];
    track->n_open--;
    if (at < track->n_open)
        memmove(track->open + at, track->open + at + 1, (track->n_open - at) * sizeof *track->open);
    lull_status status = LULL_OK;
    if (track->in_collective && at == track->collective_open)
        status = end_collective(scan, err);
    else if (track->in_collective && at < track->collective_open)
        track->collective_open--;
    if (status == LULL_OK)
        status = lull_prv_put_simple(scan, LULL_EVENT_LEAVE, left.region, err);
    return status;
}

/* Index + 1 of the innermost open region of the type; 0: none. */
static uint32_t find_open_type(const struct lull_prv_track *track, const struct lull_prv_type *type)
{
    uint32_t at = track->n_open;
    while (at > 0 && track->open[at - 1].type != type)
        at--;
    return at;
}

static lull_status enter_value(struct lull_prv_scan *scan, const struct lull_prv_type *type,
                               uint64_t value, struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    bool named;
    uint32_t region = lull_prv_type_region(type, value, &named);
    if (!named)
        lull_trace_add_quirk(scan->trace,
                             "a value of an event type is named nowhere; counted under its type",
                             "line %llu: type %llu value %llu", (unsigned long long)scan->line,
                             (unsigned long long)type->number, (unsigned long long)value);
    if (!lull_array_reserve(&track->open, &track->open_capacity, (size_t)track->n_open + 1,
                            sizeof *track->open))
        return lull_prv_no_memory(scan, err);
    track->open[track->n_open++] = (struct lull_prv_open){type, region};
    return lull_prv_put_simple(scan, LULL_EVENT_ENTER, region, err);
}

static lull_status region_event(struct lull_prv_scan *scan, const struct lull_prv_type *type,
                                uint64_t value, struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    uint32_t open = find_open_type(track, type);
    lull_status status = LULL_OK;
    if (value == 0) {
        if (open > 0)
            return leave_open_region(scan, open - 1, err);
        lull_trace_add_quirk(scan->trace, "an activity ends that did not begin; ignored",
                             "line %llu: type %llu", (unsigned long long)scan->line,
                             (unsigned long long)type->number);
        return LULL_OK;
    }
    if (open > 0 && !type->nests) {
        status = leave_open_region(scan, open - 1, err);
    } else if (track->n_open == MOST_OPEN_REGIONS) {
        lull_trace_add_quirk(scan->trace,
                             "more than 16384 regions are open at a time; the innermost are closed",
                             "line %llu", (unsigned long long)scan->line);
        status = leave_open_region(scan, track->n_open - 1, err);
    }
    return status == LULL_OK ? enter_value(scan, type, value, err) : status;
}

/* ---- parameters and lull's own events -------------------------------------------------------- */

/* The parameters of what stands before them on the line. */
struct parameters {
    uint64_t values[LULL_PRV_PARAMETERS]; /* of those that are given */
    uint32_t given;                       /* bit per parameter */
};

static bool given(const struct parameters *parameters, unsigned which)
{
    return parameters->given >> which & 1;
}

/* 0: not given. */
static uint64_t value_of(const struct parameters *parameters, unsigned which)
{
    return given(parameters, which) ? parameters->values[which] : 0;
}

static uint32_t comm_of(const struct lull_prv_scan *scan, const struct parameters *parameters)
{
    uint32_t process = scan->trace->locations[scan->location].process;
    uint32_t application = scan->trace->processes[process].application;
    const struct lull_paraver *paraver = scan->paraver;
    if (!given(parameters, LULL_PRV_COMM))
        return paraver->applications[application].world;
    uint64_t id = value_of(parameters, LULL_PRV_COMM);
    uint32_t comm = lull_prv_comm_find(paraver, application, id);
    if (comm == LULL_NONE)
        lull_trace_add_quirk(scan->trace, "a collective names a communicator that is not defined",
                             "line %llu: communicator %llu", (unsigned long long)scan->line,
                             (unsigned long long)id);
    return comm;
}

static struct lull_event collective_event(const struct lull_prv_scan *scan,
                                          const struct parameters *parameters, uint8_t op)
{
    uint64_t rank = given(parameters, LULL_PRV_ROOT_RANK)
                        ? value_of(parameters, LULL_PRV_ROOT_RANK) - 1
                        : UINT64_MAX;
    int32_t root = LULL_ANY;
    if (rank < scan->trace->n_processes)
        root = (int32_t)rank;
    else if (value_of(parameters, LULL_PRV_ROOT))
        root = (int32_t)scan->trace->locations[scan->location].process;
    return (struct lull_event){.time = scan->time,
                               .kind = LULL_EVENT_COLLECTIVE_BEGIN,
                               .op = op,
                               .id = comm_of(scan, parameters),
                               .collective = {.sent = value_of(parameters, LULL_PRV_SENT),
                                              .received = value_of(parameters, LULL_PRV_RECEIVED),
                                              .request = LULL_NO_REQUEST,
                                              .root = root}};
}

/* Sizes on the line on which a collective call begins (or while it is open): the collective. */
static lull_status begin_collective(struct lull_prv_scan *scan, const struct parameters *parameters,
                                    struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    uint32_t open = track->n_open;
    while (open > 0 && !track->open[open - 1].type->collective)
        open--;
    if (open == 0 || track->in_collective)
        return LULL_OK;
    uint8_t op = scan->trace->regions[track->open[open - 1].region].collective;
    track->in_collective = true;
    track->collective_open = open - 1;
    track->collective = collective_event(scan, parameters, op);
    return lull_prv_put(scan, &track->collective, err);
}

/* A process index + 1, or nobody; 0 or anything else: unknown. */
static int32_t target_of(const struct lull_prv_scan *scan, const struct parameters *parameters)
{
    uint64_t process = value_of(parameters, LULL_PRV_TARGET) - 1;
    if (process == LULL_PRV_NOBODY - UINT64_C(1))
        return LULL_PROC_NULL;
    return process < scan->trace->n_processes ? (int32_t)process : LULL_ANY;
}

static lull_status put_own_event(struct lull_prv_scan *scan, const struct lull_prv_pair *pair,
                                 const struct parameters *parameters, struct lull_error *err)
{
    uint8_t kind = (uint8_t)pair->type->index;
    uint64_t number = pair->value - 1;
    struct lull_event event = {.time = scan->time, .kind = kind, .number = number};
    switch (kind) {
    case LULL_EVENT_TEAM_BEGIN:
    case LULL_EVENT_TEAM_END:
        event.id = LULL_NONE;
        event.number = 0;
        break;
    case LULL_EVENT_COLLECTIVE_BEGIN:
    case LULL_EVENT_COLLECTIVE_END:
        event =
            collective_event(scan, parameters,
                             number < LULL_COLLECTIVES ? (uint8_t)number : LULL_COLLECTIVE_UNKNOWN);
        event.kind = kind;
        break;
    case LULL_EVENT_RMA:
    case LULL_EVENT_IO:
        if (number >= (kind == LULL_EVENT_RMA ? (uint64_t)LULL_RMA_OPS : (uint64_t)LULL_IO_OPS))
            return LULL_OK; /* nothing that is known */
        event.op = (uint8_t)number;
        event.id = LULL_NONE;
        event.transfer.bytes = value_of(parameters, LULL_PRV_BYTES);
        event.transfer.reserved = 0;
        event.transfer.target = value_of(parameters, LULL_PRV_TARGET) - 1 < scan->trace->n_processes
                                    ? (int32_t)(value_of(parameters, LULL_PRV_TARGET) - 1)
                                    : LULL_ANY;
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        event.id = comm_of(scan, parameters);
        event.message.bytes = value_of(parameters, LULL_PRV_BYTES);
        event.message.request = LULL_NO_REQUEST;
        event.message.peer = target_of(scan, parameters);
        event.message.tag = (int32_t)(uint32_t)value_of(parameters, LULL_PRV_TAG);
        break;
    default:
        break;
    }
    return lull_prv_put(scan, &event, err);
}

/* ---- events ---------------------------------------------------------------------------------- */

static lull_status marker(struct lull_prv_scan *scan, const struct lull_prv_pair *pair,
                          struct lull_error *err)
{
    uint32_t index = pair->type ? pair->type->index : scan->paraver->types.unnamed_marker;
    if (!pair->type)
        lull_trace_add_quirk(scan->trace,
                             "an event type is named nowhere and occurs late; its number is lost",
                             "line %llu", (unsigned long long)scan->line);
    struct lull_event event = {
        .time = scan->time, .kind = LULL_EVENT_MARKER, .id = index, .number = pair->value};
    return lull_prv_put(scan, &event, err);
}

/* All pairs but counters. Parameters wait until what they belong to is complete: one of lull's own
 * events, if one stands before them, else the collective of the line. */
lull_status lull_prv_put_pairs(struct lull_prv_scan *scan, const struct lull_prv_pair *pairs,
                               size_t n_pairs, struct lull_error *err)
{
    struct parameters line, own, *current = &line;
    const struct lull_prv_pair *pending = NULL;
    lull_status status = LULL_OK;
    line.given = own.given = 0;
    for (size_t i = 0; status == LULL_OK && i < n_pairs; i++) {
        const struct lull_prv_pair *pair = &pairs[i];
        switch (pair->type ? (enum lull_prv_kind)pair->type->kind : LULL_PRV_MARKER) {
        case LULL_PRV_REGION:
            if (line.given) /* of the call before, which may end on this very line */
                status = begin_collective(scan, &line, err);
            line.given = 0;
            if (status == LULL_OK)
                status = region_event(scan, pair->type, pair->value, err);
            break;
        case LULL_PRV_SWITCH:
            status = lull_prv_put_simple(
                scan, pair->value ? LULL_EVENT_MEASURE_ON : LULL_EVENT_MEASURE_OFF, 0, err);
            break;
        case LULL_PRV_MARKER:
            status = marker(scan, pair, err);
            break;
        case LULL_PRV_PARAMETER:
            current->values[pair->type->index] = pair->value;
            current->given |= 1u << pair->type->index;
            break;
        case LULL_PRV_OWN:
            if (pending)
                status = put_own_event(scan, pending, &own, err);
            pending = pair;
            own.given = 0;
            current = &own;
            break;
        default:
            break;
        }
    }
    if (status == LULL_OK && pending)
        status = put_own_event(scan, pending, &own, err);
    if (status == LULL_OK && line.given)
        status = begin_collective(scan, &line, err);
    return status;
}
