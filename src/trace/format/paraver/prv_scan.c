/* SPDX-License-Identifier: BSD-3-Clause */
/* The scan of a Paraver file: lines, which have been taken apart, become events, in blocks per
 * location. Of the counters and events of one line the counters come first. Each location has one
 * small buffer, with events from its front and readings from its back, which is handed over when
 * the two meet. Internal to the Paraver format. */
#include "base/array.h"
#include "base/parallel.h"
#include "base/sorted.h"
#include "trace/format/paraver/prv_records.h"
#include "trace/format/paraver/prv_types.h"
#include "trace/scan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== messages ================================================================================ */

/* Communication records are not in time order and each speaks of two locations. So they are read
 * in a pass of their own, and sorted by location: 32 bytes per half message, up to twice as many
 * while they are read. */

struct collection {
    const struct lull_trace *trace;
    struct lull_prv_messages *messages;
    atomic_uint next; /* the next location whose messages are to be sorted */
};

static lull_status no_memory_for_messages(const struct lull_trace *trace, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for messages", trace->path);
}

static int compare_halves(const void *a, const void *b)
{
    const struct lull_prv_half *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind > right->kind ? -1 : 1;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    if (left->tag != right->tag)
        return left->tag < right->tag ? -1 : 1;
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

static lull_status take_message_batch(void *context, const struct lull_prv_batch *batch,
                                      double share, struct lull_error *err)
{
    (void)share;
    struct collection *collection = context;
    struct lull_prv_messages *messages = collection->messages;
    for (size_t i = 0; i < batch->n_items; i++) {
        const uint64_t line = batch->line + batch->items[i].line;
        lull_prv_tell_late(collection->trace, &batch->items[i], line);
        if (batch->items[i].kind == LULL_PRV_BAD_ITEM)
            return lull_prv_bad_batch(collection->trace, batch, line, err);
    }
    for (size_t i = 0; i < batch->n_halves; i++) {
        struct lull_prv_location_messages *own = &messages->of_location[batch->halves[i].location];
        if (!lull_array_reserve(&own->halves, &own->capacity, own->n + 1, sizeof *own->halves))
            return no_memory_for_messages(collection->trace, err);
        own->halves[own->n++] = batch->halves[i];
    }
    return LULL_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

/* Sorts the halves of messages, which are nearly in order: moves each to its place, unless that
 * takes too many moves in all. */
static void sort_halves(struct lull_prv_half *halves, size_t n)
{
    size_t moves_left = 8 * n;
    for (size_t i = 1; i < n; i++) {
        struct lull_prv_half half = halves[i];
        size_t at = i;
        for (; at > 0 && moves_left > 0 && compare_halves(&half, &halves[at - 1]) < 0;
             at--, moves_left--)
            halves[at] = halves[at - 1];
        halves[at] = half;
        if (moves_left == 0) {
            qsort(halves, n, sizeof *halves, compare_halves);
            return;
        }
    }
}

static void sort_locations(void *context, unsigned worker)
{
    (void)worker;
    struct collection *collection = context;
    const struct lull_prv_messages *messages = collection->messages;
    uint32_t l;
    while ((l = atomic_fetch_add(&collection->next, 1)) < messages->n_locations)
        sort_halves(messages->of_location[l].halves, messages->of_location[l].n);
}

lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err)
{
    const struct lull_prv_wish wish = {.messages = true};
    struct collection collection = {.trace = trace, .messages = messages};
    atomic_init(&collection.next, 0);
    *messages = (struct lull_prv_messages){
        .of_location = calloc((size_t)trace->n_locations + 1, sizeof *messages->of_location),
        .n_locations = trace->n_locations};
    if (!messages->of_location)
        return no_memory_for_messages(trace, err);
    lull_status status =
        lull_prv_pipe_run(trace, true, workers, &wish, take_message_batch, &collection, err);
    if (status == LULL_OK)
        lull_parallel_run(workers, sort_locations, &collection);
    else
        lull_prv_messages_free(messages);
    return status;
}

void lull_prv_messages_free(struct lull_prv_messages *messages)
{
    for (uint32_t l = 0; messages->of_location && l < messages->n_locations; l++)
        free(messages->of_location[l].halves);
    free(messages->of_location);
    *messages = (struct lull_prv_messages){0};
}

/* ==== scan ==================================================================================== */

struct prv_open {
    const struct lull_prv_type *type;
    uint32_t region;
};

/* The state of one location. */
struct prv_track {
    uint8_t *buffer; /* malloc'd at the first event */
    uint32_t n_events, n_readings;
    struct prv_open *open;
    size_t open_capacity;
    uint32_t n_open;
    int64_t counted_time; /* of the latest readings */
    uint64_t *counted;    /* a bit for each counter that was read at that time */
    int64_t last_time;    /* of its lines so far */
    int64_t state_until;  /* when its last state ends */
    /* Measurement is off: by an event, and by a state until its end (INT64_MAX: by none). */
    bool switched_off;
    int64_t off_until;
    bool in_collective;
    uint32_t collective_open;     /* index of the collective's call in open[] */
    struct lull_event collective; /* the event that tells its end */
    /* Messages of the location that are not told yet; NULL, NULL: none. */
    const struct lull_prv_half *next_half, *last_half;
};

struct prv_scan {
    const struct lull_trace *trace;
    const struct lull_paraver *paraver;
    struct lull_sink *sink;
    uint64_t mask;
    bool unordered;
    struct lull_prv_messages messages; /* in time order, unless `unordered` */
    uint8_t *needs;                    /* per type, enum lull_prv_need */
    struct lull_prv_wish wish;
    struct prv_track *tracks;
    size_t buffer_size;
    size_t counted_words;
    int64_t last_time;
    struct lull_counter_reading *readings; /* of the line at hand; room for all counters */
    uint32_t n_readings;
    /* the line at hand */
    uint64_t line; /* its number, from 1 */
    struct prv_track *track;
    uint32_t location;
    int64_t time;
};

static lull_status prv_hand_over(struct prv_scan *scan, uint32_t location, struct lull_error *err);
static lull_status prv_put_pairs(struct prv_scan *scan, const struct lull_prv_pair *pairs,
                                 size_t n_pairs, struct lull_error *err);

/* Makes room in the buffer of the location at hand for an event and its readings. */
static inline lull_status prv_make_room(struct prv_scan *scan, size_t readings,
                                        struct lull_error *err)
{
    struct prv_track *track = scan->track;
    size_t used = (track->n_events + 1) * sizeof(struct lull_event) +
                  (track->n_readings + readings) * sizeof(struct lull_counter_reading);
    return used <= scan->buffer_size ? LULL_OK : prv_hand_over(scan, scan->location, err);
}

static inline lull_status prv_put(struct prv_scan *scan, const struct lull_event *event,
                                  struct lull_error *err)
{
    if (!(scan->mask >> event->kind & 1))
        return LULL_OK;
    lull_status status = prv_make_room(scan, 0, err);
    if (status != LULL_OK)
        return status;
    struct prv_track *track = scan->track;
    memcpy(track->buffer + track->n_events++ * sizeof *event, event, sizeof *event);
    return LULL_OK;
}

static inline lull_status prv_put_simple(struct prv_scan *scan, uint8_t kind, uint32_t id,
                                         struct lull_error *err)
{
    return prv_put(scan, &(struct lull_event){.time = scan->time, .kind = kind, .id = id}, err);
}

enum {
    /* Bytes over all locations; more if there are so many that each gets the least. */
    BUFFERS_TOTAL = 8 << 20,
    BUFFER_LEAST = 1 << 10,
    BUFFER_MOST = 16 << 10
};

/* ---- buffers --------------------------------------------------------------------------------- */

static lull_status prv_hand_over(struct prv_scan *scan, uint32_t location, struct lull_error *err)
{
    struct prv_track *track = &scan->tracks[location];
    lull_status status =
        lull_sink_block(scan->sink, location, (const struct lull_event *)(void *)track->buffer,
                        track->n_events, err);
    track->n_events = track->n_readings = 0;
    return status;
}

static lull_status prv_no_memory(const struct prv_scan *scan, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", scan->trace->path);
}

/* Makes a location the one at hand. Its buffers are made when it first occurs. */
static lull_status choose_track(struct prv_scan *scan, uint32_t location, struct lull_error *err)
{
    struct prv_track *track = scan->track = &scan->tracks[location];
    scan->location = location;
    if (track->buffer)
        return LULL_OK;
    track->counted = calloc(scan->counted_words, sizeof *track->counted);
    track->buffer = malloc(scan->buffer_size);
    return track->counted && track->buffer ? LULL_OK : prv_no_memory(scan, err);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Puts messages up to `until`, the time of the line at hand. A receive of that time belongs before
 * the line, which ends the call that the receive completes; a send belongs behind it, because the
 * line begins the call that posts the send. */
static lull_status put_messages(struct prv_scan *scan, int64_t until, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    for (; track->next_half < track->last_half; track->next_half++) {
        const struct lull_prv_half *half = track->next_half;
        if (half->time > until || (half->time == until && half->kind == LULL_EVENT_SEND))
            break;
        struct lull_event event = lull_prv_message_event(scan->trace, half);
        lull_status status = prv_put(scan, &event, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* Puts both halves of a message, at its place in the file. */
static lull_status put_halves(struct prv_scan *scan, const struct lull_prv_half halves[2],
                              struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        struct lull_event event = lull_prv_message_event(scan->trace, &halves[i]);
        status = choose_track(scan, halves[i].location, err);
        if (status == LULL_OK)
            status = prv_put(scan, &event, err);
    }
    return status;
}

/* ---- measurement off ------------------------------------------------------------------------- */

/* Extrae says that it measures nothing by an event, and by a state, which may stand alone. Each is
 * told once, whether one of them says it or both. */

static lull_status put_switch(struct prv_scan *scan, int64_t time, bool on, struct lull_error *err)
{
    const uint8_t kind = on ? LULL_EVENT_MEASURE_ON : LULL_EVENT_MEASURE_OFF;
    return prv_put(scan, &(struct lull_event){.time = time, .kind = kind}, err);
}

/* The state in which nothing was measured ends, at a time up to that of the line at hand. */
static lull_status end_state_off(struct prv_scan *scan, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    const int64_t at = track->off_until;
    track->off_until = INT64_MAX;
    lull_status status = put_messages(scan, at, err);
    return status == LULL_OK && !track->switched_off ? put_switch(scan, at, true, err) : status;
}

static lull_status begin_state_off(struct prv_scan *scan, int64_t end, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    const bool off = track->switched_off || track->off_until != INT64_MAX;
    track->off_until = end;
    return off ? LULL_OK : put_switch(scan, scan->time, false, err);
}

static lull_status switch_measurement(struct prv_scan *scan, bool on, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    track->switched_off = !on;
    return track->off_until != INT64_MAX ? LULL_OK : put_switch(scan, scan->time, on, err);
}

/* ---- the line at hand ------------------------------------------------------------------------ */

/* Takes object and time of a state or event record, and checks that records are in order. */
static lull_status begin_line_of_track(struct prv_scan *scan, const struct lull_prv_item *item,
                                       struct lull_error *err)
{
    lull_status status = choose_track(scan, item->location, err);
    if (status != LULL_OK)
        return status;
    struct prv_track *track = scan->track;
    scan->time = item->time;
    if (scan->time < track->last_time)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %llu: time %lld is before %lld, expected the records of a "
                         "thread in order, or at most %d lines late",
                         scan->trace->path, (unsigned long long)scan->line, (long long)scan->time,
                         (long long)track->last_time, LULL_PRV_LATE_LINES);
    track->last_time = scan->time;
    if (scan->time < scan->last_time)
        lull_trace_add_quirk(scan->trace,
                             "records are not in order of time, but those of each thread are",
                             "line %llu", (unsigned long long)scan->line);
    else
        scan->last_time = scan->time;
    if (track->off_until <= scan->time) {
        status = end_state_off(scan, err);
        if (status != LULL_OK)
            return status;
    }
    if (track->counted_time != scan->time) {
        track->counted_time = scan->time;
        memset(track->counted, 0, scan->counted_words * sizeof *track->counted);
    }
    return track->next_half < track->last_half ? put_messages(scan, scan->time, err) : LULL_OK;
}

static lull_status put_state(struct prv_scan *scan, const struct lull_prv_item *item,
                             struct lull_error *err)
{
    if (item->end == item->time)
        return LULL_OK;
    struct lull_event event = {.time = scan->time,
                               .kind = LULL_EVENT_STATE,
                               .id = item->state,
                               .duration = item->end - item->time};
    lull_status status = LULL_OK;
    if (scan->time < scan->track->state_until)
        lull_trace_add_quirk(scan->trace,
                             "states of a thread overlap; the later one counts from its begin on",
                             "line %llu: %s", (unsigned long long)scan->line,
                             scan->trace->locations[item->location].name);
    scan->track->state_until = item->end;
    if (scan->trace->states[item->state].number == LULL_PRV_STATE_OFF)
        status = begin_state_off(scan, item->end, err);
    return status == LULL_OK ? prv_put(scan, &event, err) : status;
}

/* Chooses the readings that count: the first of each counter at a time, even if the readings of
 * that time are on several lines. */
static void choose_readings(struct prv_scan *scan, const struct lull_counter_reading *readings,
                            uint32_t n_readings)
{
    scan->n_readings = 0;
    for (uint32_t i = 0; i < n_readings; i++) {
        const uint32_t counter = readings[i].counter;
        uint64_t *word = &scan->track->counted[counter / 64], bit = UINT64_C(1) << (counter % 64);
        if (!(*word & bit))
            scan->readings[scan->n_readings++] = readings[i];
        *word |= bit;
    }
}

static lull_status put_counter_readings(struct prv_scan *scan, struct lull_error *err)
{
    lull_status status = prv_make_room(scan, scan->n_readings, err);
    if (status != LULL_OK)
        return status;
    struct prv_track *track = scan->track;
    track->n_readings += scan->n_readings;
    struct lull_counter_reading *values =
        (struct lull_counter_reading *)(void *)(track->buffer + scan->buffer_size) -
        track->n_readings;
    memcpy(values, scan->readings, scan->n_readings * sizeof *values);
    struct lull_event event = {.time = scan->time,
                               .kind = LULL_EVENT_COUNTERS,
                               .readings = {.values = values, .count = scan->n_readings}};
    memcpy(track->buffer + track->n_events++ * sizeof event, &event, sizeof event);
    return LULL_OK;
}

static lull_status put_events(struct prv_scan *scan, const struct lull_prv_item *item,
                              const struct lull_prv_pair *pairs,
                              const struct lull_counter_reading *readings, struct lull_error *err)
{
    lull_status status = LULL_OK;
    choose_readings(scan, readings, item->n_readings);
    if (scan->n_readings > 0)
        status = put_counter_readings(scan, err);
    if (status == LULL_OK && item->n_pairs > 0)
        status = prv_put_pairs(scan, pairs, item->n_pairs, err);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void tell_unnamed_state(const struct prv_scan *scan, const struct lull_prv_item *item,
                               const struct lull_prv_pair *number)
{
    if (item->end > item->time)
        lull_trace_add_quirk(scan->trace, "a state has a number that is named nowhere",
                             "line %llu: state %llu", (unsigned long long)scan->line,
                             (unsigned long long)number->value);
}

/* Tells as quirks what an item says and no event can. */
static void tell_odd(const struct prv_scan *scan, const struct lull_prv_item *item)
{
    static const char *const odd[] = {
        [LULL_PRV_COMM_ITEM] = "communicators are defined behind the first record; ignored",
        [LULL_PRV_ODD_ITEM] = "records of an unknown kind; ignored"};
    if (item->kind == LULL_PRV_COMM_ITEM || item->kind == LULL_PRV_ODD_ITEM)
        lull_trace_add_quirk(scan->trace, odd[item->kind], "line %llu",
                             (unsigned long long)scan->line);
    lull_prv_tell_late(scan->trace, item, scan->line);
}

static lull_status take_event_batch(void *context, const struct lull_prv_batch *batch, double share,
                                    struct lull_error *err)
{
    struct prv_scan *scan = context;
    const struct lull_prv_pair *pairs = batch->pairs;
    const struct lull_counter_reading *readings = batch->readings;
    const struct lull_prv_half *halves = batch->halves;
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        scan->line = batch->line + item->line;
        if (item->late || item->kind >= LULL_PRV_COMM_ITEM)
            tell_odd(scan, item);
        if (item->location != LULL_NONE && item->kind != LULL_PRV_BAD_ITEM)
            status = begin_line_of_track(scan, item, err);
        if (status != LULL_OK)
            break;
        switch (item->kind) {
        case LULL_PRV_STATE_ITEM:
            if (item->state + 1 == scan->trace->n_states)
                tell_unnamed_state(scan, item, pairs++);
            status = put_state(scan, item, err);
            break;
        case LULL_PRV_EVENTS_ITEM:
            status = put_events(scan, item, pairs, readings, err);
            pairs += item->n_pairs;
            readings += item->n_readings;
            break;
        case LULL_PRV_MESSAGE_ITEM:
            status = put_halves(scan, halves, err);
            halves += 2;
            break;
        case LULL_PRV_BAD_ITEM:
            status = lull_prv_bad_batch(scan->trace, batch, scan->line, err);
            break;
        default:
            break;
        }
    }
    lull_sink_progress(scan->sink, share);
    return status;
}

/* Hands over what is still in the buffers, with the messages behind the last line of each
 * location. */
static lull_status finish_tracks(struct prv_scan *scan, struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (uint32_t l = 0; status == LULL_OK && l < scan->trace->n_locations; l++) {
        const struct prv_track *track = &scan->tracks[l];
        if (track->next_half == track->last_half && track->n_events == 0 &&
            track->off_until == INT64_MAX)
            continue;
        status = choose_track(scan, l, err);
        if (status == LULL_OK && track->off_until != INT64_MAX)
            status = end_state_off(scan, err);
        if (status == LULL_OK)
            status = put_messages(scan, INT64_MAX, err);
        if (status == LULL_OK)
            status = prv_hand_over(scan, l, err);
    }
    return status;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static bool wants(uint64_t mask, const struct lull_prv_type *type)
{
    const uint64_t collectives =
        LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) | LULL_MASK(LULL_EVENT_COLLECTIVE_END);
    /* Where parameters are read, so are all events that have some: else those of one that is not wanted would be taken
     * for those of the event before it. */
    const uint64_t with_parameters = collectives | LULL_MASK(LULL_EVENT_RMA) |
                                     LULL_MASK(LULL_EVENT_IO) | LULL_MASK(LULL_EVENT_SEND) |
                                     LULL_MASK(LULL_EVENT_RECV) | LULL_MASK_DEVICES;
    const bool parameters = mask & with_parameters;
    switch ((enum lull_prv_kind)type->kind) {
    case LULL_PRV_REGION:
        return mask & (LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) |
                       (type->collective ? collectives : 0));
    case LULL_PRV_COUNTER:
        return mask & LULL_MASK(LULL_EVENT_COUNTERS);
    case LULL_PRV_MARKER:
        return mask & LULL_MASK(LULL_EVENT_MARKER);
    case LULL_PRV_PARAMETER:
        return parameters;
    case LULL_PRV_SWITCH:
        return mask & (LULL_MASK(LULL_EVENT_MEASURE_ON) | LULL_MASK(LULL_EVENT_MEASURE_OFF));
    case LULL_PRV_OWN:
        return (mask | (parameters ? with_parameters : 0)) & LULL_MASK(type->index);
    default:
        return false;
    }
}

static size_t size_of_buffer(const struct lull_trace *trace)
{
    size_t size = BUFFERS_TOTAL / trace->n_locations;
    size = size < BUFFER_LEAST ? BUFFER_LEAST : size > BUFFER_MOST ? BUFFER_MOST : size;
    size_t least =
        2 * sizeof(struct lull_event) + trace->n_counters * sizeof(struct lull_counter_reading);
    size = size < least ? least : size;
    return size / 16 * 16;
}

static lull_status prepare_scan(struct prv_scan *scan, bool wants_messages, struct lull_error *err)
{
    const struct lull_trace *trace = scan->trace;
    const struct lull_prv_types *types = &scan->paraver->types;
    const uint64_t states = LULL_MASK(LULL_EVENT_STATE) | LULL_MASK(LULL_EVENT_MEASURE_ON) |
                            LULL_MASK(LULL_EVENT_MEASURE_OFF);
    scan->buffer_size = size_of_buffer(trace);
    scan->counted_words = trace->n_counters / 64 + 1;
    scan->tracks = calloc(trace->n_locations, sizeof *scan->tracks);
    scan->needs = lull_alloc_apart((size_t)types->n_types + 1);
    scan->readings = calloc((size_t)trace->n_counters + 1, sizeof *scan->readings);
    if (!scan->tracks || !scan->needs || !scan->readings)
        return prv_no_memory(scan, err);
    scan->wish = (struct lull_prv_wish){.types = types,
                                        .needs = scan->needs,
                                        .states = scan->mask & states,
                                        .messages = wants_messages && scan->unordered,
                                        .odd = true};
    for (uint32_t i = 0; i < types->n_types; i++) {
        const struct lull_prv_type *type = &types->types[i];
        if (!wants(scan->mask, type))
            continue;
        scan->needs[i] =
            type->kind == LULL_PRV_COUNTER ? LULL_PRV_NEED_READING : LULL_PRV_NEED_VALUE;
        scan->wish.events = true;
    }
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        scan->tracks[l].counted_time = INT64_MIN;
        scan->tracks[l].off_until = INT64_MAX;
    }
    if (!wants_messages || scan->unordered)
        return LULL_OK;
    lull_status status =
        lull_prv_messages_read(trace, lull_sink_workers(scan->sink), &scan->messages, err);
    for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++) {
        const struct lull_prv_location_messages *own = &scan->messages.of_location[l];
        scan->tracks[l].next_half = own->halves;
        scan->tracks[l].last_half = own->n > 0 ? own->halves + own->n : own->halves;
    }
    return status;
}

static void release_scan(struct prv_scan *scan)
{
    for (uint32_t l = 0; scan->tracks && l < scan->trace->n_locations; l++) {
        free(scan->tracks[l].buffer);
        free(scan->tracks[l].open);
        free(scan->tracks[l].counted);
    }
    free(scan->tracks);
    free(scan->needs);
    free(scan->readings);
    lull_prv_messages_free(&scan->messages);
}

lull_status lull_prv_drive(const struct lull_trace *trace, uint64_t mask, bool unordered,
                           struct lull_sink *sink, struct lull_error *err)
{
    struct prv_scan scan = {.trace = trace,
                            .paraver = trace->format_data,
                            .sink = sink,
                            .mask = mask,
                            .unordered = unordered};
    bool wants_messages = mask & (LULL_MASK(LULL_EVENT_SEND) | LULL_MASK(LULL_EVENT_RECV));
    lull_status status = prepare_scan(&scan, wants_messages, err);
    if (status == LULL_OK)
        status = lull_prv_pipe_run(trace, false, lull_sink_workers(sink), &scan.wish,
                                   take_event_batch, &scan, err);
    if (status == LULL_OK)
        status = finish_tracks(&scan, err);
    release_scan(&scan);
    return status;
}

/* ==== events ================================================================================== */

/* What the pairs of an event line mean: regions, collectives, markers. */

enum {
    MOST_OPEN_REGIONS = 1 << 14
}; /* regions of a location at once; one more replaces the innermost */

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status end_collective(struct prv_scan *scan, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    track->in_collective = false;
    track->collective.time = scan->time;
    track->collective.kind = LULL_EVENT_COLLECTIVE_END;
    return prv_put(scan, &track->collective, err);
}

/* Leaves the open region at index `at`, even if it is not the innermost. */
static lull_status leave_open_region(struct prv_scan *scan, uint32_t at, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    struct prv_open left = track->open[at];
    track->n_open--;
    if (at < track->n_open)
        memmove(track->open + at, track->open + at + 1, (track->n_open - at) * sizeof *track->open);
    lull_status status = LULL_OK;
    if (track->in_collective && at == track->collective_open)
        status = end_collective(scan, err);
    else if (track->in_collective && at < track->collective_open)
        track->collective_open--;
    if (status == LULL_OK)
        status = prv_put_simple(scan, LULL_EVENT_LEAVE, left.region, err);
    return status;
}

/* The index of the innermost open region of a type, plus 1; 0: none is open. */
static uint32_t find_open_type(const struct prv_track *track, const struct lull_prv_type *type)
{
    uint32_t at = track->n_open;
    while (at > 0 && track->open[at - 1].type != type)
        at--;
    return at;
}

static lull_status enter_value(struct prv_scan *scan, const struct lull_prv_type *type,
                               uint64_t value, struct lull_error *err)
{
    struct prv_track *track = scan->track;
    bool named;
    uint32_t region = lull_prv_type_region(type, value, &named);
    if (!named)
        lull_trace_add_quirk(scan->trace,
                             "a value of an event type is named nowhere; counted under its type",
                             "line %llu: type %llu value %llu", (unsigned long long)scan->line,
                             (unsigned long long)type->number, (unsigned long long)value);
    if (!lull_array_reserve(&track->open, &track->open_capacity, (size_t)track->n_open + 1,
                            sizeof *track->open))
        return prv_no_memory(scan, err);
    track->open[track->n_open++] = (struct prv_open){type, region};
    return prv_put_simple(scan, LULL_EVENT_ENTER, region, err);
}

static lull_status region_event(struct prv_scan *scan, const struct lull_prv_type *type,
                                uint64_t value, struct lull_error *err)
{
    struct prv_track *track = scan->track;
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

/* The parameters of an event that stands before them on the line. */
struct parameters {
    uint64_t values[LULL_PRV_PARAMETERS]; /* of those that are given */
    uint32_t given;                       /* bit per parameter */
};

static bool given(const struct parameters *parameters, unsigned which)
{
    return parameters->given >> which & 1;
}

/* The value of a parameter; 0: it is not given. */
static uint64_t value_of(const struct parameters *parameters, unsigned which)
{
    return given(parameters, which) ? parameters->values[which] : 0;
}

/* The communicator of an application by its number in the file; LULL_NONE: there is none. */
static uint32_t find_comm(const struct lull_paraver *paraver, uint32_t application, uint64_t id)
{
    struct lull_bisection at = {.end = paraver->n_comm_ids};
    while (lull_bisect(&at)) {
        const struct lull_prv_comm_id *entry = &paraver->comm_ids[at.middle];
        at.in_front = entry->application < application ||
                      (entry->application == application && entry->id < id);
    }
    if (at.begin == paraver->n_comm_ids)
        return LULL_NONE;
    const struct lull_prv_comm_id *found = &paraver->comm_ids[at.begin];
    return found->application == application && found->id == id ? found->comm : LULL_NONE;
}

static uint32_t comm_of(const struct prv_scan *scan, const struct parameters *parameters)
{
    uint32_t process = scan->trace->locations[scan->location].process;
    uint32_t application = scan->trace->processes[process].application;
    const struct lull_paraver *paraver = scan->paraver;
    if (!given(parameters, LULL_PRV_COMM))
        return paraver->applications[application].world;
    uint64_t id = value_of(parameters, LULL_PRV_COMM);
    uint32_t comm = find_comm(paraver, application, id);
    if (comm == LULL_NONE)
        lull_trace_add_quirk(scan->trace, "a collective names a communicator that is not defined",
                             "line %llu: communicator %llu", (unsigned long long)scan->line,
                             (unsigned long long)id);
    return comm;
}

static struct lull_event collective_event(const struct prv_scan *scan,
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

/* Begins a collective: its sizes stand on the line on which the call begins, or on one while it is
 * open. */
static lull_status begin_collective(struct prv_scan *scan, const struct parameters *parameters,
                                    struct lull_error *err)
{
    struct prv_track *track = scan->track;
    uint32_t open = track->n_open;
    while (open > 0 && !track->open[open - 1].type->collective)
        open--;
    if (open == 0 || track->in_collective)
        return LULL_OK;
    uint8_t op = scan->trace->regions[track->open[open - 1].region].collective;
    track->in_collective = true;
    track->collective_open = open - 1;
    track->collective = collective_event(scan, parameters, op);
    return prv_put(scan, &track->collective, err);
}

/* The process in parameter TARGET, which is its index + 1 or LULL_PRV_NOBODY; LULL_ANY: not
 * known. */
static int32_t target_of(const struct prv_scan *scan, const struct parameters *parameters)
{
    uint64_t process = value_of(parameters, LULL_PRV_TARGET) - 1;
    if (process == LULL_PRV_NOBODY - UINT64_C(1))
        return LULL_PROC_NULL;
    return process < scan->trace->n_processes ? (int32_t)process : LULL_ANY;
}

/* The region of the call that submitted an operation; LULL_NONE: it is not told. */
static uint32_t call_of(const struct prv_scan *scan, const struct parameters *parameters)
{
    const struct lull_prv_types *types = &scan->paraver->types;
    const uint32_t index = lull_prv_type_index(types, value_of(parameters, LULL_PRV_CALL_TYPE));
    bool named;
    if (index == LULL_NONE || types->types[index].kind != LULL_PRV_REGION)
        return LULL_NONE;
    return lull_prv_type_region(&types->types[index], value_of(parameters, LULL_PRV_CALL_VALUE),
                                &named);
}

/* What a thread submits to devices or waits for there, and what a stream runs. */
static void fill_submission(const struct prv_scan *scan, const struct parameters *parameters,
                            struct lull_event *event)
{
    const uint32_t process = scan->trace->locations[scan->location].process;
    const struct lull_process *own = &scan->trace->processes[process];
    const uint64_t location = value_of(parameters, LULL_PRV_LOCATION) - 1;
    const uint64_t peer = value_of(parameters, LULL_PRV_PEER) - 1;
    event->id = event->kind == LULL_EVENT_OPERATION ? call_of(scan, parameters) : LULL_NONE;
    event->operation.bytes =
        value_of(parameters, event->kind == LULL_EVENT_DEPEND ? LULL_PRV_OTHER : LULL_PRV_BYTES);
    event->operation.sequence = given(parameters, LULL_PRV_SEQUENCE)
                                    ? value_of(parameters, LULL_PRV_SEQUENCE)
                                    : LULL_NO_SEQUENCE;
    event->operation.location =
        location < own->n_locations ? own->first_location + (uint32_t)location : LULL_NONE;
    event->operation.peer = peer <= INT32_MAX ? (int32_t)peer : LULL_ANY;
}

static lull_status put_own_event(struct prv_scan *scan, const struct lull_prv_pair *pair,
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
            return LULL_OK; /* an operation that is not known */
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
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_DEPEND:
    case LULL_EVENT_DEVICE_WAIT:
    case LULL_EVENT_OPERATION:
        fill_submission(scan, parameters, &event);
        break;
    default:
        break;
    }
    return prv_put(scan, &event, err);
}

/* ---- events ---------------------------------------------------------------------------------- */

static lull_status marker(struct prv_scan *scan, const struct lull_prv_pair *pair,
                          struct lull_error *err)
{
    uint32_t index = pair->type ? pair->type->index : scan->paraver->types.unnamed_marker;
    if (!pair->type)
        lull_trace_add_quirk(scan->trace,
                             "an event type is named nowhere and occurs late; its number is lost",
                             "line %llu", (unsigned long long)scan->line);
    struct lull_event event = {
        .time = scan->time, .kind = LULL_EVENT_MARKER, .id = index, .number = pair->value};
    return prv_put(scan, &event, err);
}

/* Puts the pairs of the line at hand, but for counters, as events. Parameters are gathered until
 * the event is complete that they belong to: one of lull's own, if one stands before them, else the
 * collective of the line. */
static lull_status prv_put_pairs(struct prv_scan *scan, const struct lull_prv_pair *pairs,
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
            if (pending)
                status = put_own_event(scan, pending, &own, err);
            pending = NULL;
            current = &line;
            if (status != LULL_OK)
                break;
            if (line.given) /* parameters of the call before, which may end on this line */
                status = begin_collective(scan, &line, err);
            line.given = 0;
            if (status == LULL_OK)
                status = region_event(scan, pair->type, pair->value, err);
            break;
        case LULL_PRV_SWITCH:
            status = switch_measurement(scan, pair->value != 0, err);
            break;
        case LULL_PRV_MARKER:
            status = marker(scan, pair, err);
            break;
        case LULL_PRV_PARAMETER: {
            /* What a device is told stands among the regions of a line, and has none of the parameters of a collective
             * operation. */
            const bool of_device = pending && LULL_MASK_DEVICES >> pending->type->index & 1;
            struct parameters *to =
                of_device && pair->type->index <= LULL_PRV_COMM ? &line : current;
            to->values[pair->type->index] = pair->value;
            to->given |= 1u << pair->type->index;
            break;
        }
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
