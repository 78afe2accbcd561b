/* The scan: lines, which have been taken apart, to events, in blocks per location. Of a line of
 * events counters come first; events.c has the others. */
#include "trace/format/paraver/read/scan.h"

#include "base/parallel.h"
#include "trace/format/paraver/read/pipe.h"
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
        const struct lull_prv_half *half = track->next_half;
        if (half->time > until || (half->time == until && half->kind == LULL_EVENT_SEND))
            break;
        struct lull_event event = lull_prv_message_event(scan->trace, half);
        lull_status status = lull_prv_put(scan, &event, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* As they stand in the file. */
static lull_status put_halves(struct lull_prv_scan *scan, const struct lull_prv_half halves[2],
                              struct lull_error *err)
{
    lull_status status = LULL_OK;
    for (int i = 0; status == LULL_OK && i < 2; i++) {
        struct lull_event event = lull_prv_message_event(scan->trace, &halves[i]);
        status = choose_track(scan, halves[i].location, err);
        if (status == LULL_OK)
            status = lull_prv_put(scan, &event, err);
    }
    return status;
}

/* ---- the line at hand ------------------------------------------------------------------------ */

/* Object and time of a state or event record: the file's order is checked here. */
static lull_status begin_line_of_track(struct lull_prv_scan *scan, const struct lull_prv_item *item,
                                       struct lull_error *err)
{
    lull_status status = choose_track(scan, item->location, err);
    if (status != LULL_OK)
        return status;
    scan->time = item->time;
    if (scan->time < scan->last_time)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %llu: time %lld is before %lld, expected records in order",
                         scan->trace->path, (unsigned long long)scan->line, (long long)scan->time,
                         (long long)scan->last_time);
    scan->last_time = scan->time;
    struct lull_prv_track *track = scan->track;
    if (track->counted_time != scan->time) {
        track->counted_time = scan->time;
        memset(track->counted, 0, scan->counted_words * sizeof *track->counted);
    }
    return track->next_half < track->last_half ? put_messages(scan, scan->time, err) : LULL_OK;
}

static lull_status put_state(struct lull_prv_scan *scan, const struct lull_prv_item *item,
                             struct lull_error *err)
{
    if (item->end == item->time)
        return LULL_OK;
    struct lull_event event = {.time = scan->time,
                               .kind = LULL_EVENT_STATE,
                               .id = item->state,
                               .duration = item->end - item->time};
    return lull_prv_put(scan, &event, err);
}

/* Of several readings of one counter at one time the first counts, also over several lines. */
static void choose_readings(struct lull_prv_scan *scan, const struct lull_reading *readings,
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

static lull_status put_counter_readings(struct lull_prv_scan *scan, struct lull_error *err)
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

static lull_status put_events(struct lull_prv_scan *scan, const struct lull_prv_item *item,
                              const struct lull_prv_pair *pairs,
                              const struct lull_reading *readings, struct lull_error *err)
{
    lull_status status = LULL_OK;
    choose_readings(scan, readings, item->n_readings);
    if (scan->n_readings > 0)
        status = put_counter_readings(scan, err);
    if (status == LULL_OK && item->n_pairs > 0)
        status = lull_prv_put_pairs(scan, pairs, item->n_pairs, err);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void tell_unnamed_state(const struct lull_prv_scan *scan, const struct lull_prv_item *item,
                               const struct lull_prv_pair *number)
{
    if (item->end > item->time)
        lull_trace_add_quirk(scan->trace, "a state has a number that is named nowhere",
                             "line %llu: state %llu", (unsigned long long)scan->line,
                             (unsigned long long)number->value);
}

/* What items do not say by events. */
static void tell_odd(const struct lull_prv_scan *scan, const struct lull_prv_item *item)
{
    static const char *const odd[] = {
        [LULL_PRV_COMM_ITEM] = "communicators are defined behind the first record; ignored",
        [LULL_PRV_ODD_ITEM] = "records of an unknown kind; ignored"};
    if (item->kind == LULL_PRV_COMM_ITEM || item->kind == LULL_PRV_ODD_ITEM)
        lull_trace_add_quirk(scan->trace, odd[item->kind], "line %llu",
                             (unsigned long long)scan->line);
    lull_prv_tell_late(scan->trace, item, scan->line);
}

static lull_status take_event_batch(void *context, const struct lull_prv_batch *batch,
                                    uint64_t line, double share, struct lull_error *err)
{
    struct lull_prv_scan *scan = context;
    const struct lull_prv_pair *pairs = batch->pairs;
    const struct lull_reading *readings = batch->readings;
    const struct lull_prv_half *halves = batch->halves;
    lull_status status = LULL_OK;
    for (size_t i = 0; status == LULL_OK && i < batch->n_items; i++) {
        const struct lull_prv_item *item = &batch->items[i];
        scan->line = line + item->line;
        if (item->late || item->kind >= LULL_PRV_COMM_ITEM)
            tell_odd(scan, item);
        if (item->location != LULL_NONE)
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

/* What is still in the buffers, and messages behind the last line of a location. */
static lull_status finish_tracks(struct lull_prv_scan *scan, struct lull_error *err)
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

static lull_status prepare_scan(struct lull_prv_scan *scan, bool wants_messages,
                                struct lull_error *err)
{
    const struct lull_trace *trace = scan->trace;
    const struct lull_prv_types *types = &scan->paraver->types;
    scan->buffer_size = size_of_buffer(trace);
    scan->counted_words = trace->n_counters / 64 + 1;
    scan->tracks = calloc(trace->n_locations, sizeof *scan->tracks);
    scan->needs = lull_alloc_apart((size_t)types->n_types + 1);
    scan->readings = calloc((size_t)trace->n_counters + 1, sizeof *scan->readings);
    if (!scan->tracks || !scan->needs || !scan->readings)
        return lull_prv_no_memory(scan, err);
    scan->wish = (struct lull_prv_wish){.types = types,
                                        .needs = scan->needs,
                                        .states = scan->mask >> LULL_EVENT_STATE & 1,
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
    for (uint32_t l = 0; l < trace->n_locations; l++)
        scan->tracks[l].counted_time = INT64_MIN;
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

static void release_scan(struct lull_prv_scan *scan)
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
    struct lull_prv_scan scan = {.trace = trace,
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
