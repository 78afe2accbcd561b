/* The scan: record lines to events, in blocks per location.
 *
 * A line of events is read in two steps: its pairs of type and value are collected as far as the
 * mask wants them, then turned into events, counters first (events.c has the others). */
#include "trace/format/paraver/read/scan.h"

#include "base/array.h"
#include "trace/format/paraver/read/number.h"
#include "trace/format/sink.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFERS_TOTAL = 8 << 20, /* bytes over all locations, as far as the least size allows */
    BUFFER_LEAST = 1 << 10,
    BUFFER_MOST = 16 << 10
};

/* ---- buffers --------------------------------------------------------------------------------- */

lull_status lull_prv_hand_over(struct lull_prv_scan *scan, uint32_t location,
                               struct lull_error *err)
{
    struct lull_prv_track *track = &scan->tracks[location];
    lull_status status =
        lull_sink_block(scan->sink, location, (const struct lull_event *)(void *)track->buffer,
                        track->n_events, err);
    track->n_events = track->n_readings = 0;
    return status;
}

lull_status lull_prv_no_memory(const struct lull_prv_scan *scan, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", scan->trace->path);
}

/* The location of the line at hand; its buffers are made when it first occurs. */
static lull_status choose_track(struct lull_prv_scan *scan, uint32_t location,
                                struct lull_error *err)
{
    struct lull_prv_track *track = scan->track = &scan->tracks[location];
    scan->location = location;
    if (track->buffer)
        return LULL_OK;
    track->counted = calloc(scan->counted_words, sizeof *track->counted);
    track->buffer = malloc(scan->buffer_size);
    return track->counted && track->buffer ? LULL_OK : lull_prv_no_memory(scan, err);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Those before the line at hand: a receive at the same time belongs before it (it completes the
 * call that the line ends), a send behind it (the call that the line begins posts it). */
static lull_status put_messages(struct lull_prv_scan *scan, int64_t until, struct lull_error *err)
{
    struct lull_prv_track *track = scan->track;
    for (; track->next_half < track->last_half; track->next_half++) {
        const struct lull_prv_half *half = &scan->messages.halves[track->next_half];
        if (half->time > until || (half->time == until && half->kind == LULL_EVENT_SEND))
            break;
        struct lull_event event = lull_prv_message_event(&scan->records, half);
        lull_status status = lull_prv_put(scan, &event, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static lull_status message_line(struct lull_prv_scan *scan, const uint8_t *at,
                                struct lull_error *err)
{
    struct lull_prv_half halves[2];
    if (!scan->wants_messages || !scan->unordered)
        return LULL_OK; /* not asked for, or read before */
    lull_status status = lull_prv_message(&scan->records, at, halves, err);
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        struct lull_event event = lull_prv_message_event(&scan->records, &halves[i]);
        status = choose_track(scan, halves[i].location, err);
        if (status == LULL_OK)
            status = lull_prv_put(scan, &event, err);
    }
    return status;
}

/* ---- the line at hand ------------------------------------------------------------------------ */

/* Object and time of a state or event record: the file's order is checked here. */
static lull_status begin_line(struct lull_prv_scan *scan, const uint8_t **at,
                              struct lull_error *err)
{
    uint32_t location = 0;
    lull_status status = lull_prv_object(&scan->records, at, &location, err);
    if (status == LULL_OK)
        status = lull_prv_time(&scan->records, at, &scan->time, err);
    if (status == LULL_OK)
        status = choose_track(scan, location, err);
    if (status != LULL_OK)
        return status;
    if (*(*at)++ != ':')
        return lull_prv_bad(&scan->records, err, "the record ends early, expected ':'");
    if (scan->time < scan->last_time)
        return lull_prv_bad(&scan->records, err,
                            "time %lld is before %lld, expected records in order",
                            (long long)scan->time, (long long)scan->last_time);
    scan->last_time = scan->time;
    struct lull_prv_track *track = scan->track;
    if (track->counted_time != scan->time) {
        track->counted_time = scan->time;
        memset(track->counted, 0, scan->counted_words * sizeof *track->counted);
    }
    return track->next_half < track->last_half ? put_messages(scan, scan->time, err) : LULL_OK;
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
static lull_status state_line(struct lull_prv_scan *scan, const uint8_t **at,
                              struct lull_error *err)
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
    return lull_prv_put(scan, &event, err);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool add_pair(struct lull_prv_scan *scan, const struct lull_prv_type *type, uint64_t value)
{
    if (!lull_array_reserve(&scan->pairs, &scan->pairs_capacity, scan->n_pairs + 1,
                            sizeof *scan->pairs))
        return false;
    scan->pairs[scan->n_pairs++] = (struct lull_prv_pair){type, value};
    return true;
}

/* Of several readings of one counter at one time the first counts, also over several lines. */
static inline void add_reading(struct lull_prv_scan *scan, uint32_t counter, uint64_t value)
{
    uint64_t *word = &scan->track->counted[counter / 64], bit = UINT64_C(1) << (counter % 64);
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

static bool unnamed_type(struct lull_prv_scan *scan, uint64_t value)
{
    lull_trace_add_quirk(scan->trace,
                         "an event type is named nowhere and occurs late; its number is lost",
                         "line %llu", (unsigned long long)scan->records.line);
    return !(scan->mask >> LULL_EVENT_MARKER & 1) || add_pair(scan, NULL, value);
}

/* Counters go to scan->readings, the others, as far as they are wanted, to scan->pairs. */
static lull_status read_pairs(struct lull_prv_scan *scan, const uint8_t **line,
                              struct lull_error *err)
{
    const struct lull_prv_types *types = scan->types;
    const uint8_t *at = *line;
    scan->n_pairs = scan->n_readings = 0;
    for (;; at++) {
        uint32_t index;
        uint64_t value;
        if (!read_type(types, &at, &index))
            return lull_prv_bad(&scan->records, err, "expected 'type:value' pairs");
        enum lull_prv_need need =
            index < types->n_types ? (enum lull_prv_need)scan->needs[index] : LULL_PRV_NEED_VALUE;
        if (need == LULL_PRV_NEED_NOTHING ? !skip_value(&at) : !read_value(&at, &value))
            return lull_prv_bad(&scan->records, err, "expected a number as value of an event");
        if (need == LULL_PRV_NEED_READING)
            add_reading(scan, types->types[index].index, value);
        else if (need == LULL_PRV_NEED_VALUE &&
                 !(index < types->n_types ? add_pair(scan, &types->types[index], value)
                                          : unnamed_type(scan, value)))
            return lull_prv_no_memory(scan, err);
        if (*at != ':')
            break;
    }
    *line = at;
    return lull_prv_line_ends(at)
               ? LULL_OK
               : lull_prv_bad(&scan->records, err, "expected ':' or the end of the line");
}

static lull_status put_counters(struct lull_prv_scan *scan, struct lull_error *err)
{
    lull_status status = lull_prv_make_room(scan, scan->n_readings, err);
    if (status != LULL_OK)
        return status;
    struct lull_prv_track *track = scan->track;
    track->n_readings += scan->n_readings;
    struct lull_reading *values =
        (struct lull_reading *)(void *)(track->buffer + scan->buffer_size) - track->n_readings;
    memcpy(values, scan->readings, scan->n_readings * sizeof *values);
    struct lull_event event = {.time = scan->time,
                               .kind = LULL_EVENT_COUNTERS,
                               .readings = {.values = values, .count = scan->n_readings}};
    memcpy(track->buffer + track->n_events++ * sizeof event, &event, sizeof event);
    return LULL_OK;
}

/* 2:<object>:time:type:value:type:value... */
static lull_status event_line(struct lull_prv_scan *scan, const uint8_t **at,
                              struct lull_error *err)
{
    lull_status status = begin_line(scan, at, err);
    if (status == LULL_OK)
        status = read_pairs(scan, at, err);
    if (status == LULL_OK && scan->n_readings > 0)
        status = put_counters(scan, err);
    if (status == LULL_OK && scan->n_pairs > 0)
        status = lull_prv_put_pairs(scan, err);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static lull_status odd_line(struct lull_prv_scan *scan, const uint8_t *at, struct lull_error *err)
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

/* Moves *at towards the end of the line, never behind it. */
static lull_status one_line(struct lull_prv_scan *scan, const uint8_t **at, struct lull_error *err)
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
        *at = line;
        return odd_line(scan, line, err);
    }
}

static lull_status all_lines(struct lull_prv_scan *scan, struct lull_error *err)
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
static lull_status finish(struct lull_prv_scan *scan, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < scan->trace->n_locations; l++) {
        const struct lull_prv_track *track = &scan->tracks[l];
        if (track->next_half == track->last_half && track->n_events == 0)
            continue;
        status = choose_track(scan, l, err);
        if (status == LULL_OK)
            status = put_messages(scan, INT64_MAX, err);
        if (status == LULL_OK)
            status = lull_prv_hand_over(scan, l, err);
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

static lull_status prepare(struct lull_prv_scan *scan, struct lull_error *err)
{
    const struct lull_trace *trace = scan->trace;
    scan->buffer_size = size_of_buffer(trace);
    scan->counted_words = trace->n_counters / 64 + 1;
    scan->tracks = calloc(trace->n_locations, sizeof *scan->tracks);
    scan->needs = calloc((size_t)scan->types->n_types + 1, sizeof *scan->needs);
    scan->readings = calloc((size_t)trace->n_counters + 1, sizeof *scan->readings);
    if (!scan->tracks || !scan->needs || !scan->readings)
        return lull_prv_no_memory(scan, err);
    for (uint32_t i = 0; i < scan->types->n_types; i++) {
        const struct lull_prv_type *type = &scan->types->types[i];
        if (!wants(scan->mask, type))
            continue;
        scan->needs[i] =
            type->kind == LULL_PRV_COUNTER ? LULL_PRV_NEED_READING : LULL_PRV_NEED_VALUE;
        scan->wants_events = true;
    }
    for (uint32_t l = 0; l < trace->n_locations; l++)
        scan->tracks[l].counted_time = INT64_MIN;
    if (!scan->wants_messages || scan->unordered)
        return LULL_OK;
    lull_status status = lull_prv_messages_read(trace, &scan->messages, err);
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        scan->tracks[l].next_half = scan->messages.first[l];
        scan->tracks[l].last_half = scan->messages.first[l + 1];
    }
    return status;
}

static void release(struct lull_prv_scan *scan)
{
    for (uint32_t l = 0; scan->tracks && l < scan->trace->n_locations; l++) {
        free(scan->tracks[l].buffer);
        free(scan->tracks[l].open);
        free(scan->tracks[l].counted);
    }
    free(scan->tracks);
    free(scan->needs);
    free(scan->readings);
    free(scan->pairs);
    lull_prv_messages_free(&scan->messages);
}

lull_status lull_prv_drive(const struct lull_trace *trace, uint64_t mask, bool unordered,
                           struct lull_sink *sink, struct lull_error *err)
{
    const struct lull_paraver *paraver = trace->format_data;
    struct lull_prv_scan scan = {
        .trace = trace,
        .types = &paraver->types,
        .sink = sink,
        .mask = mask,
        .unordered = unordered,
        .wants_messages = mask & (LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV))};
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
