/* The events of one location, decoded by ourselves or, where its files hold something unusual, by
 * libotf2. Then each stream has an OTF2_Reader of its own: handles on the same archive do not share
 * anything that changes, so streams can be read by several threads at once, and memory is held for
 * the locations being read only. Opening one costs about as much as reading a few thousand events.
 */
#include "trace/format/otf2/read/decode.h"
#include "trace/format/otf2/read/events.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

/* ---- handle ---------------------------------------------------------------------------------- */

static lull_status open_handle(const struct lull_trace *trace,
                               const struct lull_otf2_archive *archive, uint64_t id,
                               struct lull_otf2_handle *handle, struct lull_error *err)
{
    lull_otf2_quiet();
    handle->reader = OTF2_Reader_Open(archive->anchor);
    if (!handle->reader)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot open the archive", trace->path);
    OTF2_Reader_SetSerialCollectiveCallbacks(handle->reader);
    OTF2_ErrorCode code = OTF2_Reader_SelectLocation(handle->reader, id);
    if (code == OTF2_SUCCESS && archive->local_definitions) {
        lull_status status = lull_otf2_local_read(trace, handle->reader, id, NULL, err);
        if (status != LULL_OK)
            return status;
    }
    if (code == OTF2_SUCCESS)
        code = OTF2_Reader_OpenEvtFiles(handle->reader);
    if (code == OTF2_SUCCESS)
        handle->events = OTF2_Reader_GetEvtReader(handle->reader, id);
    if (!handle->events)
        return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot open its events",
                              trace->path, id);
    return LULL_OK;
}

static lull_status register_callbacks(struct otf2_stream *stream, struct lull_error *err)
{
    struct lull_otf2_callbacks wanted = {0};
    OTF2_EvtReaderCallbacks *callbacks = OTF2_EvtReaderCallbacks_New();
    if (!callbacks)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", stream->trace->path);
    lull_otf2_set_callbacks(&wanted, stream->mask);
    lull_otf2_register(&wanted, callbacks);
    OTF2_ErrorCode code = OTF2_Reader_RegisterEvtCallbacks(
        stream->handle.reader, stream->handle.events, callbacks, stream);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return code == OTF2_SUCCESS
               ? LULL_OK
               : lull_otf2_fail(err, code, "%s: cannot register callbacks", stream->trace->path);
}

/* ---- stream ---------------------------------------------------------------------------------- */

/* Room for the readings of one block; reading stops when the next event might not fit. */
static bool make_readings(struct otf2_stream *stream)
{
    enum { READINGS_ROOM = 4096 };
    uint32_t most = stream->archive->most_members;
    if (most == 0)
        return true;
    stream->most_readings = most > READINGS_ROOM ? most : READINGS_ROOM;
    stream->readings = malloc(stream->most_readings * sizeof *stream->readings);
    stream->previous = calloc(stream->trace->n_counters, sizeof *stream->previous);
    return stream->readings && stream->previous;
}

static lull_status open_library(struct otf2_stream *stream, struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    lull_status status = open_handle(
        trace, stream->archive, trace->locations[stream->location].source_id, &stream->handle, err);
    return status == LULL_OK ? register_callbacks(stream, err) : status;
}

static lull_status open_stream(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               bool probing, void **ret_stream, struct lull_error *err)
{
    struct otf2_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    stream->trace = trace;
    stream->archive = trace->format_data;
    stream->location = location;
    stream->process = trace->locations[location].process;
    stream->mask = mask;
    stream->probing = probing;
    lull_status status = LULL_OK;
    if (mask & LULL_MASK(LULL_EVENT_COUNTERS) && !make_readings(stream))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    if (status == LULL_OK && !probing && !stream->archive->library_only)
        status = lull_otf2_decoder_open(stream, err);
    if (status == LULL_OK && !stream->decoder)
        status = open_library(stream, err);
    if (status != LULL_OK) {
        lull_otf2_stream_close(stream);
        return status;
    }
    *ret_stream = stream;
    return LULL_OK;
}

lull_status lull_otf2_stream_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                                  void **ret_stream, struct lull_error *err)
{
    return open_stream(trace, location, mask, false, ret_stream, err);
}

lull_status lull_otf2_probe_open(const struct lull_trace *trace, uint32_t location,
                                 void **ret_stream, struct lull_error *err)
{
    return open_stream(trace, location, LULL_MASK_ALL, true, ret_stream, err);
}

/* How many events may be read without overflowing anything: each gives one event at most, with
 * at most as many readings as the largest metric class has members. */
static uint64_t budget(const struct otf2_stream *stream, size_t room)
{
    if (stream->most_readings == 0)
        return room;
    uint64_t fitting = (stream->most_readings - stream->n_readings) / stream->archive->most_members;
    return fitting < room ? fitting : room;
}

static lull_status read_failed(const struct otf2_stream *stream, OTF2_ErrorCode code,
                               struct lull_error *err)
{
    if (stream->status != LULL_OK)
        return lull_fail(err, stream->status, "%s", stream->error.text);
    uint64_t position = 0;
    OTF2_EvtReader_GetPos(stream->handle.events, &position);
    return lull_otf2_fail(err, code, "%s: location %" PRIu64 ": cannot read behind event %" PRIu64,
                          stream->trace->path, stream->trace->locations[stream->location].source_id,
                          position);
}

/* What a location's records say together, when all have been seen. */
static void report_missing(struct otf2_stream *stream)
{
    const struct lull_trace *trace = stream->trace;
    uint64_t id = trace->locations[stream->location].source_id;
    if (stream->probing)
        return;
    if (stream->receives_posted > stream->receives_completed)
        lull_trace_add_quirk(trace,
                             "non-blocking receives have no record of their completion; their "
                             "messages cannot be matched",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id,
                             stream->receives_posted - stream->receives_completed,
                             stream->receives_posted);
    if (stream->sends_posted > stream->sends_completed)
        lull_trace_add_quirk(trace, "non-blocking sends have no record of their completion",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id,
                             stream->sends_posted - stream->sends_completed, stream->sends_posted);
    if (stream->collectives_begun > stream->collectives_ended)
        lull_trace_add_quirk(trace, "collective operations begin and have no record of their end",
                             "location %" PRIu64 ": %" PRIu64 " of %" PRIu64, id,
                             stream->collectives_begun - stream->collectives_ended,
                             stream->collectives_begun);
}

/* Where clock properties were trusted, do the events keep to them? Times go up within a block (the
 * scan checks that), so its ends tell. What lies behind the end of the run is moved to it. */
static lull_status check_times(struct otf2_stream *stream, struct lull_event *events, size_t count,
                               struct lull_error *err)
{
    const struct lull_trace *trace = stream->trace;
    uint64_t id = trace->locations[stream->location].source_id;
    if (count == 0)
        return LULL_OK;
    /* A time before the origin wraps around: beyond anything that a run may last. */
    if (events[0].time < 0 || events[0].time > LULL_OTF2_LONGEST_RUN)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: location %" PRIu64 ": events before tick %" PRIu64
                         ", at which the run begins by its clock properties",
                         trace->path, id, stream->archive->clock.origin);
    if (events[count - 1].time > trace->duration && !stream->reported_end) {
        stream->reported_end = true;
        lull_trace_add_quirk(trace, "events lie behind the end of the run; moved to its end",
                             "location %" PRIu64 ": %" PRId64 " ns, the run ends at %" PRId64, id,
                             events[count - 1].time, trace->duration);
    }
    for (size_t i = count; i > 0 && events[i - 1].time > trace->duration; i--)
        events[i - 1].time = trace->duration;
    return LULL_OK;
}

static lull_status read_library(struct otf2_stream *stream, const struct lull_event *end,
                                struct lull_error *err)
{
    lull_otf2_quiet();
    while (!stream->ended) {
        uint64_t wanted = budget(stream, (size_t)(end - stream->next));
        if (wanted == 0)
            break;
        uint64_t got = 0;
        OTF2_ErrorCode code =
            OTF2_Reader_ReadLocalEvents(stream->handle.reader, stream->handle.events, wanted, &got);
        if (code != OTF2_SUCCESS)
            return read_failed(stream, code, err);
        stream->ended = got < wanted;
    }
    return LULL_OK;
}

lull_status lull_otf2_stream_read(void *opened, struct lull_event *events, size_t capacity,
                                  size_t *ret_count, struct lull_error *err)
{
    struct otf2_stream *stream = opened;
    bool ended = stream->ended;
    stream->next = events;
    stream->n_readings = 0;
    lull_status status = stream->decoder ? lull_otf2_decoder_read(stream, events + capacity, err)
                                         : read_library(stream, events + capacity, err);
    if (status != LULL_OK)
        return status;
    if (stream->ended && !ended)
        report_missing(stream);
    *ret_count = (size_t)(stream->next - events);
    return stream->probing ? LULL_OK : check_times(stream, events, *ret_count, err);
}

void lull_otf2_stream_close(void *opened)
{
    struct otf2_stream *stream = opened;
    lull_otf2_decoder_close(stream->decoder);
    lull_otf2_quiet();
    if (stream->handle.reader)
        OTF2_Reader_Close(stream->handle.reader);
    free(stream->readings);
    free(stream->previous);
    free(stream);
}
