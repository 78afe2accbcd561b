/* When the run begins and ends.
 *
 * Clock properties are right in archives of Score-P and of lull. Those of other tracers are wrong
 * or missing, so there the first and the last event of every location are looked at. Finding the
 * last one does not need all events: event files consist of chunks of one size, the header of the
 * last chunk holds the number of the last event, and libotf2 can jump to it. In either case every
 * file's header is read, which finds missing and cut files before anything is computed. Of several
 * processes each looks at some locations. */
#include "base/file.h"
#include "base/parallel.h"
#include "trace/format/otf2/read/share.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
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
enum { CHUNK_HEADER_SIZE = 18, CHUNK_LAST_EVENT = 10, CHUNK_LITTLE_ENDIAN = 'B' };
enum { LEAST_EVENT = 2 }; /* bytes: a record's mark and its length */

static uint64_t read_chunk_number(const uint8_t *bytes, bool little_endian)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * (little_endian ? i : 7 - i);
    return value;
}

/* Every file ends with the marks of the end of a chunk and of the file; libotf2 does not miss them
 * and would go on with what its buffer held before. (Line ends behind them come from tools that
 * took the file for text, and harm nothing.) */
static bool has_end_mark(int file, uint64_t size)
{
    enum { TAIL = 8, CHUNK_END_MARK = 2, FILE_END_MARK = 1 };
    uint8_t tail[TAIL];
    if (size < CHUNK_HEADER_SIZE + 2 || pread(file, tail, TAIL, (off_t)(size - TAIL)) != TAIL)
        return false;
    int last = TAIL - 1;
    while (last > 1 && (tail[last] == '\n' || tail[last] == '\r'))
        last--;
    return tail[last] == FILE_END_MARK && tail[last - 1] == CHUNK_END_MARK;
}

static lull_status read_last_header(const char *path, int file, uint64_t chunk_size,
                                    uint64_t *ret_count, struct lull_error *err)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    uint64_t size = (uint64_t)info.st_size;
    uint64_t at = size > 0 ? (size - 1) / chunk_size * chunk_size : 0;
    uint8_t header[CHUNK_HEADER_SIZE];
    ssize_t got = pread(file, header, sizeof header, (off_t)at);
    if (got < 0)
        return lull_fail_errno(err, "%s: cannot read", path);
    if (got != CHUNK_HEADER_SIZE)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: byte %" PRIu64 ": the file ends inside the header of a chunk", path,
                         at + (uint64_t)got);
    if (!has_end_mark(file, size))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: the file is cut: no end mark at its end (byte %" PRIu64 ")", path,
                         size);
    *ret_count = read_chunk_number(header + CHUNK_LAST_EVENT, header[1] == CHUNK_LITTLE_ENDIAN);
    /* libotf2 would look for them for hours. */
    if (*ret_count > size / LEAST_EVENT)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: byte %" PRIu64 ": the header of a chunk counts %" PRIu64
                         " events in a file of %" PRIu64 " bytes",
                         path, at, *ret_count, size);
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
    int file;
    struct stat info;
    lull_status status = lull_open_read(path, &file, &info, err);
    if (status != LULL_OK)
        return status;
    status = read_last_header(path, file, chunk_size, ret_count, err);
    close(file);
    return status;
}

/* ---- first and last times -------------------------------------------------------------------- */

struct tick_extent {
    uint64_t first, last; /* ticks, corrected by the location's clock offsets */
    bool any;
};

/* Some records mean nothing to lull and pass unseen: a few events at each end are looked at. */
enum { END_EVENTS = 64 };

static void widen(struct tick_extent *extent, const struct lull_event *events, size_t count)
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

static lull_status read_ends(const struct lull_trace *trace, struct otf2_stream *stream,
                             uint64_t n_events, struct tick_extent *extent, struct lull_error *err)
{
    struct lull_event events[END_EVENTS];
    size_t count;
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

/* Locations are independent of each other: all processors probe. */
struct probe {
    struct lull_trace *trace;
    const struct lull_otf2_archive *archive;
    uint64_t chunk_size;
    bool headers_only;
    atomic_uint next_location;
    uint32_t end_location;
    pthread_mutex_t lock; /* of what follows */
    struct lull_otf2_found found;
};

static lull_status probe_location(const struct probe *probe, uint32_t location,
                                  struct tick_extent *extent, struct lull_error *err)
{
    uint64_t n_events;
    lull_status status =
        last_event(probe->trace, probe->archive, location, probe->chunk_size, &n_events, err);
    if (status != LULL_OK || n_events == 0 || probe->headers_only)
        return status;
    void *stream;
    status = lull_otf2_probe_open(probe->trace, location, &stream, err);
    if (status != LULL_OK)
        return status;
    status = read_ends(probe->trace, stream, n_events, extent, err);
    lull_otf2_stream_close(stream);
    return status;
}

static void merge_result(struct probe *probe, uint32_t location, lull_status status,
                         const struct tick_extent *extent, const struct lull_error *err)
{
    struct lull_otf2_found found = {.any = extent->any,
                                    .first = extent->first,
                                    .last = extent->last,
                                    .failed = status == LULL_OK ? UINT32_MAX : location,
                                    .status = status};
    if (status != LULL_OK)
        found.error = *err;
    pthread_mutex_lock(&probe->lock);
    lull_otf2_found_add(&probe->found, &found);
    pthread_mutex_unlock(&probe->lock);
}

static void probe_some(void *context, unsigned worker)
{
    struct probe *probe = context;
    (void)worker;
    for (;;) {
        uint32_t location = atomic_fetch_add(&probe->next_location, 1);
        if (location >= probe->end_location)
            return;
        struct tick_extent extent = {0};
        struct lull_error error;
        lull_status status = probe_location(probe, location, &extent, &error);
        if (status != LULL_OK || extent.any)
            merge_result(probe, location, status, &extent, &error);
    }
}

static lull_status probe_locations(struct probe *probe, struct lull_error *err)
{
    uint32_t first;
    lull_otf2_share_range(probe->trace, &first, &probe->end_location);
    atomic_init(&probe->next_location, first);
    probe->found = (struct lull_otf2_found){.failed = UINT32_MAX};
    pthread_mutex_init(&probe->lock, NULL);
    lull_parallel_run(probe->headers_only ? 1 : lull_worker_count(), probe_some, probe);
    pthread_mutex_destroy(&probe->lock);
    return lull_otf2_share_found(probe->trace, &probe->found, err);
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* The clock properties count as far as the events agree: the run cannot be shorter than its
 * events, and when it is longer by more than 1 / LEAST_AGREEMENT of them, nobody knows what the
 * rest was (EZTrace writes lengths that have nothing to do with its events). */
enum { LEAST_AGREEMENT = 16 };

static void apply_properties(const struct lull_trace *trace, struct tick_extent *extent,
                             const struct lull_otf2_clock_properties *clock)
{
    uint64_t begin = clock->offset, end = clock->offset + clock->length;
    if (!clock->given || (clock->length == 0 && extent->any))
        return;
    if (!extent->any) { /* no events, or none were looked at */
        *extent = (struct tick_extent){begin, end < begin ? begin : end, true};
        return;
    }
    uint64_t slack = (extent->last - extent->first) / LEAST_AGREEMENT;
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

/* Score-P computes them from all processes at the end; an aborted run has no length. */
static bool trustworthy(const struct lull_trace *trace, const struct lull_otf2_archive *archive,
                        const struct lull_otf2_clock_properties *clock)
{
    bool known = archive->own || lull_otf2_is_score_p(trace);
    return known && clock->given && clock->length > 0 &&
           clock->offset + clock->length > clock->offset;
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
    struct probe probe = {.trace = trace,
                          .archive = archive,
                          .chunk_size = chunk_size,
                          .headers_only = trustworthy(trace, archive, clock)};
    lull_otf2_clock_set(&archive->clock, 0, 1000000000); /* ticks as they are */
    lull_status status = probe_locations(&probe, err);
    if (status != LULL_OK)
        return status;
    struct tick_extent extent = {probe.found.first, probe.found.last, probe.found.any};
    apply_properties(trace, &extent, clock);
    uint64_t resolution = resolution_of(trace, clock);
    double seconds = (double)(extent.last - extent.first) / (double)resolution;
    if (seconds * 1e9 > (double)LULL_OTF2_LONGEST_RUN)
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
