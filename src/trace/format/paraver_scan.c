/* The scan: record lines to events, in blocks per location.
 *
 * A line of events is read in two steps: its pairs of type and value are collected as far as the
 * mask wants them, then turned into events, counters first. Each location has one small buffer,
 * events from its front, readings from its back, which is handed over when they meet. */
#include "trace/format/paraver_number.h"
#include "trace/format/paraver_records.h"
#include "trace/format/paraver_tables.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFERS_TOTAL = 8 << 20, /* bytes over all locations, as far as the least size allows */
    BUFFER_LEAST = 1 << 10,
    BUFFER_MOST = 16 << 10,
    MOST_OPEN = 1024, /* regions of a location, beyond them the innermost is replaced */
    NO_ROOT = LULL_ANY
};

struct open_region {
    const struct lull_prv_type *type;
    uint32_t region;
};

struct place {
    uint8_t *buffer; /* malloc'd at the first event */
    uint32_t n_events, n_readings;
    struct open_region *open;
    uint32_t n_open, open_capacity;
    int64_t counted_time; /* of the last readings */
    uint64_t *counted;    /* a bit for each counter that has been read at that time */
    bool in_collective;
    uint32_t collective_open;     /* index of its call in open[] */
    struct lull_event collective; /* what its end will say */
    size_t next_half, last_half;
};

/* What the mask needs of an event type. */
enum need { NEED_NOTHING, NEED_VALUE, NEED_READING };

struct pair {
    const struct lull_prv_type *type; /* NULL: named nowhere */
    uint64_t value;
};

struct scan {
    struct lull_prv_records records;
    const struct lull_trace *trace;
    const struct lull_prv_types *types;
    struct lull_sink *sink;
    uint64_t mask;
    bool unordered, wants_events, wants_messages;
    struct lull_prv_messages messages; /* in time order, unless `unordered` */
    uint8_t *needs;                    /* per type, enum need */
    struct place *places;
    size_t buffer_size;
    size_t counted_words;
    int64_t last_time;
    struct pair *pairs; /* of the line */
    size_t n_pairs, pairs_capacity;
    struct lull_reading *readings; /* of the line; as many as there are counters */
    uint32_t n_readings;
    /* the line at hand */
    struct place *place;
    uint32_t location;
    int64_t time;
};

/* ---- buffers --------------------------------------------------------------------------------- */

static lull_status hand_over(struct scan *scan, uint32_t location, struct lull_error *err)
{
    struct place *place = &scan->places[location];
    lull_status status =
        lull_sink_block(scan->sink, location, (const struct lull_event *)(void *)place->buffer,
                        place->n_events, err);
    place->n_events = place->n_readings = 0;
    return status;
}

static lull_status out_of_memory(const struct scan *scan, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", scan->trace->path);
}

/* The location of the line at hand; its buffers are made when it first occurs. */
static lull_status choose_place(struct scan *scan, uint32_t location, struct lull_error *err)
{
    struct place *place = scan->place = &scan->places[location];
    scan->location = location;
    if (place->buffer)
        return LULL_OK;
    place->counted = calloc(scan->counted_words, sizeof *place->counted);
    place->buffer = malloc(scan->buffer_size);
    return place->counted && place->buffer ? LULL_OK : out_of_memory(scan, err);
}

/* Room for an event and its readings in the buffer of the location at hand. */
static inline lull_status make_room(struct scan *scan, size_t readings, struct lull_error *err)
{
    struct place *place = scan->place;
    size_t used = (place->n_events + 1) * sizeof(struct lull_event) +
                  (place->n_readings + readings) * sizeof(struct lull_reading);
    return used <= scan->buffer_size ? LULL_OK : hand_over(scan, scan->location, err);
}

static inline lull_status put(struct scan *scan, const struct lull_event *event,
                              struct lull_error *err)
{
    if (!(scan->mask >> event->kind & 1))
        return LULL_OK;
    lull_status status = make_room(scan, 0, err);
    if (status != LULL_OK)
        return status;
    struct place *place = scan->place;
    memcpy(place->buffer + place->n_events++ * sizeof *event, event, sizeof *event);
    return LULL_OK;
}

static inline lull_status put_simple(struct scan *scan, uint8_t kind, uint32_t id,
                                     struct lull_error *err)
{
    return put(scan, &(struct lull_event){.time = scan->time, .kind = kind, .id = id}, err);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Those before the line at hand: a receive at the same time belongs before it (it completes the
 * call that the line ends), a send behind it (the call that the line begins posts it). */
static lull_status put_messages(struct scan *scan, int64_t until, struct lull_error *err)
{
    struct place *place = scan->place;
    for (; place->next_half < place->last_half; place->next_half++) {
        const struct lull_prv_half *half = &scan->messages.halves[place->next_half];
        if (half->time > until || (half->time == until && half->kind == LULL_EVENT_SEND))
            break;
        struct lull_event event = lull_prv_message_event(&scan->records, half);
        lull_status status = put(scan, &event, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status message_line(struct scan *scan, const uint8_t *at, struct lull_error *err)
{
    struct lull_prv_half halves[2];
    if (!scan->wants_messages || !scan->unordered)
        return LULL_OK; /* not asked for, or read before */
    lull_status status = lull_prv_message(&scan->records, at, halves, err);
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        struct lull_event event = lull_prv_message_event(&scan->records, &halves[i]);
        status = choose_place(scan, halves[i].location, err);
        if (status == LULL_OK)
            status = put(scan, &event, err);
    }
    return status;
}

/* ---- the line at hand ------------------------------------------------------------------------ */

/* Object and time of a state or event record: the file's order is checked here. */
static lull_status begin_line(struct scan *scan, const uint8_t **at, struct lull_error *err)
{
    uint32_t location = 0;
    lull_status status = lull_prv_object(&scan->records, at, &location, err);
    if (status == LULL_OK)
        status = lull_prv_time(&scan->records, at, &scan->time, err);
    if (status == LULL_OK)
        status = choose_place(scan, location, err);
    if (status != LULL_OK)
        return status;
    if (*(*at)++ != ':')
        return lull_prv_bad(&scan->records, err, "the record ends early, expected ':'");
    if (scan->time < scan->last_time)
        return lull_prv_bad(&scan->records, err,
                            "time %lld is before %lld, expected records in order",
                            (long long)scan->time, (long long)scan->last_time);
    scan->last_time = scan->time;
    struct place *place = scan->place;
    if (place->counted_time != scan->time) {
        place->counted_time = scan->time;
        memset(place->counted, 0, scan->counted_words * sizeof *place->counted);
    }
    return place->next_half < place->last_half ? put_messages(scan, scan->time, err) : LULL_OK;
}

static uint32_t find_state(const struct lull_trace *trace, uint64_t number)
{
    if (number < trace->n_states && trace->states[number].number == number)
        return (uint32_t)number;
    uint32_t low = 0, high = trace->n_states - 1; /* the last is for all others */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (trace->states[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (trace->states[low].number != number)
        low = trace->n_states - 1;
    return low;
}

/* 1:<object>:begin:end:state */
static lull_status state_line(struct scan *scan, const uint8_t **at, struct lull_error *err)
{
    int64_t end = 0;
    uint64_t number;
    lull_status status = begin_line(scan, at, err);
    if (status == LULL_OK)
        status = lull_prv_time(&scan->records, at, &end, err);
    if (status != LULL_OK)
        return status;
    if (*(*at)++ != ':' || !lull_prv_number(at, &number) || !lull_prv_line_ends(*at))
        return lull_prv_bad(&scan->records, err, "expected ':', the state and the end of the line");
    if (end < scan->time)
        return lull_prv_bad(&scan->records, err, "state ends before it begins (%lld, %lld)",
                            (long long)end, (long long)scan->time);
    if (end == scan->time)
        return LULL_OK;
    uint32_t state = find_state(scan->trace, number);
    if (state + 1 == scan->trace->n_states)
        lull_trace_add_quirk(scan->trace, "a state has a number that is named nowhere",
                             "line %llu: state %llu", (unsigned long long)scan->records.line,
                             (unsigned long long)number);
    struct lull_event event = {
        .time = scan->time, .kind = LULL_EVENT_STATE, .id = state, .duration = end - scan->time};
    return put(scan, &event, err);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool add_pair(struct scan *scan, const struct lull_prv_type *type, uint64_t value)
{
    if (scan->n_pairs == scan->pairs_capacity) {
        size_t capacity = scan->pairs_capacity ? scan->pairs_capacity * 2 : 64;
        struct pair *larger = realloc(scan->pairs, capacity * sizeof *larger);
        if (!larger)
            return false;
        scan->pairs = larger;
        scan->pairs_capacity = capacity;
    }
    scan->pairs[scan->n_pairs++] = (struct pair){type, value};
    return true;
}

/* Of several readings of one counter at one time the first counts, also over several lines. */
static inline void add_reading(struct scan *scan, uint32_t counter, uint64_t value)
{
    uint64_t *word = &scan->place->counted[counter / 64], bit = UINT64_C(1) << (counter % 64);
    if (*word & bit)
        return;
    *word |= bit;
    scan->readings[scan->n_readings++] = (struct lull_reading){.value = value, .counter = counter};
}

/* "<type>:" by its digits as they stand; by its number where there are more than eight. */
static inline bool read_type(const struct lull_prv_types *types, const uint8_t **at,
                             uint32_t *ret_index)
{
    uint64_t word = lull_prv_load(*at), number;
    unsigned digits = lull_prv_digits(word);
    if (digits == 0)
        return false;
    if ((*at)[digits] == ':') {
        uint64_t key = lull_prv_align(word, digits);
        uint32_t slot = lull_prv_hash(key, types->shift);
        for (; types->by_text[slot].key; slot = (slot + 1) & types->mask) {
            if (types->by_text[slot].key == key) {
                *ret_index = types->by_text[slot].index;
                *at += digits + 1;
                return true;
            }
        }
    }
    if (!lull_prv_number(at, &number) || *(*at)++ != ':')
        return false;
    *ret_index = lull_prv_type_index(types, number);
    return true;
}

static inline bool read_value(const uint8_t **at, uint64_t *ret_value)
{
    bool negative = **at == '-';
    *at += negative;
    if (!lull_prv_number(at, ret_value))
        return false;
    if (negative)
        *ret_value = -*ret_value;
    return true;
}

static inline bool skip_value(const uint8_t **at)
{
    const uint8_t *from = *at += **at == '-';
    unsigned digits;
    do
        *at += digits = lull_prv_digits(lull_prv_load(*at));
    while (digits == 8);
    return *at > from;
}

static bool unnamed_type(struct scan *scan, uint64_t value)
{
    lull_trace_add_quirk(scan->trace,
                         "an event type is named nowhere and occurs late; its number is lost",
                         "line %llu", (unsigned long long)scan->records.line);
    return !(scan->mask >> LULL_EVENT_MARKER & 1) || add_pair(scan, NULL, value);
}

/* Counters go to scan->readings, the others, as far as they are wanted, to scan->pairs. */
static lull_status read_pairs(struct scan *scan, const uint8_t **line, struct lull_error *err)
{
    const struct lull_prv_types *types = scan->types;
    const uint8_t *at = *line;
    scan->n_pairs = scan->n_readings = 0;
    for (;; at++) {
        uint32_t index;
        uint64_t value;
        if (!read_type(types, &at, &index))
            return lull_prv_bad(&scan->records, err, "expected 'type:value' pairs");
        enum need need = index < types->n_types ? (enum need)scan->needs[index] : NEED_VALUE;
        if (need == NEED_NOTHING ? !skip_value(&at) : !read_value(&at, &value))
            return lull_prv_bad(&scan->records, err, "expected a number as value of an event");
        if (need == NEED_READING)
            add_reading(scan, types->types[index].index, value);
        else if (need == NEED_VALUE &&
                 !(index < types->n_types ? add_pair(scan, &types->types[index], value)
                                          : unnamed_type(scan, value)))
            return out_of_memory(scan, err);
        if (*at != ':')
            break;
    }
    *line = at;
    return lull_prv_line_ends(at)
               ? LULL_OK
               : lull_prv_bad(&scan->records, err, "expected ':' or the end of the line");
}

static lull_status put_counters(struct scan *scan, struct lull_error *err)
{
    lull_status status = make_room(scan, scan->n_readings, err);
    if (status != LULL_OK)
        return status;
    struct place *place = scan->place;
    place->n_readings += scan->n_readings;
    struct lull_reading *values =
        (struct lull_reading *)(void *)(place->buffer + scan->buffer_size) - place->n_readings;
    memcpy(values, scan->readings, scan->n_readings * sizeof *values);
    struct lull_event event = {.time = scan->time,
                               .kind = LULL_EVENT_COUNTERS,
                               .readings = {.values = values, .count = scan->n_readings}};
    memcpy(place->buffer + place->n_events++ * sizeof event, &event, sizeof event);
    return LULL_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status end_collective(struct scan *scan, struct lull_error *err)
{
    struct place *place = scan->place;
    place->in_collective = false;
    place->collective.time = scan->time;
    place->collective.kind = LULL_EVENT_COLLECTIVE_END;
    return put(scan, &place->collective, err);
}

/* Leaves the region at index `at` of the open ones, wherever it stands. */
static lull_status leave(struct scan *scan, uint32_t at, struct lull_error *err)
{
    struct place *place = scan->place;
    struct open_region left = place->open[at];
    place->n_open--;
    memmove(place->open + at, place->open + at + 1, (place->n_open - at) * sizeof *place->open);
    lull_status status = LULL_OK;
    if (place->in_collective && at == place->collective_open)
        status = end_collective(scan, err);
    else if (place->in_collective && at < place->collective_open)
        place->collective_open--;
    if (status == LULL_OK)
        status = put_simple(scan, LULL_EVENT_LEAVE, left.region, err);
    return status;
}

/* Index + 1 of the innermost open region of the type; 0: none. */
static uint32_t find_open(const struct place *place, const struct lull_prv_type *type)
{
    uint32_t at = place->n_open;
    while (at > 0 && place->open[at - 1].type != type)
        at--;
    return at;
}

static lull_status enter(struct scan *scan, const struct lull_prv_type *type, uint64_t value,
                         struct lull_error *err)
{
    struct place *place = scan->place;
    bool named;
    uint32_t region = lull_prv_type_region(type, value, &named);
    if (!named)
        lull_trace_add_quirk(
            scan->trace, "a value of an event type is named nowhere; counted under its type",
            "line %llu: type %llu value %llu", (unsigned long long)scan->records.line,
            (unsigned long long)type->number, (unsigned long long)value);
    if (place->n_open == place->open_capacity) {
        uint32_t capacity = place->open_capacity ? place->open_capacity * 2 : 8;
        struct open_region *larger = realloc(place->open, capacity * sizeof *larger);
        if (!larger)
            return out_of_memory(scan, err);
        place->open = larger;
        place->open_capacity = capacity;
    }
    place->open[place->n_open++] = (struct open_region){type, region};
    return put_simple(scan, LULL_EVENT_ENTER, region, err);
}

static lull_status region_event(struct scan *scan, const struct lull_prv_type *type, uint64_t value,
                                struct lull_error *err)
{
    struct place *place = scan->place;
    uint32_t open = find_open(place, type);
    lull_status status = LULL_OK;
    if (value == 0) {
        if (open > 0)
            return leave(scan, open - 1, err);
        lull_trace_add_quirk(scan->trace, "an activity ends that did not begin; ignored",
                             "line %llu: type %llu", (unsigned long long)scan->records.line,
                             (unsigned long long)type->number);
        return LULL_OK;
    }
    if (open > 0 && !type->nests) {
        status = leave(scan, open - 1, err);
    } else if (place->n_open == MOST_OPEN) {
        lull_trace_add_quirk(scan->trace,
                             "more than 1024 regions are open at a time; the innermost are closed",
                             "line %llu", (unsigned long long)scan->records.line);
        status = leave(scan, place->n_open - 1, err);
    }
    return status == LULL_OK ? enter(scan, type, value, err) : status;
}

/* ---- parameters and lull's own events -------------------------------------------------------- */

/* The parameters of what stands before them on the line. */
struct parameters {
    uint64_t values[LULL_PRV_PARAMETERS];
    uint32_t given; /* bit per parameter */
};

static bool given(const struct parameters *parameters, unsigned which)
{
    return parameters->given >> which & 1;
}

static uint32_t comm_of(const struct scan *scan, const struct parameters *parameters)
{
    uint32_t process = scan->trace->locations[scan->location].process;
    uint32_t application = scan->trace->processes[process].application;
    const struct lull_paraver *paraver = scan->records.paraver;
    if (!given(parameters, LULL_PRV_COMM))
        return paraver->applications[application].world;
    uint64_t id = parameters->values[LULL_PRV_COMM];
    uint32_t comm = lull_prv_comm_find(paraver, application, id);
    if (comm == LULL_NONE)
        lull_trace_add_quirk(scan->trace, "a collective names a communicator that is not defined",
                             "line %llu: communicator %llu", (unsigned long long)scan->records.line,
                             (unsigned long long)id);
    return comm;
}

static struct lull_event collective_event(const struct scan *scan,
                                          const struct parameters *parameters, uint8_t op)
{
    uint64_t rank = given(parameters, LULL_PRV_ROOT_RANK)
                        ? parameters->values[LULL_PRV_ROOT_RANK] - 1
                        : UINT64_MAX;
    int32_t root = NO_ROOT;
    if (rank < scan->trace->n_processes)
        root = (int32_t)rank;
    else if (given(parameters, LULL_PRV_ROOT) && parameters->values[LULL_PRV_ROOT])
        root = (int32_t)scan->trace->locations[scan->location].process;
    return (struct lull_event){.time = scan->time,
                               .kind = LULL_EVENT_COLLECTIVE_BEGIN,
                               .op = op,
                               .id = comm_of(scan, parameters),
                               .collective = {.sent = parameters->values[LULL_PRV_SENT],
                                              .received = parameters->values[LULL_PRV_RECEIVED],
                                              .request = LULL_NO_REQUEST,
                                              .root = root}};
}

/* Sizes on the line on which a collective call begins (or while it is open): the collective. */
static lull_status begin_collective(struct scan *scan, const struct parameters *parameters,
                                    struct lull_error *err)
{
    struct place *place = scan->place;
    uint32_t open = place->n_open;
    while (open > 0 && !place->open[open - 1].type->collective)
        open--;
    if (open == 0 || place->in_collective)
        return LULL_OK;
    uint8_t op = scan->trace->regions[place->open[open - 1].region].collective;
    place->in_collective = true;
    place->collective_open = open - 1;
    place->collective = collective_event(scan, parameters, op);
    return put(scan, &place->collective, err);
}

/* A process index + 1, or nobody; 0 or anything else: unknown. */
static int32_t target_of(const struct scan *scan, const struct parameters *parameters)
{
    uint64_t process = parameters->values[LULL_PRV_TARGET] - 1;
    if (process == LULL_PRV_NOBODY - UINT64_C(1))
        return LULL_PROC_NULL;
    return process < scan->trace->n_processes ? (int32_t)process : LULL_ANY;
}

static lull_status own_event(struct scan *scan, const struct pair *pair,
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
        event.op = (uint8_t)number;
        event.id = LULL_NONE;
        event.transfer.bytes = parameters->values[LULL_PRV_BYTES];
        event.transfer.reserved = 0;
        event.transfer.target = parameters->values[LULL_PRV_TARGET] - 1 < scan->trace->n_processes
                                    ? (int32_t)(parameters->values[LULL_PRV_TARGET] - 1)
                                    : LULL_ANY;
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        event.id = comm_of(scan, parameters);
        event.message.bytes = parameters->values[LULL_PRV_BYTES];
        event.message.request = LULL_NO_REQUEST;
        event.message.peer = target_of(scan, parameters);
        event.message.tag = (int32_t)(uint32_t)parameters->values[LULL_PRV_TAG];
        break;
    default:
        break;
    }
    return put(scan, &event, err);
}

/* ---- events ---------------------------------------------------------------------------------- */

static lull_status marker(struct scan *scan, uint32_t index, uint64_t value, struct lull_error *err)
{
    struct lull_event event = {
        .time = scan->time, .kind = LULL_EVENT_MARKER, .id = index, .number = value};
    return put(scan, &event, err);
}

/* All pairs but counters. Parameters wait until what they belong to is complete: one of lull's own
 * events, if one stands before them, else the collective of the line. */
static lull_status put_others(struct scan *scan, struct lull_error *err)
{
    struct parameters line = {.given = 0}, own = {.given = 0}, *current = &line;
    const struct pair *pending = NULL;
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < scan->n_pairs; i++) {
        const struct pair *pair = &scan->pairs[i];
        switch (pair->type ? (enum lull_prv_kind)pair->type->kind : LULL_PRV_MARKER) {
        case LULL_PRV_REGION:
            if (line.given) /* of the call before, which may end on this very line */
                status = begin_collective(scan, &line, err);
            line = (struct parameters){.given = 0};
            if (status == LULL_OK)
                status = region_event(scan, pair->type, pair->value, err);
            break;
        case LULL_PRV_SWITCH:
            status = put_simple(scan, pair->value ? LULL_EVENT_MEASURE_ON : LULL_EVENT_MEASURE_OFF,
                                0, err);
            break;
        case LULL_PRV_MARKER:
            status = marker(scan, pair->type ? pair->type->index : scan->types->unnamed_marker,
                            pair->value, err);
            break;
        case LULL_PRV_PARAMETER:
            current->values[pair->type->index] = pair->value;
            current->given |= 1u << pair->type->index;
            break;
        case LULL_PRV_OWN:
            if (pending)
                status = own_event(scan, pending, &own, err);
            pending = pair;
            own = (struct parameters){.given = 0};
            current = &own;
            break;
        default:
            break;
        }
    }
    if (status == LULL_OK && pending)
        status = own_event(scan, pending, &own, err);
    if (status == LULL_OK && line.given)
        status = begin_collective(scan, &line, err);
    return status;
}

/* 2:<object>:time:type:value:type:value... */
static lull_status event_line(struct scan *scan, const uint8_t **at, struct lull_error *err)
{
    lull_status status = begin_line(scan, at, err);
    if (status == LULL_OK)
        status = read_pairs(scan, at, err);
    if (status == LULL_OK && scan->n_readings > 0)
        status = put_counters(scan, err);
    if (status == LULL_OK && scan->n_pairs > 0)
        status = put_others(scan, err);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static lull_status odd_line(struct scan *scan, const uint8_t *at, struct lull_error *err)
{
    if (lull_prv_line_ends(at) || at[0] == '#')
        return LULL_OK;
    if (at[0] == 'c') {
        lull_trace_add_quirk(scan->trace,
                             "communicators are defined behind the first record; ignored",
                             "line %llu", (unsigned long long)scan->records.line);
        return LULL_OK;
    }
    if (at[0] >= '4' && at[0] <= '9' && at[1] == ':') {
        lull_trace_add_quirk(scan->trace, "records of an unknown kind; ignored", "line %llu",
                             (unsigned long long)scan->records.line);
        return LULL_OK;
    }
    return lull_prv_bad(&scan->records, err, "expected a record (1:, 2: or 3:), '#' or 'c:'");
}

/* Moves *at towards the end of the line. */
static lull_status one_line(struct scan *scan, const uint8_t **at, struct lull_error *err)
{
    const uint8_t *line = *at;
    if (line[1] != ':')
        return odd_line(scan, line, err);
    *at += 2;
    switch (line[0]) {
    case '1':
        return scan->mask >> LULL_EVENT_STATE & 1 ? state_line(scan, at, err) : LULL_OK;
    case '2':
        return scan->wants_events ? event_line(scan, at, err) : LULL_OK;
    case '3':
        return message_line(scan, *at, err);
    default:
        return odd_line(scan, line, err);
    }
}

static lull_status all_lines(struct scan *scan, struct lull_error *err)
{
    const uint8_t *at, *end;
    lull_status status;
    while ((status = lull_prv_records_next(&scan->records, &at, &end, err)) == LULL_OK &&
           at < end) {
        while (at < end) {
            status = one_line(scan, &at, err);
            if (status != LULL_OK)
                return status;
            if (*at != '\n')
                at = memchr(at, '\n', (size_t)(end - at));
            at++;
            scan->records.line++;
        }
        lull_sink_progress(scan->sink, lull_prv_source_share(scan->records.source));
    }
    return status;
}

/* What is still in the buffers, and messages behind the last line of a location. */
static lull_status finish(struct scan *scan, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < scan->trace->n_locations; l++) {
        const struct place *place = &scan->places[l];
        if (place->next_half == place->last_half && place->n_events == 0)
            continue;
        status = choose_place(scan, l, err);
        if (status == LULL_OK)
            status = put_messages(scan, INT64_MAX, err);
        if (status == LULL_OK)
            status = hand_over(scan, l, err);
    }
    return status;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static bool wants(uint64_t mask, const struct lull_prv_type *type)
{
    const uint64_t collectives =
        LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) | LULL_MASK(LULL_EVENT_COLLECTIVE_END);
    switch ((enum lull_prv_kind)type->kind) {
    case LULL_PRV_REGION:
        return mask & (LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) |
                       (type->collective ? collectives : 0));
    case LULL_PRV_COUNTER:
        return mask & LULL_MASK(LULL_EVENT_COUNTERS);
    case LULL_PRV_MARKER:
        return mask & LULL_MASK(LULL_EVENT_MARKER);
    case LULL_PRV_PARAMETER:
        return mask & (collectives | LULL_MASK(LULL_EVENT_RMA) | LULL_MASK(LULL_EVENT_IO) |
                       LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV));
    case LULL_PRV_SWITCH:
        return mask & (LULL_MASK(LULL_EVENT_MEASURE_ON) | LULL_MASK(LULL_EVENT_MEASURE_OFF));
    case LULL_PRV_OWN:
        return mask & LULL_MASK(type->index);
    default:
        return false;
    }
}

static size_t size_of_buffer(const struct lull_trace *trace)
{
    size_t size = BUFFERS_TOTAL / trace->n_locations;
    size = size < BUFFER_LEAST ? BUFFER_LEAST : size > BUFFER_MOST ? BUFFER_MOST : size;
    size_t least = 2 * sizeof(struct lull_event) + trace->n_counters * sizeof(struct lull_reading);
    size = size < least ? least : size;
    return size / 16 * 16;
}

static lull_status prepare(struct scan *scan, struct lull_error *err)
{
    const struct lull_trace *trace = scan->trace;
    scan->buffer_size = size_of_buffer(trace);
    scan->counted_words = trace->n_counters / 64 + 1;
    scan->places = calloc(trace->n_locations, sizeof *scan->places);
    scan->needs = calloc((size_t)scan->types->n_types + 1, sizeof *scan->needs);
    scan->readings = calloc((size_t)trace->n_counters + 1, sizeof *scan->readings);
    if (!scan->places || !scan->needs || !scan->readings)
        return out_of_memory(scan, err);
    for (uint32_t i = 0; i < scan->types->n_types; i++) {
        const struct lull_prv_type *type = &scan->types->types[i];
        if (!wants(scan->mask, type))
            continue;
        scan->needs[i] = type->kind == LULL_PRV_COUNTER ? NEED_READING : NEED_VALUE;
        scan->wants_events = true;
    }
    for (uint32_t l = 0; l < trace->n_locations; l++)
        scan->places[l].counted_time = INT64_MIN;
    if (!scan->wants_messages || scan->unordered)
        return LULL_OK;
    lull_status status = lull_prv_messages_read(trace, &scan->messages, err);
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        scan->places[l].next_half = scan->messages.first[l];
        scan->places[l].last_half = scan->messages.first[l + 1];
    }
    return status;
}

static void release(struct scan *scan)
{
    for (uint32_t l = 0; scan->places && l < scan->trace->n_locations; l++) {
        free(scan->places[l].buffer);
        free(scan->places[l].open);
        free(scan->places[l].counted);
    }
    free(scan->places);
    free(scan->needs);
    free(scan->readings);
    free(scan->pairs);
    lull_prv_messages_free(&scan->messages);
}

lull_status lull_prv_drive(const struct lull_trace *trace, uint64_t mask, bool unordered,
                           struct lull_sink *sink, struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    struct scan scan = {.trace = trace,
                        .types = &paraver->types,
                        .sink = sink,
                        .mask = mask,
                        .unordered = unordered,
                        .wants_messages =
                            mask & (LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV))};
    lull_status status = prepare(&scan, err);
    if (status == LULL_OK)
        status = lull_prv_records_open(trace, false, &scan.records, err);
    if (status == LULL_OK) {
        status = all_lines(&scan, err);
        if (status == LULL_OK)
            status = finish(&scan, err);
        lull_prv_records_close(&scan.records);
    }
    release(&scan);
    return status;
}
