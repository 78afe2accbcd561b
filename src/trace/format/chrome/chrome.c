/* Chrome trace JSON ("Trace Event Format"), for Perfetto and chrome://tracing; written only.
 *
 * Events need no order in the file, so everything is written when it is complete and nothing is
 * kept but what is open per location: regions entered, the last reading of each counter, and per
 * channel of messages how many have passed. Messages become flow arrows without being stored:
 * the n-th send and the n-th receive of a channel (communicator, source, destination, tag) compute
 * the same id. */
#include "base/array.h"
#include "base/output_file.h"
#include "trace/format.h"
#include "trace/format/chrome/write/writer.h"

#include <errno.h>
#include <stdlib.h>

/* ---- regions --------------------------------------------------------------------------------- */

static lull_status enter_track_region(struct lull_chrome *chrome, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    struct lull_chrome_track *track = &chrome->tracks[location];
    if (!lull_array_reserve(&track->open, &track->capacity, track->depth + 1, sizeof *track->open))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for nested regions",
                         chrome->trace->path);
    track->open[track->depth++] = (struct lull_chrome_open_region){event->time, event->id};
    return LULL_OK;
}

static void leave_track_region(struct lull_chrome *chrome, uint32_t location,
                               const struct lull_event *event)
{
    struct lull_chrome_track *track = &chrome->tracks[location];
    if (track->depth == 0)
        return;
    const struct lull_chrome_open_region *open = &track->open[--track->depth];
    lull_chrome_write_region(chrome, location, open->region, open->begin, event->time);
}

/* ---- other events ---------------------------------------------------------------------------- */

static void write_state_span(struct lull_chrome *chrome, uint32_t location,
                             const struct lull_event *event)
{
    const struct lull_state *state = &chrome->trace->states[event->id];
    const struct lull_chrome_span span = {state->name, lull_activity_name(state->activity),
                                          event->time, event->time + event->duration, NULL};
    lull_chrome_write_span(chrome, location,
                           lull_chrome_track_of(chrome, location, LULL_CHROME_STATES), &span);
}

/* Few traces have flushes: their track is named when the first comes. */
static void write_flush(struct lull_chrome *chrome, uint32_t location,
                        const struct lull_event *event)
{
    uint32_t track = lull_chrome_track_of(chrome, location, LULL_CHROME_FLUSHES);
    const struct lull_chrome_span span = {"trace buffer flush", lull_activity_name(LULL_FLUSH),
                                          event->time, event->time + event->duration, NULL};
    if (!chrome->tracks[location].flushed) {
        chrome->tracks[location].flushed = true;
        lull_chrome_write_name(chrome, "thread_name", location, track,
                               chrome->trace->locations[location].name, ", flushes");
        lull_chrome_write_sort_index(chrome, "thread_sort_index", location, track,
                                     3 * lull_chrome_thread_of(chrome, location) +
                                         LULL_CHROME_FLUSHES);
    }
    lull_chrome_write_span(chrome, location, track, &span);
}

static void write_instant(struct lull_chrome *chrome, uint32_t location,
                          const struct lull_event *event, const char *name)
{
    lull_chrome_begin_event(chrome, "i", name, location, lull_chrome_thread_of(chrome, location));
    lull_chrome_write_text(chrome, "s", "t");
    lull_chrome_write_time(chrome, "ts", event->time);
    if (event->kind == LULL_EVENT_MARKER) {
        lull_json_key(&chrome->json, "args");
        lull_json_object_begin(&chrome->json);
        lull_chrome_write_count(chrome, "value", event->number);
        lull_json_object_end(&chrome->json);
    }
    lull_chrome_end_event(chrome);
}

static lull_status write_chrome_event(struct lull_chrome *chrome, uint32_t location,
                                      const struct lull_event *event, struct lull_error *err)
{
    switch (event->kind) {
    case LULL_EVENT_ENTER:
        return enter_track_region(chrome, location, event, err);
    case LULL_EVENT_LEAVE:
        leave_track_region(chrome, location, event);
        break;
    case LULL_EVENT_CALL:
        lull_chrome_write_region(chrome, location, event->id, event->time,
                                 event->time + event->duration);
        break;
    case LULL_EVENT_STATE:
        write_state_span(chrome, location, event);
        break;
    case LULL_EVENT_SEND:
    case LULL_EVENT_RECV:
        lull_chrome_write_arrow(chrome, location, event);
        break;
    case LULL_EVENT_COUNTERS:
        return lull_chrome_write_readings(chrome, location, event, err);
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
    default: /* has no form in this format */
        break;
    }
    return LULL_OK;
}

static lull_status write_failed(const struct lull_chrome *chrome, struct lull_error *err)
{
    errno = chrome->failure;
    return lull_fail_errno(err, "%s: cannot write", lull_output_path(chrome->output));
}

static lull_status write_chrome_block(void *state, const struct lull_block *block,
                                      struct lull_error *err)
{
    struct lull_chrome *chrome = state;
    for (uint32_t i = 0; i < block->count; i++) {
        lull_status status = write_chrome_event(chrome, block->location, &block->events[i], err);
        if (status != LULL_OK)
            return status;
    }
    return chrome->failure ? write_failed(chrome, err) : LULL_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void write_names(struct lull_chrome *chrome)
{
    const struct lull_trace *trace = chrome->trace;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        uint32_t first = trace->processes[p].first_location;
        lull_chrome_write_name(chrome, "process_name", first, 0, trace->processes[p].name, "");
        lull_chrome_write_sort_index(chrome, "process_sort_index", first, 0, p);
    }
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        uint32_t thread = lull_chrome_thread_of(chrome, l),
                 states = lull_chrome_track_of(chrome, l, LULL_CHROME_STATES);
        lull_chrome_write_name(chrome, "thread_name", l, thread, trace->locations[l].name, "");
        lull_chrome_write_sort_index(chrome, "thread_sort_index", l, thread, 3 * thread);
        if (!trace->has_states)
            continue;
        lull_chrome_write_name(chrome, "thread_name", l, states, trace->locations[l].name,
                               ", states");
        lull_chrome_write_sort_index(chrome, "thread_sort_index", l, states,
                                     3 * thread + LULL_CHROME_STATES);
    }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void release_chrome(struct lull_chrome *chrome)
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
    struct lull_chrome *chrome = state;
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

static void begin_document(struct lull_chrome *chrome)
{
    const struct lull_trace *trace = chrome->trace;
    lull_json_begin(&chrome->json, chrome->file, true);
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_text(chrome, "displayTimeUnit", "ns");
    lull_json_key(&chrome->json, "otherData");
    lull_json_object_begin(&chrome->json);
    lull_chrome_write_text(chrome, "source", trace->path);
    lull_chrome_write_text(chrome, "producer", trace->producer);
    lull_json_object_end(&chrome->json);
    lull_json_key(&chrome->json, "traceEvents");
    lull_json_array_begin(&chrome->json);
    write_names(chrome);
}

static lull_status open_writer(const struct lull_trace *trace, const char *path, bool replace,
                               struct lull_writer *ret_writer, struct lull_error *err)
{
    struct lull_chrome *chrome = calloc(1, sizeof *chrome);
    struct lull_chrome_track *tracks = calloc(trace->n_locations, sizeof *tracks);
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
