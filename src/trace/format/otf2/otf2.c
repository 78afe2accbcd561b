/* SPDX-License-Identifier: BSD-3-Clause */
/* OTF2 archives: an anchor file NAME.otf2, global definitions NAME.def, and in the folder NAME one
 * file of definitions and one of events per location. */
#include "trace/format/otf2/otf2_archive.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/parallel.h"
#include "trace/format.h"
#include "trace/format/otf2/otf2_definitions.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <otf2/otf2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool otf2_is_score_p(const struct lull_trace *trace)
{
    return strncmp(trace->producer, "Score-P", strlen("Score-P")) == 0;
}

/* ==== extent ================================================================================== */

/* When the run begins and ends.
 *
 * Clock properties are right in archives of Score-P and of lull. Those of other tracers are wrong
 * or missing, so there the first and the last event of every location are looked at. The last event
 * is found without reading all: event files consist of chunks of one size, the header of the last
 * chunk holds the number of the last event, and libotf2 can jump to it. In either case the header
 * of every file is read, so that missing and cut files are found before anything is computed.
 * Several processes that open an archive together look at some locations each. */

/* ---- clock ----------------------------------------------------------------------------------- */

/* Sets a multiplier of 62 to 63 bits: the error of a conversion stays below one ns for all times
 * below 2^62 ns. It is zero if the ticks per second divide 10^9, or are 10^9 times a power of
 * two. */
static void otf2_clock_set(struct lull_otf2_clock *clock, uint64_t origin, uint64_t resolution)
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

/* The header of a chunk in an event file: mark, byte order, numbers of its first and its last
 * event. */
enum { CHUNK_HEADER_SIZE = 18, CHUNK_LAST_EVENT = 10, CHUNK_LITTLE_ENDIAN = 'B' };

enum { LEAST_EVENT = 2 }; /* bytes: the mark of a record and its length */

static uint64_t read_chunk_number(const uint8_t *bytes, bool little_endian)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * (little_endian ? i : 7 - i);
    return value;
}

/* Whether a file ends with the marks for the end of a chunk and of the file. If they are missing,
 * libotf2 does not notice and goes on with what its buffer held before. Line ends behind the marks
 * come from tools that took the file for text, and do no harm. */
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
    /* libotf2 would look for so many events for hours. */
    if (*ret_count > size / LEAST_EVENT)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: byte %" PRIu64 ": the header of a chunk counts %" PRIu64
                         " events in a file of %" PRIu64 " bytes",
                         path, at, *ret_count, size);
    return LULL_OK;
}

/* The number of the last event of a location, as its file says. */
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

/* Some records mean nothing to lull and pass unseen, so a few events at each end are looked at. */
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

/* Locations are independent of each other, so all workers probe, each the next one. */
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

/* Takes the clock properties as far as the events agree. The run cannot be shorter than its events.
 * If it is longer by more than 1 / LEAST_AGREEMENT of their time, nobody knows what the rest was
 * (EZTrace writes lengths that have nothing to do with its events), and the events decide. */
enum { LEAST_AGREEMENT = 16 };

static void apply_properties(const struct lull_trace *trace, struct tick_extent *extent,
                             const struct lull_otf2_clock_properties *clock)
{
    uint64_t begin = clock->offset, end = clock->offset + clock->length;
    if (!clock->given || (clock->length == 0 && extent->any))
        return;
    if (!extent->any) { /* there are no events, or none were looked at */
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

/* Whether the clock properties can be trusted: Score-P computes them from all processes at the end.
 * A run that was aborted has no length. */
static bool trustworthy(const struct lull_trace *trace, const struct lull_otf2_archive *archive,
                        const struct lull_otf2_clock_properties *clock)
{
    bool known = archive->own || otf2_is_score_p(trace);
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

/* Finds origin and duration of the trace, from the clock properties and the locations' events. */
static lull_status otf2_find_extent(struct lull_trace *trace, struct lull_otf2_archive *archive,
                                    const struct lull_otf2_clock_properties *clock,
                                    uint64_t chunk_size, struct lull_error *err)
{
    struct probe probe = {.trace = trace,
                          .archive = archive,
                          .chunk_size = chunk_size,
                          .headers_only = trustworthy(trace, archive, clock)};
    otf2_clock_set(&archive->clock, 0, 1000000000); /* times are ticks until the clock is known */
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
    otf2_clock_set(&archive->clock, extent.first, resolution);
    trace->duration = lull_otf2_ns(&archive->clock, extent.last);
    trace->clock_resolution = 1e9 / (double)resolution;
    if (clock->given && clock->realtime != OTF2_UNDEFINED_TIMESTAMP)
        trace->start_realtime = (int64_t)clock->realtime;
    return LULL_OK;
}

/* ==== otf2 ==================================================================================== */

static const char suffix[] = ".otf2";

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* ---- the anchor file ------------------------------------------------------------------------- */

/* The anchor file is a buffer of libotf2: chunk mark, byte order ('B' little, '#' big endian),
 * "OTF2" and a zero, format, three bytes of version, two 64-bit chunk sizes, file substrate,
 * compression, 64-bit numbers of locations and of global definitions, three strings that end with a
 * zero (machine, creator, description), a 32-bit number of properties, and these. */
enum {
    ANCHOR_BYTE_ORDER = 1,
    ANCHOR_NAME = 2,
    ANCHOR_EVENT_CHUNK = 12,
    ANCHOR_DEFINITION_CHUNK = 20,
    ANCHOR_SUBSTRATE = 28,
    ANCHOR_COMPRESSION = 29,
    ANCHOR_STRINGS = 46,
    ANCHOR_N_STRINGS = 3,
    ANCHOR_LITTLE_ENDIAN = 'B'
};

static bool is_archive_anchor(const uint8_t *head, size_t size)
{
    return size >= ANCHOR_STRINGS && memcmp(head + ANCHOR_NAME, "OTF2", 5) == 0;
}

static uint64_t anchor_number(const uint8_t *head, size_t at, int bytes)
{
    uint64_t value = 0;
    bool little = head[ANCHOR_BYTE_ORDER] == ANCHOR_LITTLE_ENDIAN;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)head[at + (size_t)i] << 8 * (little ? i : bytes - 1 - i);
    return value;
}

/* Whether the sizes in the anchor can be true: libotf2 allocates what the anchor announces, and
 * does not look at the size of the file. */
static bool has_sound_sizes(const struct lull_mapping *anchor)
{
    size_t at = ANCHOR_STRINGS;
    for (size_t chunk = ANCHOR_EVENT_CHUNK; chunk <= ANCHOR_DEFINITION_CHUNK; chunk += 8) {
        uint64_t size = anchor_number(anchor->data, chunk, 8);
        if (size < OTF2_CHUNK_SIZE_MIN || size > OTF2_CHUNK_SIZE_MAX)
            return false;
    }
    for (int s = 0; s < ANCHOR_N_STRINGS; s++) {
        const uint8_t *end =
            at < anchor->size ? memchr(anchor->data + at, 0, anchor->size - at) : NULL;
        if (!end)
            return false;
        at = (size_t)(end - anchor->data) + 1;
    }
    enum { SMALLEST_PROPERTY = 2 }; /* two empty strings */
    return at + 4 <= anchor->size &&
           anchor_number(anchor->data, at, 4) <= (anchor->size - at) / SMALLEST_PROPERTY;
}

static lull_status check_content(const char *path, const struct lull_mapping *anchor,
                                 struct lull_error *err)
{
    enum { ZLIB = 2 }; /* libotf2 3 deprecates its own name for this number */
    const uint8_t *head = anchor->data;
    if (!is_archive_anchor(head, anchor->size))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: this is not the anchor file of an archive",
                         path);
    if (head[ANCHOR_SUBSTRATE] == OTF2_SUBSTRATE_SION)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: written through SIONlib, which this libotf2 cannot read", path);
    if (head[ANCHOR_SUBSTRATE] != OTF2_SUBSTRATE_POSIX)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: file substrate %u, expected POSIX files (1)", path,
                         head[ANCHOR_SUBSTRATE]);
    if (head[ANCHOR_COMPRESSION] == ZLIB)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: compressed with zlib, which this libotf2 cannot read", path);
    if (head[ANCHOR_COMPRESSION] != OTF2_COMPRESSION_NONE)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: compression %u, expected none (1)", path,
                         head[ANCHOR_COMPRESSION]);
    if (!has_sound_sizes(anchor))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: the anchor file is damaged: it announces more than it holds", path);
    return LULL_OK;
}

static lull_status check_anchor(const char *path, uint64_t *ret_sight, struct lull_error *err)
{
    struct lull_mapping anchor;
    lull_status status = lull_map_file(path, &anchor, err);
    if (status != LULL_OK)
        return status;
    status = check_content(path, &anchor, err);
    *ret_sight = lull_fnv(LULL_FNV_BEGIN, anchor.data, anchor.size);
    lull_unmap(&anchor);
    return status;
}

/* The names in a folder that end in ".otf2": how many, and the first two. */
struct anchors {
    unsigned count;
    char names[2][256];
};

static void find_anchors(const char *folder, struct anchors *ret_anchors)
{
    *ret_anchors = (struct anchors){0};
    DIR *directory = opendir(folder);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!has_suffix(entry->d_name))
            continue;
        if (ret_anchors->count < 2)
            memcpy(ret_anchors->names[ret_anchors->count], entry->d_name,
                   strlen(entry->d_name) + 1);
        ret_anchors->count++;
    }
    closedir(directory);
}

static bool recognise_archive(const struct lull_candidate *candidate)
{
    if (!candidate->directory)
        return !candidate->gzip && is_archive_anchor(candidate->head, candidate->head_size);
    struct anchors anchors;
    find_anchors(candidate->path, &anchors);
    return anchors.count > 0;
}

static lull_status find_anchor(const struct lull_trace *trace, char **ret_path,
                               struct lull_error *err)
{
    if (!lull_is_directory(trace->path)) {
        *ret_path = lull_arena_strdup(trace->arena, trace->path);
    } else {
        struct anchors anchors;
        find_anchors(trace->path, &anchors);
        if (anchors.count == 0)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: no anchor file (*.otf2) in this folder",
                             trace->path);
        if (anchors.count > 1)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: several archives in this folder (%s, %s%s), name one of them",
                             trace->path, anchors.names[0], anchors.names[1],
                             anchors.count > 2 ? ", ..." : "");
        *ret_path = lull_arena_printf(trace->arena, "%s/%s", trace->path, anchors.names[0]);
    }
    if (!has_suffix(*ret_path))
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "%s: libotf2 opens only anchor files whose name ends in %s", *ret_path,
                         suffix);
    return LULL_OK;
}

/* ---- archive properties ---------------------------------------------------------------------- */

static void read_producer(struct lull_trace *trace, struct lull_otf2_archive *archive,
                          OTF2_Reader *reader)
{
    char *text = NULL;
    if (OTF2_Reader_GetCreator(reader, &text) == OTF2_SUCCESS && text)
        trace->producer = lull_arena_strdup(trace->arena, text);
    free(text);
    text = NULL;
    archive->own = strcmp(trace->producer, LULL_OTF2_CREATOR) == 0;
    archive->totals = otf2_is_score_p(trace);
    if (archive->own && OTF2_Reader_GetProperty(reader, LULL_OTF2_PRODUCER, &text) == OTF2_SUCCESS)
        trace->producer = lull_arena_strdup(trace->arena, text);
    free(text);
}

/* Sets the producer if the archive does not name it: EZTrace leaves its name out, but records its
 * own end as a region. */
static void guess_producer(struct lull_trace *trace)
{
    for (uint32_t r = 0; !*trace->producer && r < trace->n_regions; r++)
        if (strcmp(trace->regions[r].name, "EZTrace finalize") == 0)
            trace->producer = "EZTrace";
}

/* Reads the states of an archive that lull wrote: properties LULL::STATE_0, ... = "<number>
 * <activity> <name>". */
static lull_status read_states(struct lull_trace *trace, OTF2_Reader *reader,
                               struct lull_error *err)
{
    enum { MOST_STATES = 65536 };
    size_t capacity = 0;
    while (trace->has_states && trace->n_states < MOST_STATES) {
        char name[48], *value = NULL;
        lull_otf2_state_property(name, sizeof name, trace->n_states);
        if (OTF2_Reader_GetProperty(reader, name, &value) != OTF2_SUCCESS)
            break;
        trace->states = lull_arena_grow(trace->arena, trace->states, &capacity,
                                        (size_t)trace->n_states + 1, sizeof *trace->states);
        bool good = lull_otf2_state_parse(&trace->states[trace->n_states++], value, trace->arena);
        free(value);
        if (!good)
            return lull_fail(err, LULL_ERR_FORMAT, "%s: property %s does not describe a state",
                             trace->path, name);
    }
    lull_otf2_quiet(); /* the last property that was asked for does not exist */
    return LULL_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Finds whether any location has a file of definitions; some tracers write none. */
static lull_status find_local_definitions(struct lull_trace *trace,
                                          struct lull_otf2_archive *archive, struct lull_error *err)
{
    struct lull_otf2_found found = {.failed = UINT32_MAX};
    char path[PATH_MAX];
    uint32_t l, end;
    lull_otf2_share_range(trace, &l, &end);
    for (; l < end && !found.local_definitions; l++) {
        snprintf(path, sizeof path, "%s/%" PRIu64 ".def", archive->location_dir,
                 trace->locations[l].source_id);
        found.local_definitions = access(path, F_OK) == 0;
    }
    lull_status status = lull_otf2_share_found(trace, &found, err);
    archive->local_definitions = found.local_definitions;
    return status;
}

static lull_status read_definitions(struct lull_trace *trace, struct lull_otf2_archive *archive,
                                    OTF2_Reader *reader, struct lull_error *err)
{
    struct lull_otf2_clock_properties clock;
    read_producer(trace, archive, reader);
    lull_status status = lull_otf2_build(trace, archive, reader, &clock, err);
    if (status == LULL_OK)
        status = read_states(trace, reader, err);
    guess_producer(trace);
    if (status == LULL_OK)
        status = find_local_definitions(trace, archive, err);
    uint64_t definition_chunk;
    OTF2_ErrorCode code =
        OTF2_Reader_GetChunkSize(reader, &archive->event_chunk, &definition_chunk);
    if (status == LULL_OK && (code != OTF2_SUCCESS || archive->event_chunk == 0))
        status = lull_otf2_fail(err, code, "%s: no chunk size", archive->anchor);
    if (status == LULL_OK)
        status = otf2_find_extent(trace, archive, &clock, archive->event_chunk, err);
    return status;
}

static lull_status open_archive(struct lull_trace *trace, struct lull_error *err)
{
    struct lull_otf2_archive *archive = lull_arena_zero(trace->arena, 1, sizeof *archive);
    trace->format_data = archive;
    lull_status status = find_anchor(trace, &archive->anchor, err);
    if (status == LULL_OK)
        status = check_anchor(archive->anchor, &archive->sight, err);
    if (status != LULL_OK)
        return status;
    archive->location_dir = lull_arena_strndup(trace->arena, archive->anchor,
                                               strlen(archive->anchor) - (sizeof suffix - 1));
    status = lull_check_read(lull_arena_printf(trace->arena, "%s.def", archive->location_dir), err);
    if (status != LULL_OK)
        return status;
    lull_otf2_quiet();
    OTF2_Reader *reader = OTF2_Reader_Open(archive->anchor);
    if (!reader)
        return lull_otf2_fail(err, OTF2_ERROR_INVALID, "%s: cannot open the archive",
                              archive->anchor);
    OTF2_Reader_SetSerialCollectiveCallbacks(reader);
    status = read_definitions(trace, archive, reader, err);
    OTF2_Reader_Close(reader);
    return status == LULL_OK ? lull_trace_complete(trace, err) : status;
}

static const struct lull_reader reader_otf2 = {
    .expected = "an OTF2 archive",
    .recognise = recognise_archive,
    .open = open_archive,
    .stream_open = lull_otf2_stream_open,
    .stream_read = lull_otf2_stream_read,
    .stream_close = lull_otf2_stream_close,
    .most_abreast = 60000, /* each is mapped, and Linux lets a process have 65,530 maps */
};

const struct lull_format lull_format_otf2 = {
    .name = "otf2",
    .summary = "OTF2 archive (Score-P, EZTrace)",
    .reader = &reader_otf2,
    .writer_open = lull_otf2_writer_open,
};
