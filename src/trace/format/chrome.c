/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing Chrome traces (JSON, the "Trace Event Format"), which Perfetto and chrome://tracing show;
 * the format is not read.
 *
 * Events need no order in the file, so each is written when it is complete. Nothing is kept but
 * what is open on each location (regions entered, the last reading of each counter), and how many
 * messages have passed through each channel. */
#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mix.h"
#include "base/output_file.h"
#include "trace/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct chrome_open_region {
    int64_t begin;
    uint32_t region;
};

struct chrome_counter_state {
    int64_t since;  /* time of the last reading that was used */
    uint64_t count; /* read since then */
};

struct chrome_track {
    struct chrome_open_region *open;
    size_t depth, capacity;
    struct chrome_counter_state *counters; /* NULL before the first reading */
    bool flushed;                          /* the track of flushes has a name */
};

struct chrome_channel { /* a key of a hash table, without padding */
    uint32_t comm, source, destination;
    int32_t tag;
};

/* How many messages have passed through a channel. */
struct chrome_passed {
    uint64_t sent, received;
};

struct chrome {
    const struct lull_trace *trace;
    struct lull_output *output;
    FILE *file;
    int failure; /* errno of a write that failed; 0: none did */
    struct lull_json json;
    struct chrome_track *tracks; /* per location */
    struct lull_hash channels;   /* from channels to indices of `passed` */
    struct chrome_passed *passed;
    size_t passed_capacity;
};

/* Spans that may overlap the regions of a thread without nesting have tracks of their own. */
enum chrome_track_kind { CHROME_STATES = 1, CHROME_FLUSHES };

struct chrome_span {
    const char *name, *category;
    int64_t begin, end;
    const char *site; /* NULL: none */
};

/* ==== names, times and threads ================================================================ */

static uint32_t chrome_process_of(const struct chrome *chrome, uint32_t location)
{
    return chrome->trace->locations[location].process;
}

static uint32_t chrome_thread_of(const struct chrome *chrome, uint32_t location)
{
    return location - chrome->trace->processes[chrome_process_of(chrome, location)].first_location;
}

static uint32_t chrome_track_of(const struct chrome *chrome, uint32_t location,
                                enum chrome_track_kind track)
{
    uint32_t n_locations =
        chrome->trace->processes[chrome_process_of(chrome, location)].n_locations;
    return (uint32_t)track * n_locations + chrome_thread_of(chrome, location);
}

static void chrome_write_text(struct chrome *chrome, const char *key, const char *text)
{
    lull_json_key(&chrome->json, key);
    lull_json_string(&chrome->json, text);
}

/* Writes a number as a signed 64-bit integer, or as a double if it is larger: readers of the format
 * hold no others. */
static void chrome_write_count(struct chrome *chrome, const char *key, uint64_t count)
{
    lull_json_key(&chrome->json, key);
    if (count <= INT64_MAX)
        lull_json_uint(&chrome->json, count);
    else
        lull_json_number(&chrome->json, (double)count);
}

/* Writes a time in microseconds, the format's unit; doubles hold them to the ns for 100 days. */
static void chrome_write_time(struct chrome *chrome, const char *key, int64_t ns)
{
    lull_json_key(&chrome->json, key);
    lull_json_number(&chrome->json, (double)ns / 1e3);
}

/* Begins an event, an object on a line of its own, which keeps the file readable. What is written
 * up to chrome_end_event belongs to it. */
static void chrome_begin_event(struct chrome *chrome, const char *phase, const char *name,
                               uint32_t location, uint32_t thread)
{
    fputc('\n', chrome->file);
    lull_json_object_begin(&chrome->json);
    chrome_write_text(chrome, "ph", phase);
    chrome_write_text(chrome, "name", name);
    chrome_write_count(chrome, "pid", chrome_process_of(chrome, location));
    chrome_write_count(chrome, "tid", thread);
}

static void chrome_end_event(struct chrome *chrome)
{
    lull_json_object_end(&chrome->json);
}

/* Writes the name of a process or a thread. */
static void chrome_write_name(struct chrome *chrome, const char *what, uint32_t location,
                              uint32_t thread, const char *name, const char *more)
{
    char text[256];
    snprintf(text, sizeof text, "%s%s", name, more);
    chrome_begin_event(chrome, "M", what, location, thread);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    chrome_write_text(chrome, "name", text);
    lull_json_object_end(&chrome->json);
    chrome_end_event(chrome);
}

/* Writes the place of a track: viewers sort tracks by name unless told otherwise. */
static void chrome_write_sort_index(struct chrome *chrome, const char *what, uint32_t location,
                                    uint32_t thread, uint32_t index)
{
    chrome_begin_event(chrome, "M", what, location, thread);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    chrome_write_count(chrome, "sort_index", index);
    lull_json_object_end(&chrome->json);
    chrome_end_event(chrome);
}

static void chrome_write_span(struct chrome *chrome, uint32_t location, uint32_t thread,
                              const struct chrome_span *span)
{
    chrome_begin_event(chrome, "X", span->name, location, thread);
    chrome_write_text(chrome, "cat", span->category);
    chrome_write_time(chrome, "ts", span->begin);
    chrome_write_time(chrome, "dur", span->end - span->begin);
    if (span->site) {
        lull_json_key(&chrome->json, "args");
        lull_json_object_begin(&chrome->json);
        chrome_write_text(chrome, "site", span->site);
        lull_json_object_end(&chrome->json);
    }
    chrome_end_event(chrome);
}

static void chrome_write_region(struct chrome *chrome, uint32_t location, uint32_t index,
                                int64_t begin, int64_t end)
{
    const struct lull_region *region = &chrome->trace->regions[index];
    const struct chrome_span span = {region->name, lull_paradigm_name(region->paradigm), begin, end,
                                     *region->site ? region->site : NULL};
    chrome_write_span(chrome, location, chrome_thread_of(chrome, location), &span);
}

/* ==== counters ================================================================================ */

/* Writes a counter as a rate. A reading tells of the time before it, but a counter event of the
 * time behind it, so the rate is written at the time of the previous reading. */
static void write_reading(struct chrome *chrome, uint32_t location, int64_t now,
                          const struct lull_counter_reading *reading)
{
    const struct lull_counter *counter = &chrome->trace->counters[reading->counter];
    struct chrome_counter_state *state = &chrome->tracks[location].counters[reading->counter];
    state->count += reading->value;
    if (now <= state->since)
        return;
    char id[16];
    snprintf(id, sizeof id, "%" PRIu32, chrome_thread_of(chrome, location));
    chrome_begin_event(chrome, "C", counter->name, location, chrome_thread_of(chrome, location));
    chrome_write_text(chrome, "id", id);
    chrome_write_time(chrome, "ts", state->since);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    lull_json_key(&chrome->json, "per us");
    lull_json_number(&chrome->json, (double)state->count * 1e3 / (double)(now - state->since));
    lull_json_object_end(&chrome->json);
    chrome_end_event(chrome);
    *state = (struct chrome_counter_state){.since = now};
}

static lull_status chrome_write_readings(struct chrome *chrome, uint32_t location,
                                         const struct lull_event *event, struct lull_error *err)
{
    struct chrome_track *track = &chrome->tracks[location];
    if (!track->counters)
        track->counters = calloc(chrome->trace->n_counters, sizeof *track->counters);
    if (!track->counters)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for counters",
                         chrome->trace->path);
    for (uint32_t i = 0; i < event->readings.count; i++)
        write_reading(chrome, location, event->time, &event->readings.values[i]);
    return LULL_OK;
}

/* ==== messages ================================================================================ */

/* Messages become flow arrows without being stored: the n-th send and the n-th receive of a channel
 * (communicator, source, destination, tag) compute the same id. */

/* Messages of further channels get no arrows, so that memory stays bounded. */
enum { MOST_CHANNELS = 1 << 18 };

/* Both ends of a message compute its id, from the same numbers. */
static uint64_t mix_channel(const struct chrome_channel *channel)
{
    uint64_t id = lull_mix(0, channel->comm);
    id = lull_mix(id, (uint64_t)channel->source << 32 | channel->destination);
    return lull_mix(id, (uint32_t)channel->tag);
}

/* How many messages have passed through a channel. NULL: there are too many channels, or memory ran
 * out; the message gets no arrow, and nothing fails. */
static struct chrome_passed *find_passed(struct chrome *chrome,
                                         const struct chrome_channel *channel)
{
    const size_t count = chrome->channels.count;
    uint64_t *index = lull_hash_find(&chrome->channels, channel, sizeof *channel);
    if (index)
        return &chrome->passed[*index];
    if (count == MOST_CHANNELS ||
        !lull_array_reserve(&chrome->passed, &chrome->passed_capacity, count + 1,
                            sizeof *chrome->passed) ||
        !lull_hash_add(&chrome->channels, channel, sizeof *channel, count, NULL))
        return NULL;
    chrome->passed[count] = (struct chrome_passed){0};
    return &chrome->passed[count];
}

/* Writes one end of an arrow from a send to its receive. */
static void chrome_write_arrow(struct chrome *chrome, uint32_t location,
                               const struct lull_event *event)
{
    bool send = event->kind == LULL_EVENT_SEND;
    if (event->message.peer < 0)
        return;
    uint32_t self = chrome_process_of(chrome, location), peer = (uint32_t)event->message.peer;
    const struct chrome_channel channel = {.comm = event->id,
                                           .source = send ? self : peer,
                                           .destination = send ? peer : self,
                                           .tag = event->message.tag};
    struct chrome_passed *passed = find_passed(chrome, &channel);
    if (!passed)
        return;
    uint64_t number = send ? passed->sent++ : passed->received++;
    char id[20];
    snprintf(id, sizeof id, "%016" PRIx64, lull_mix(mix_channel(&channel), number));
    chrome_begin_event(chrome, send ? "s" : "f", "message", location,
                       chrome_thread_of(chrome, location));
    chrome_write_text(chrome, "cat", "message");
    chrome_write_text(chrome, "id", id);
    if (!send)
        /* The arrow ends at the span around, not at the next one. */
        chrome_write_text(chrome, "bp", "e");
    chrome_write_time(chrome, "ts", event->time);
    lull_json_key(&chrome->json, "args");
    lull_json_object_begin(&chrome->json);
    chrome_write_count(chrome, "bytes", event->message.bytes);
    lull_json_object_end(&chrome->json);
    chrome_end_event(chrome);
}

/* ==== launches ================================================================================ */

/* Writes one end of an arrow from the call that submitted an operation to the operation on its
 * device. */
static void chrome_write_launch(struct chrome *chrome, uint32_t location,
                                const struct lull_event *event)
{
    const bool submits = event->kind == LULL_EVENT_SUBMIT;
    char id[32];
    if (event->operation.number == 0) /* its launch is not known */
        return;
    snprintf(id, sizeof id, "%" PRIu32 "-%" PRIu64, chrome_process_of(chrome, location),
             event->operation.number);
    chrome_begin_event(chrome, submits ? "s" : "f", "launch", location,
                       chrome_thread_of(chrome, location));
    chrome_write_text(chrome, "cat", "launch");
    chrome_write_text(chrome, "id", id);
    if (!submits)
        chrome_write_text(chrome, "bp", "e");
    chrome_write_time(chrome, "ts", event->time);
    if (!submits) {
        lull_json_key(&chrome->json, "args");
        lull_json_object_begin(&chrome->json);
        chrome_write_count(chrome, "bytes", event->operation.bytes);
        lull_json_object_end(&chrome->json);
    }
    chrome_end_event(chrome);
}

/* ==== chrome ================================================================================== */

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status enter_track_region(struct chrome *chrome, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    struct chrome_track *track = &chrome->tracks[location];
    if (!lull_array_reserve(&track->open, &track->capacity, track->depth + 1, sizeof *track->open))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for nested regions",
                         chrome->trace->path);
    track->open[track->depth++] = (struct chrome_open_region){event->time, event->id};
    return LULL_OK;
}

static void leave_track_region(struct chrome *chrome, uint32_t location,
                               const struct lull_event *event)
{
    struct chrome_track *track = &chrome->tracks[location];
    if (track->depth == 0)
        return;
    const struct chrome_open_region *open = &track->open[--track->depth];
    chrome_write_region(chrome, location, open->region, open->begin, event->time);
}

/* ---- other events ---------------------------------------------------------------------------- */

static void write_state_span(struct chrome *chrome, uint32_t location,
                             const struct lull_event *event)
{
    const struct lull_state *state = &chrome->trace->states[event->id];
    const struct chrome_span span = {state->name, lull_activity_name(state->activity), event->time,
                                     event->time + event->duration, NULL};
    chrome_write_span(chrome, location, chrome_track_of(chrome, location, CHROME_STATES), &span);
}

/* Writes a flush on the location's track for flushes, which gets its name with the first one,
 * because few traces have flushes. */
static void write_flush(struct chrome *chrome, uint32_t location, const struct lull_event *event)
{
    uint32_t track = chrome_track_of(chrome, location, CHROME_FLUSHES);
    const struct chrome_span span = {"trace buffer flush", lull_activity_name(LULL_FLUSH),
                                     event->time, event->time + event->duration, NULL};
    if (!chrome->tracks[location].flushed) {
        chrome->tracks[location].flushed = true;
        chrome_write_name(chrome, "thread_name", location, track,
                          chrome->trace->locations[location].name, ", flushes");
        chrome_write_sort_index(chrome, "thread_sort_index", location, track,
                                3 * chrome_thread_of(chrome, location) + CHROME_FLUSHES);
    }
    chrome_write_span(chrome, location, track, &span);
}

static void write_instant(struct chrome *chrome, uint32_t location, const struct lull_event *event,
                          const char *name)
{
    chrome_begin_event(chrome, "i", name, location, chrome_thread_of(chrome, location));
    chrome_write_text(chrome, "s", "t");
    chrome_write_time(chrome, "ts", event->time);
    if (event->kind == LULL_EVENT_MARKER) {
        lull_json_key(&chrome->json, "args");
        lull_json_object_begin(&chrome->json);
        chrome_write_count(chrome, "value", event->number);
        lull_json_object_end(&chrome->json);
    }
    chrome_end_event(chrome);
}

static lull_status write_chrome_event(struct chrome *chrome, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        return enter_track_region(chrome, location, event, err);
    case LULL_EVENT_LEAVE:
        leave_track_region(chrome, location, event);
        break;
    case LULL_EVENT_CALL:
        chrome_write_region(chrome, location, event->id, event->time,
                            event->time + event->duration);
        break;
    case LULL_EVENT_STATE:
        write_state_span(chrome, location, event);
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        chrome_write_arrow(chrome, location, event);
        break;
    case LULL_EVENT_SUBMIT:
    case LULL_EVENT_OPERATION:
        chrome_write_launch(chrome, location, event);
        break;
    case LULL_EVENT_COUNTERS:
        return chrome_write_readings(chrome, location, event, err);
    case LULL_EVENT_FLUSH:
        write_flush(chrome, location, event);
        break;
    case LULL_EVENT_MEASURE_OFF:
    case LULL_EVENT_MEASURE_ON:
        write_instant(chrome, location, event, lull_event_kind_name(event->kind));
        break;
    case LULL_EVENT_MARKER:
        write_instant(chrome, location, event, chrome->trace->markers[event->id].name);
        break;
    default: /* the format has no form for it */
        break;
    }
    return LULL_OK;
}

static lull_status write_failed(const struct chrome *chrome, struct lull_error *err)
{
    errno = chrome->failure;
    return lull_fail_errno(err, "%s: cannot write", lull_output_path(chrome->output));
}

static lull_status write_chrome_block(void *state, const struct lull_block *block,
                                      struct lull_error *err)
{
    struct chrome *chrome = state;
    for (uint32_t i = 0; i < block->count; i++) {
        lull_status status = write_chrome_event(chrome, block->location, &block->events[i], err);
        if (status != LULL_OK)
            return status;
    }
    return chrome->failure ? write_failed(chrome, err) : LULL_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void write_names(struct chrome *chrome)
{
    const struct lull_trace *trace = chrome->trace;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        uint32_t first = trace->processes[p].first_location;
        chrome_write_name(chrome, "process_name", first, 0, trace->processes[p].name, "");
        chrome_write_sort_index(chrome, "process_sort_index", first, 0, p);
    }
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t thread = chrome_thread_of(chrome, l),
                 states = chrome_track_of(chrome, l, CHROME_STATES);
        chrome_write_name(chrome, "thread_name", l, thread, trace->locations[l].name, "");
        chrome_write_sort_index(chrome, "thread_sort_index", l, thread, 3 * thread);
        if (!trace->has_states)
            continue;
        chrome_write_name(chrome, "thread_name", l, states, trace->locations[l].name, ", states");
        chrome_write_sort_index(chrome, "thread_sort_index", l, states, 3 * thread + CHROME_STATES);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void release_chrome(struct chrome *chrome)
{
    for (uint32_t l = 0; chrome->tracks && l < chrome->trace->n_locations; l++) {
        free(chrome->tracks[l].open);
        free(chrome->tracks[l].counters);
    }
    free(chrome->tracks);
    lull_hash_free(&chrome->channels);
    free(chrome->passed);
    free(chrome);
}

static lull_status close_chrome_writer(void *state, bool commit, struct lull_error *err)
{
    struct chrome *chrome = state;
    struct lull_output *output = chrome->output;
    lull_json_array_end(&chrome->json);
    lull_json_object_end(&chrome->json);
    fputc('\n', chrome->file);
    lull_status status =
        lull_output_stream_close(chrome->file, &chrome->failure, lull_output_path(output), err);
    release_chrome(chrome);
    if (commit && status == LULL_OK)
        return lull_output_commit(output, err);
    lull_output_discard(output);
    return status;
}

static void begin_document(struct chrome *chrome)
{
    const struct lull_trace *trace = chrome->trace;
    lull_json_begin(&chrome->json, chrome->file, true);
    lull_json_object_begin(&chrome->json);
    chrome_write_text(chrome, "displayTimeUnit", "ns");
    lull_json_key(&chrome->json, "otherData");
    lull_json_object_begin(&chrome->json);
    chrome_write_text(chrome, "source", trace->path);
    chrome_write_text(chrome, "producer", trace->producer);
    lull_json_object_end(&chrome->json);
    lull_json_key(&chrome->json, "traceEvents");
    lull_json_array_begin(&chrome->json);
    write_names(chrome);
}

static lull_status open_writer(const struct lull_trace *trace, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *err)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    struct chrome_track *tracks = calloc(trace->n_locations, sizeof *tracks);
    if (!chrome || !tracks) {
        free(tracks);
        free(chrome);
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    }
    chrome->trace = trace;
    chrome->tracks = tracks;
    lull_status status = lull_output_begin(path, false, replace, &chrome->output, err);
    if (status != LULL_OK) {
        release_chrome(chrome);
        return status;
    }
    chrome->file = lull_output_stream_open(lull_output_path(chrome->output), &chrome->failure);
    if (!chrome->file) {
        status = lull_fail_errno(err, "%s: cannot write", path);
        lull_output_discard(chrome->output);
        release_chrome(chrome);
        return status;
    }
    begin_document(chrome);
    *ret_writer = (struct lull_writer){
        .state = chrome, .block = write_chrome_block, .close = close_chrome_writer};
    return LULL_OK;
}

const struct lull_format lull_format_chrome = {
    .name = "chrome",
    .summary = "Chrome trace JSON, opens in Perfetto",
    .writer_open = open_writer,
};
