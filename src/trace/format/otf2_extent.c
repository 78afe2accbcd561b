/* When the run begins and ends.
 *
 * Clock properties are right in archives of Score-P and wrong or missing in others, so the first
 * and the last event of every location are looked at. Finding the last one does not need all
 * events: event files consist of chunks of one size, and the header of the last chunk holds the
 * number of the last event, to which libotf2 can jump. The same pass finds missing and damaged
 * files before anything is computed. */
#include "trace/format/otf2.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- clock ----------------------------------------------------------------------------------- */

/* A multiplier of 62 to 63 bits: the error of a conversion stays below one ns for all times below
 * 2^62 ns, and is zero where ticks per second divide 10^9 or are it times a power of two. */
void lull_otf2_clock_set(struct lull_otf2_clock *clock, uint64_t origin, uint64_t resolution)
{
    const unsigned __int128 second = 1000000000;
    unsigned shift = 0;
    while (shift < 126 - 30 && ((second << (shift + 1)) / resolution) >> 63 == 0)
        shift++;
    unsigned __int128 half = shift > 0 ? (unsigned __int128)1 << (shift - 1) : 0;
    *clock = (struct lull_otf2_clock){
        .origin = origin,
        .multiplier = (uint64_t)(((second << shift) + resolution / 2) / resolution),
        .half_low = (uint64_t)half,
        .half_high = (uint64_t)(half >> 64),
        .shift = shift};
}

/* ---- the files of a location ----------------------------------------------------------------- */

/* In event files: chunk mark, byte order, numbers of the first and the last event of the chunk. */
enum { CHUNK_HEADER = 18, CHUNK_LAST_EVENT = 10, LITTLE_ENDIAN_MARK = 'B' };

static uint64_t read_number(const uint8_t *bytes, bool little_endian)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * (little_endian ? i : 7 - i);
    return value;
}

static lull_status read_last_header(const char *path, int file, uint64_t chunk_size,
                                    uint64_t *ret_count, struct lull_error *err)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    uint64_t size = (uint64_t)info.st_size;
    uint64_t at = size > 0 ? (size - 1) / chunk_size * chunk_size : 0;
    uint8_t header[CHUNK_HEADER];
    ssize_t got = pread(file, header, sizeof header, (off_t)at);
    if (got < 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    if (got != CHUNK_HEADER)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: byte %" PRIu64 ": the file ends inside the header of a chunk", path,
                         at + (uint64_t)got);
    *ret_count = read_number(header + CHUNK_LAST_EVENT, header[1] == LITTLE_ENDIAN_MARK);
    return LULL_OK;
}

/* The number of the last event as the file of a location says it. */
static lull_status last_event(const struct lull_trace *trace,
                              const struct lull_otf2_archive *archive, uint32_t location,
                              uint64_t chunk_size, uint64_t *ret_count, struct lull_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%" PRIu64 ".evt", archive->location_dir,
             trace->locations[location].source_id);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return lull_fail_errno(err, "%s: cannot open", path);
    lull_status status = read_last_header(path, file, chunk_size, ret_count, err);
    close(file);
    return status;
}

/* ---- first and last times -------------------------------------------------------------------- */

struct extent {
    uint64_t first, last; /* ticks, corrected by the location's clock offsets */
    bool any;
};

/* Some records mean nothing to lull and pass unseen: a few events at each end are looked at. */
enum { END_EVENTS = 64 };

static void widen(struct extent *extent, const struct lull_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = (uint64_t)events[i].time, end = begin;
        if (events[i].kind == LULL_EVENT_FLUSH || events[i].kind == LULL_EVENT_STATE)
            end += (uint64_t)events[i].duration;
        if (!extent->any || begin < extent->first)
            extent->first = begin;
        if (!extent->any || end > extent->last)
            extent->last = end;
        extent->any = true;
    }
}

static lull_status read_ends(const struct lull_trace *trace, struct lull_stream *stream,
                             uint64_t n_events, struct extent *extent, struct lull_error *err)
{
    struct lull_event events[END_EVENTS];
    size_t count;
    stream->probing = true;
    lull_status status = lull_otf2_stream_read(stream, events, END_EVENTS, &count, err);
    if (status != LULL_OK)
        return status;
    widen(extent, events, count);
    uint64_t from = n_events > END_EVENTS ? n_events - END_EVENTS + 1 : 1;
    OTF2_ErrorCode code = OTF2_EvtReader_Seek(stream->handle.events, from);
    if (code != OTF2_SUCCESS)
        return lull_otf2_fail(err, code,
                              "%s: location %" PRIu64 ": event %" PRIu64 " cannot be reached",
                              trace->path, trace->locations[stream->location].source_id, from);
    stream->ended = false;
    status = lull_otf2_stream_read(stream, events, END_EVENTS, &count, err);
    if (status == LULL_OK)
        widen(extent, events, count);
    return status;
}

static lull_status probe_location(struct lull_trace *trace, const struct lull_otf2_archive *archive,
                                  uint32_t location, uint64_t chunk_size, struct extent *extent,
                                  struct lull_error *err)
{
    uint64_t n_events;
    lull_status status = last_event(trace, archive, location, chunk_size, &n_events, err);
    if (status != LULL_OK || n_events == 0)
        return status;
    struct lull_stream *stream;
    status = lull_otf2_stream_open(trace, location, LULL_MASK_ALL, &stream, err);
    if (status != LULL_OK)
        return status;
    status = read_ends(trace, stream, n_events, extent, err);
    lull_otf2_stream_close(stream);
    return status;
}

static lull_status probe_locations(struct lull_trace *trace,
                                   const struct lull_otf2_archive *archive, uint64_t chunk_size,
                                   struct extent *extent, struct lull_error *err)
{
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        lull_status status = probe_location(trace, archive, l, chunk_size, extent, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* The clock properties count as far as the events agree: the run cannot be shorter than its
 * events. A stretch without events longer than this many times the rest is taken as nonsense, e.g.
 * the time of day in the place of a length. */
enum { MOST_SLACK = 1000 };

static void apply_properties(const struct lull_trace *trace, struct extent *extent,
                             const struct lull_otf2_clock_properties *clock, bool trusted)
{
    uint64_t begin = clock->offset, end = clock->offset + clock->length;
    if (!clock->given || (clock->length == 0 && extent->any && !trusted))
        return;
    if (!extent->any) {
        *extent = (struct extent){begin, end < begin ? begin : end, true};
        return;
    }
    uint64_t span = extent->last - extent->first;
    uint64_t slack = trusted || span > UINT64_MAX / MOST_SLACK ? UINT64_MAX : span * MOST_SLACK;
    bool begin_fits = begin <= extent->first && extent->first - begin <= slack;
    bool end_fits = end >= begin && end >= extent->last && end - extent->last <= slack;
    if (!begin_fits || !end_fits)
        lull_trace_add_quirk(trace,
                             "the clock properties do not agree with the events; the first or the "
                             "last event decides",
                             "events from tick %" PRIu64 " to %" PRIu64 ", properties %" PRIu64
                             " to %" PRIu64,
                             extent->first, extent->last, begin, end);
    if (begin_fits)
        extent->first = begin;
    if (end_fits)
        extent->last = end;
}

static uint64_t resolution_of(const struct lull_trace *trace,
                              const struct lull_otf2_clock_properties *clock)
{
    if (clock->given && clock->resolution > 0)
        return clock->resolution;
    lull_trace_add_quirk(trace, "the clock's resolution is not given; taken as 1 ns",
                         "global definitions");
    return 1000000000;
}

lull_status lull_otf2_find_extent(struct lull_trace *trace, struct lull_otf2_archive *archive,
                                  const struct lull_otf2_clock_properties *clock,
                                  uint64_t chunk_size, struct lull_error *err)
{
    struct extent extent = {0};
    lull_otf2_clock_set(&archive->clock, 0, 1000000000); /* ticks as they are */
    lull_status status = probe_locations(trace, archive, chunk_size, &extent, err);
    if (status != LULL_OK)
        return status;
    apply_properties(trace, &extent, clock, archive->own);
    uint64_t resolution = resolution_of(trace, clock);
    double seconds = (double)(extent.last - extent.first) / (double)resolution;
    if (seconds > 1e9) /* 30 years */
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: the events span %.0f s (ticks %" PRIu64 " to %" PRIu64
                         "), expected one run",
                         trace->path, seconds, extent.first, extent.last);
    lull_otf2_clock_set(&archive->clock, extent.first, resolution);
    trace->duration = lull_otf2_ns(&archive->clock, extent.last);
    trace->clock_resolution = 1e9 / (double)resolution;
    if (clock->given && clock->realtime != OTF2_UNDEFINED_TIMESTAMP)
        trace->start_realtime = (int64_t)clock->realtime;
    return LULL_OK;
}
