/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay/warp.h"

#include "base/array.h"
#include "base/file.h"
#include "base/sorted.h"
#include "match/device_log.h"
#include "trace/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ==== knots =================================================================================== */

#define BLOCK ((size_t)64) /* knots */
#define STEP  ((size_t)16 << 20)

struct knot_list {
    struct lull_knot *newest; /* [BLOCK] */
    uint32_t *blocks;         /* where the earlier blocks of knots are: numbers of blocks in the
                                 file */
    size_t n_blocks, capacity;
    size_t count;
};

struct lull_knots {
    struct knot_list *lists;
    uint32_t n_lists;
    int fd;                 /* -1: no file yet */
    struct lull_knot *file; /* mapped up to `size` bytes */
    size_t size;
    uint32_t n_blocks; /* in the file */
};

struct lull_knots *lull_knots_create(uint32_t n_lists)
{
    struct lull_knots *knots = calloc(1, sizeof *knots);
    struct knot_list *lists = calloc(n_lists + (size_t)1, sizeof *lists);
    if (!knots || !lists) {
        free(knots);
        free(lists);
        return NULL;
    }
    *knots = (struct lull_knots){.lists = lists, .n_lists = n_lists, .fd = -1};
    return knots;
}

void lull_knots_destroy(struct lull_knots *knots)
{
    if (!knots)
        return;
    for (uint32_t i = 0; i < knots->n_lists; i++) {
        free(knots->lists[i].newest);
        free(knots->lists[i].blocks);
    }
    if (knots->file)
        munmap(knots->file, knots->size);
    if (knots->fd >= 0)
        close(knots->fd);
    free(knots->lists);
    free(knots);
}

static lull_status open_file(struct lull_knots *knots, struct lull_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lull-XXXXXX", lull_temporary_folder());
    knots->fd = mkostemp(path, O_CLOEXEC);
    if (knots->fd < 0)
        return lull_fail_errno(err, "cannot create a temporary file '%s'", path);
    unlink(path);
    return LULL_OK;
}

/* Asks the file system for the blocks first: when they are written through the mapping, it is too
 * late for an error. */
static lull_status grow_file(struct lull_knots *knots, struct lull_error *err)
{
    lull_status status = knots->fd >= 0 ? LULL_OK : open_file(knots, err);
    if (status != LULL_OK)
        return status;
    errno = posix_fallocate(knots->fd, (off_t)knots->size, (off_t)STEP);
    if (errno != 0)
        return lull_fail_errno(err, "no room for a temporary file");
    size_t size = knots->size + STEP;
    void *file = knots->file ? mremap(knots->file, knots->size, size, MREMAP_MAYMOVE)
                             : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, knots->fd, 0);
    if (file == MAP_FAILED)
        return lull_fail_errno(err, "cannot map a temporary file");
    knots->file = file;
    knots->size = size;
    return LULL_OK;
}

static lull_status spill(struct lull_knots *knots, struct knot_list *list, struct lull_error *err)
{
    if (!lull_array_reserve(&list->blocks, &list->capacity, list->n_blocks + (size_t)1,
                            sizeof *list->blocks))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the simulated run");
    size_t bytes = BLOCK * sizeof *list->newest;
    if ((knots->n_blocks + (size_t)1) * bytes > knots->size) {
        lull_status status = grow_file(knots, err);
        if (status != LULL_OK)
            return status;
    }
    memcpy(knots->file + knots->n_blocks * BLOCK, list->newest, bytes);
    list->blocks[list->n_blocks++] = knots->n_blocks++;
    return LULL_OK;
}

lull_status lull_knots_add(struct lull_knots *knots, uint32_t index, int64_t measured,
                           int64_t simulated, struct lull_error *err)
{
    struct knot_list *list = &knots->lists[index];
    if (list->count > 0) {
        const struct lull_knot *last = &list->newest[(list->count - 1) % BLOCK];
        if (last->measured == measured && last->simulated == simulated)
            return LULL_OK;
    } else if (!list->newest && !(list->newest = malloc(BLOCK * sizeof *list->newest))) {
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the simulated run");
    }
    if (list->count > 0 && list->count % BLOCK == 0) {
        lull_status status = spill(knots, list, err);
        if (status != LULL_OK)
            return status;
    }
    list->newest[list->count++ % BLOCK] = (struct lull_knot){measured, simulated};
    return LULL_OK;
}

size_t lull_knots_count(const struct lull_knots *knots, uint32_t index)
{
    return knots->lists[index].count;
}

const struct lull_knot *lull_knots_at(const struct lull_knots *knots, uint32_t index, size_t i)
{
    const struct knot_list *list = &knots->lists[index];
    size_t block = i / BLOCK;
    if (block < list->n_blocks)
        return &knots->file[list->blocks[block] * BLOCK + i % BLOCK];
    return &list->newest[i % BLOCK];
}

/* ==== warp ==================================================================================== */

/* The locations of the simulated run, where copies have some of their own. */
struct warp_layout {
    struct lull_arena *arena;
    uint32_t n;
    uint32_t *sources;   /* [n]: the measured location */
    bool *copies;        /* [n]: it has the copies of its source alone */
    uint32_t *locations; /* [n_locations of the measured run]: where the rest of its events is */
    bool *split;         /* [n_locations of the measured run]: its copies are elsewhere */
};

struct lull_warp {
    const struct lull_program *program;
    const struct lull_trace *trace;
    /* Of each process; of each location that is a device stream; and with a layout of the copies of each location. */
    struct lull_knots *knots;
    struct warp_layout *layout; /* NULL: the locations are those of the measured run */
    struct lull_sim_sink sink;
};

/* ---- locations ----------------------------------------------------------------------------- */

static void add_location(struct warp_layout *layout, uint32_t source, bool copies)
{
    layout->sources[layout->n] = source;
    layout->copies[layout->n] = copies;
    if (!copies)
        layout->locations[source] = layout->n;
    layout->n++;
}

/* Of a program that has copies apart. */
static struct warp_layout *make_layout(const struct lull_program *program,
                                       const struct lull_trace *trace)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct warp_layout *layout = lull_arena_zero(arena, 1, sizeof *layout);
    const size_t most = 2 * (size_t)trace->n_locations;
    *layout = (struct warp_layout){
        .arena = arena,
        .sources = lull_arena_zero(arena, most, sizeof *layout->sources),
        .copies = lull_arena_zero(arena, most, sizeof *layout->copies),
        .locations = lull_arena_zero(arena, trace->n_locations, sizeof *layout->locations),
        .split = lull_arena_zero(arena, trace->n_locations, sizeof *layout->split)};
    for (uint32_t s = 0; s < program->n_streams; s++)
        if (lull_replay_is_of_copies(program, s))
            layout->split[lull_replay_location(program, s)] = true;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const uint32_t first = trace->processes[p].first_location,
                       end = first + trace->processes[p].n_locations;
        for (uint32_t l = first; l < end; l++)
            add_location(layout, l, false);
        for (uint32_t l = first; l < end; l++)
            if (layout->split[l])
                add_location(layout, l, true);
    }
    return layout;
}

static bool has_copies_apart(const struct lull_program *program)
{
    bool any = false;
    for (uint32_t s = 0; !any && s < program->n_streams; s++)
        any = lull_replay_is_of_copies(program, s);
    return any;
}

/* Communicators of thread teams, whose members are locations. */
static void lay_out_teams(const struct warp_layout *layout, struct lull_trace *trace)
{
    struct lull_comm *comms = lull_arena_zero(trace->arena, trace->n_comms, sizeof *comms);
    for (uint32_t c = 0; c < trace->n_comms; c++) {
        struct lull_comm *comm = &comms[c];
        *comm = trace->comms[c];
        if (comm->paradigm != LULL_PARADIGM_OPENMP || comm->size == 0)
            continue;
        uint32_t *members = lull_arena_zero(trace->arena, comm->size, sizeof *members);
        for (uint32_t m = 0; m < comm->size; m++)
            members[m] = layout->locations[comm->members ? comm->members[m] : comm->first + m];
        comm->members = members;
    }
    trace->comms = comms;
}

/* Gives the trace, so far with the measured locations, those of the layout. */
static void lay_out(const struct warp_layout *layout, struct lull_trace *trace)
{
    struct lull_arena *arena = trace->arena;
    struct lull_process *processes = lull_arena_zero(arena, trace->n_processes, sizeof *processes);
    struct lull_location *locations = lull_arena_zero(arena, layout->n, sizeof *locations);
    int64_t *ends = trace->ends ? lull_arena_zero(arena, layout->n, sizeof *ends) : NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        processes[p] = trace->processes[p];
        processes[p].n_locations = 0;
        if (trace->processes[p].n_locations > 0)
            processes[p].first_location = layout->locations[trace->processes[p].first_location];
    }
    for (uint32_t l = 0, number = 0; l < layout->n; l++) {
        const struct lull_location *source = &trace->locations[layout->sources[l]];
        struct lull_process *process = &processes[source->process];
        number = process->n_locations == 0 ? 0 : number;
        locations[l] = *source;
        if (layout->copies[l]) {
            locations[l].name = lull_arena_printf(arena, "%s copies", source->name);
            locations[l].number = number;
        }
        if (source->kind == LULL_LOCATION_DEVICE && number <= locations[l].number)
            number = locations[l].number + 1;
        if (ends)
            ends[l] = trace->ends[layout->sources[l]];
        process->n_locations++;
    }
    lay_out_teams(layout, trace);
    trace->processes = processes;
    trace->locations = locations;
    trace->n_locations = layout->n;
    trace->ends = ends;
}

/* ---- making -------------------------------------------------------------------------------- */

static uint32_t list_of_stream(const struct lull_trace *trace, uint32_t location, bool copies)
{
    return trace->n_processes + location + (copies ? trace->n_locations : 0);
}

/* Without device streams, no list is kept for locations. */
static struct lull_knots *create_knots(const struct lull_warp *warp)
{
    const struct lull_trace *trace = warp->trace;
    bool streams = false;
    for (uint32_t l = 0; !streams && l < trace->n_locations; l++)
        streams = trace->locations[l].kind == LULL_LOCATION_DEVICE;
    const uint32_t lists = warp->layout ? 2 : streams ? 1 : 0;
    return lull_knots_create(trace->n_processes + lists * trace->n_locations);
}

static lull_status warp_computation(void *context, uint32_t stream, const struct lull_op *op,
                                    int64_t begin, int64_t end, int64_t noise, int64_t delay,
                                    struct lull_error *err)
{
    struct lull_warp *warp = context;
    const uint32_t location = lull_replay_location(warp->program, stream);
    const bool device = warp->trace->locations[location].kind == LULL_LOCATION_DEVICE;
    const uint32_t list = device ? list_of_stream(warp->trace, location,
                                                  lull_replay_is_of_copies(warp->program, stream))
                                 : lull_replay_process(warp->program, stream);
    int64_t measured_begin, measured_end;
    (void)noise;
    (void)delay;
    if (!device && !lull_replay_is_master(warp->program, stream))
        return LULL_OK;
    lull_replay_measured(op, &measured_begin, &measured_end);
    if (!warp->knots)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for the simulated run",
                         warp->trace->path);
    lull_status status = lull_knots_add(warp->knots, list, measured_begin, begin, err);
    if (status == LULL_OK)
        status = lull_knots_add(warp->knots, list, measured_end, end, err);
    return status == LULL_OK ? LULL_OK : lull_fail_prefix(err, status, "%s", warp->trace->path);
}

/* The simulation begins again, with new knots. If there is no memory for them, the first knot that
 * is added tells. */
static void again(void *context)
{
    struct lull_warp *warp = context;
    lull_knots_destroy(warp->knots);
    warp->knots = create_knots(warp);
}

struct lull_warp *lull_warp_create(const struct lull_program *replay,
                                   const struct lull_trace *trace)
{
    struct lull_warp *warp = calloc(1, sizeof *warp);
    if (!warp)
        return NULL;
    *warp =
        (struct lull_warp){.program = replay,
                           .trace = trace,
                           .layout = has_copies_apart(replay) ? make_layout(replay, trace) : NULL};
    warp->sink = (struct lull_sim_sink){
        .context = warp, .any_order = true, .again = again, .compute = warp_computation};
    warp->knots = create_knots(warp);
    if (!warp->knots) {
        lull_warp_destroy(warp);
        return NULL;
    }
    return warp;
}

void lull_warp_destroy(struct lull_warp *warp)
{
    if (!warp)
        return;
    lull_knots_destroy(warp->knots);
    if (warp->layout)
        lull_arena_destroy(warp->layout->arena);
    free(warp);
}

const struct lull_sim_sink *lull_warp_sink(struct lull_warp *warp)
{
    return &warp->sink;
}

/* ---- mapping ------------------------------------------------------------------------------- */

/* The knots of one process or device stream. */
struct map {
    const struct lull_knots *knots;
    uint32_t list;
    size_t count;
};

static struct map map_of(const struct lull_warp *warp, uint32_t list)
{
    return (struct map){warp->knots, list, lull_knots_count(warp->knots, list)};
}

/* Of a measured location, or of its copies. */
static struct map map_of_location(const struct lull_warp *warp, uint32_t location, bool copies)
{
    const struct lull_location *of = &warp->trace->locations[location];
    const struct map map = map_of(warp, of->kind == LULL_LOCATION_DEVICE
                                            ? list_of_stream(warp->trace, location, copies)
                                            : of->process);
    return map.count > 0 ? map : map_of(warp, of->process);
}

static const struct lull_knot *knot(const struct map *map, size_t i)
{
    return lull_knots_at(map->knots, map->list, i);
}

/* The simulated time of a measured one between knot `at` and the next. Before the first knot and
 * behind the last, time passes as measured. */
static int64_t between(const struct map *map, size_t at, int64_t measured)
{
    const struct lull_knot *a = knot(map, at);
    if (measured <= a->measured && at == 0) {
        int64_t before = a->measured - measured;
        return before > a->simulated ? 0 : a->simulated - before;
    }
    if (at + 1 == map->count)
        return a->simulated + (measured - a->measured);
    const struct lull_knot *b = knot(map, at + 1);
    int64_t length = b->measured - a->measured;
    if (length <= 0)
        return a->simulated;
    return a->simulated +
           (int64_t)((__int128)(b->simulated - a->simulated) * (measured - a->measured) / length);
}

/* The last knot at or before a time, or knot 0. `at`: a guess that is not behind it. */
static size_t seek(const struct map *map, size_t at, int64_t measured)
{
    while (at + 1 < map->count && knot(map, at + 1)->measured <= measured)
        at++;
    return at;
}

/* The first knot at a time, where there are several: an operation of a device has ended there, and the next one may begin
 * at the same measured time and later in the simulation. */
static size_t seek_end(const struct map *map, size_t at, int64_t measured)
{
    while (at + 1 < map->count && knot(map, at + 1)->measured < measured)
        at++;
    return at + 1 < map->count && knot(map, at + 1)->measured == measured ? at + 1 : at;
}

/* The last knot at a time or before it; the first one where all are behind. The map has knots. */
static size_t find_knot(const struct map *map, int64_t measured)
{
    struct lull_bisection at = {.begin = 1, .end = map->count};
    while (lull_bisect(&at))
        at.in_front = knot(map, at.middle)->measured <= measured;
    return at.begin - 1;
}

int64_t lull_warp_time(const struct lull_warp *warp, uint32_t process, int64_t measured)
{
    struct map map = map_of(warp, process);
    return map.count ? between(&map, find_knot(&map, measured), measured) : measured;
}

/* ---- the trace ----------------------------------------------------------------------------- */

struct warp_stream {
    const struct lull_trace *trace;   /* the measured one */
    const struct warp_layout *layout; /* NULL: the locations are the measured ones */
    uint64_t mask;                    /* the kinds that were asked for */
    bool split, copies;               /* it has the copies of its source, or all the rest */
    bool copying;                     /* the last region of the source is a copy */
    struct map map;
    int64_t duration; /* of the simulated run */
    bool device;      /* a device stream */
    size_t at;        /* knot of the last event */
    struct lull_cursor *cursor;
    struct lull_block block;
    uint32_t next;
};

static lull_status open_stream(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                               void **ret_stream, struct lull_error *err)
{
    const struct lull_warp *warp = trace->format_data;
    const struct warp_layout *layout = warp->layout;
    const uint32_t source = layout ? layout->sources[location] : location;
    struct warp_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    stream->trace = warp->trace;
    stream->layout = layout;
    stream->mask = mask;
    stream->split = layout && layout->split[source];
    stream->copies = layout && layout->copies[location];
    stream->map = map_of_location(warp, source, stream->copies);
    stream->duration = trace->duration;
    stream->device = trace->locations[location].kind == LULL_LOCATION_DEVICE;
    /* Which operation an OPERATION is about, the CALL before tells. */
    lull_status status = lull_cursor_open(warp->trace, source,
                                          mask | (stream->split ? LULL_MASK(LULL_EVENT_CALL) : 0),
                                          &stream->cursor, err);
    if (status != LULL_OK) {
        free(stream);
        return status;
    }
    *ret_stream = stream;
    return LULL_OK;
}

static void close_stream(void *opened)
{
    struct warp_stream *stream = opened;
    lull_cursor_close(stream->cursor);
    free(stream);
}

static int64_t clip(const struct warp_stream *stream, int64_t time)
{
    return time < stream->duration ? time : stream->duration;
}

static void warp_event(struct warp_stream *stream, struct lull_event *event)
{
    const struct map *map = &stream->map;
    int64_t measured = event->time;
    if (map->count) {
        stream->at = seek(map, stream->at, measured);
        event->time = between(map, stream->at, measured);
    }
    event->time = clip(stream, event->time);
    if (event->kind != LULL_EVENT_CALL && event->kind != LULL_EVENT_STATE &&
        event->kind != LULL_EVENT_FLUSH)
        return;
    int64_t end = measured + event->duration;
    if (map->count)
        end = between(
            map, stream->device ? seek_end(map, stream->at, end) : seek(map, stream->at, end), end);
    end = clip(stream, end);
    event->duration = end > event->time ? end - event->time : 0;
}

/* Whether an event of the source is one of this location. */
static bool has_event(struct warp_stream *stream, const struct lull_event *event)
{
    const bool region = event->kind <= LULL_EVENT_CALL; /* ENTER and LEAVE as well */
    if (!stream->split)
        return true;
    if (region)
        stream->copying = event->id < stream->trace->n_regions &&
                          lull_is_copy(&stream->trace->regions[event->id]);
    const bool copying = (region || event->kind == LULL_EVENT_OPERATION) && stream->copying;
    return copying == stream->copies && stream->mask >> event->kind & 1;
}

static void move_reference(const struct warp_stream *stream, struct lull_event *event)
{
    const bool refers = event->kind == LULL_EVENT_SUBMIT || event->kind == LULL_EVENT_DEVICE_WAIT ||
                        event->kind == LULL_EVENT_OPERATION;
    if (refers && stream->layout && event->operation.location < stream->trace->n_locations)
        event->operation.location = stream->layout->locations[event->operation.location];
}

static lull_status read_stream(void *opened, struct lull_event *events, size_t capacity,
                               size_t *ret_count, struct lull_error *err)
{
    struct warp_stream *stream = opened;
    size_t count = 0;
    while (count == 0) {
        if (stream->next == stream->block.count) {
            lull_status status = lull_cursor_next(stream->cursor, &stream->block, err);
            if (status != LULL_OK)
                return status;
            stream->next = 0;
            if (stream->block.count == 0)
                break;
        }
        for (; stream->next < stream->block.count && count < capacity; stream->next++) {
            const struct lull_event *event = &stream->block.events[stream->next];
            if (!has_event(stream, event))
                continue;
            events[count] = *event;
            warp_event(stream, &events[count]);
            move_reference(stream, &events[count++]);
        }
    }
    *ret_count = count;
    return LULL_OK;
}

static const struct lull_reader reader_warp = {
    .stream_open = open_stream, .stream_read = read_stream, .stream_close = close_stream};

static const struct lull_format format_warp = {
    .name = "simulated", .summary = "simulated run", .reader = &reader_warp};

/* A simulation does not tell how much memory processes would have. */
static void forget_memory(struct lull_trace *trace)
{
    struct lull_process *processes =
        lull_arena_zero(trace->arena, trace->n_processes, sizeof *processes);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        processes[p] = trace->processes[p];
        processes[p].memory = (struct lull_process_memory){0};
        processes[p].readings = NULL;
        processes[p].n_readings = 0;
    }
    trace->processes = processes;
    trace->n_region_memory = 0;
}

struct lull_trace *lull_warp_trace(const struct lull_warp *warp, int64_t runtime)
{
    struct lull_trace *trace = lull_trace_create();
    struct lull_arena *arena = trace->arena;
    struct lull_trace_shared *shared = trace->shared;
    *trace = *warp->trace;
    trace->arena = arena;
    trace->shared = shared;
    trace->format = &format_warp;
    trace->format_data = (void *)(uintptr_t)warp;
    trace->duration = runtime;
    trace->has_sums = false;
    trace->has_main = false; /* the part that was replayed is the whole run now */
    if (warp->layout)
        lay_out(warp->layout, trace);
    forget_memory(trace);
    return trace;
}
