/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/scan.h"

#include "base/array.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/parallel.h"
#include "trace/format.h"
#include "trace/nesting.h"
#include "trace/open_trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ==== lanes =================================================================================== */

/* A lane is a location of a pull format that is read block by block. Scans and cursors differ in
 * which lane they read next. */

enum { LANE_EVENTS = 512 }; /* of a block of a scan */

/* The memory that a block is read into: one for all lanes that are read in turn. */
struct lane_room {
    struct lull_event_buffer scratch; /* for repaired events */
    size_t n_events;
    struct lull_event events[];
};

/* Zeroed before it is opened, and while it is not. */
struct lane {
    const struct lull_trace *trace;
    void *stream;
    struct lull_nesting nesting; /* its last_time: of the last event so far */
    uint32_t location;
    bool cut; /* events behind the end of the location have come */
    bool ended;
    enum lull_events_state state; /* ENDED but of a trace that was opened live */
};

/* n_events >= 64. NULL: no memory. */
static struct lane_room *lane_room_create(size_t n_events)
{
    struct lane_room *room = malloc(sizeof *room + n_events * sizeof room->events[0]);
    if (!room)
        return NULL;
    room->scratch = (struct lull_event_buffer){0};
    room->n_events = n_events;
    return room;
}

/* NULL is allowed */
static void lane_room_destroy(struct lane_room *room)
{
    if (room)
        free(room->scratch.events);
    free(room);
}

static lull_status lane_open(struct lane *lane, const struct lull_trace *trace, uint32_t location,
                             uint64_t mask, struct lull_error *err)
{
    *lane = (struct lane){.trace = trace, .location = location};
    atomic_fetch_add_explicit(&trace->shared->openings, 1, memory_order_relaxed);
    lull_nesting_begin(&lane->nesting, mask, false);
    return trace->format->reader->stream_open(trace, location, lull_nesting_mask(mask),
                                              &lane->stream, err);
}

/* How many of a block's events are read where the trace was cut. */
static size_t lane_cut(struct lane *lane, const struct lull_event *events, size_t count)
{
    const int64_t end = lane->trace->ends[lane->location];
    size_t n = count;
    while (n > 0 && events[n - 1].time > end)
        n--;
    lane->cut = n < count;
    return n;
}

/* The next block, which may be empty, in `room`. Behind the last of the file one closes what is
 * open; then the lane has ended. */
static lull_status lane_next(struct lane *lane, struct lane_room *room,
                             struct lull_block *ret_block, struct lull_error *err)
{
    const struct lull_trace *trace = lane->trace;
    struct lull_block block = {.location = lane->location, .events = room->events};
    size_t got = 0;
    lull_status status = lane->cut ? LULL_OK
                                   : trace->format->reader->stream_read(lane->stream, room->events,
                                                                        room->n_events, &got, err);
    if (status != LULL_OK)
        return status;
    if (trace->ends)
        got = lane_cut(lane, room->events, got);
    block.count = (uint32_t)got;
    lane->state = LULL_EVENTS_ENDED;
    if (got == 0 && trace->live && !lane->cut)
        lane->state = trace->format->reader->stream_state(lane->stream);
    lane->ended = got == 0 && lane->state == LULL_EVENTS_ENDED;
    if (got == 0 && !lane->ended) {
        *ret_block = block;
        return LULL_OK;
    }
    status = lane->ended ? lull_nesting_close_all(&lane->nesting, trace, lane->location,
                                                  &block.events, &block.count, &room->scratch, err)
                         : lull_nesting_repair(&lane->nesting, trace, lane->location, &block.events,
                                               &block.count, &room->scratch, err);
    if (status == LULL_OK)
        *ret_block = block;
    return status;
}

/* The same, shown to a visitor, with its end. */
static lull_status lane_visit(struct lane *lane, struct lane_room *room,
                              const struct lull_visitor *visitor, unsigned worker,
                              struct lull_error *err)
{
    struct lull_block block;
    lull_status status = lane_next(lane, room, &block, err);
    if (status == LULL_OK && block.count > 0)
        status = visitor->block(visitor->context, worker, &block, err);
    if (status == LULL_OK && lane->ended && visitor->end)
        status = visitor->end(visitor->context, worker, lane->location, err);
    return status;
}

/* also one that is not open */
static void lane_close(struct lane *lane)
{
    if (lane->stream)
        lane->trace->format->reader->stream_close(lane->stream);
    lane->stream = NULL;
    lull_nesting_end(&lane->nesting);
}

static bool lane_is_selected(const struct lull_trace *trace,
                             const struct lull_scan_options *options, uint32_t location)
{
    const struct lull_process *process = &trace->processes[trace->locations[location].process];
    if (options->application != LULL_NONE && process->application != options->application)
        return false;
    return !options->masters_only || process->first_location == location;
}

/* Whether a scan with these options reads the location: it is in the range, and the other options
 * select it. */
static bool lane_is_wanted(const struct lull_trace *trace, const struct lull_scan_options *options,
                           uint32_t location)
{
    return lull_in_range(options->range, trace->locations[location].process) &&
           lane_is_selected(trace, options, location);
}

/* ==== the relay's parcels ===================================================================== */

/* The first member of a relay reads the file and sends blocks of events to the members that have
 * their locations. Blocks travel in parcels. A parcel holds for each of its blocks a head, the
 * events as far as their kinds use them, and the readings of their COUNTERS. An empty parcel is the
 * end. */

/* What the first member has to put: a parcel that is being filled for each other member. */
struct lull_relayed;

enum { PARCEL = 1 << 16 }; /* bytes of a parcel at most, unless a single block is larger */

struct block_head {
    uint32_t location, n_events;
    uint32_t events_size, n_readings; /* bytes; readings */
};

/* Bytes of the fields that all events have; most events use no others. */
enum { SHORT = offsetof(struct lull_event, duration) };

static inline bool is_short(unsigned kind)
{
    static const uint64_t short_ones = LULL_MASK(LULL_EVENT_ENTER) | LULL_MASK(LULL_EVENT_LEAVE) |
                                       LULL_MASK(LULL_EVENT_MEASURE_ON) |
                                       LULL_MASK(LULL_EVENT_MEASURE_OFF);
    return short_ones >> kind & 1;
}

/* How much of an event goes into a parcel. */
static inline size_t size_of_event(unsigned kind)
{
    return is_short(kind) ? SHORT : sizeof(struct lull_event);
}

/* Two calls of memcpy with constant sizes, which the compiler turns into a few moves. */
static inline size_t copy_event(void *to, const void *from, unsigned kind)
{
    if (is_short(kind))
        memcpy(to, from, SHORT);
    else
        memcpy(to, from, sizeof(struct lull_event));
    return size_of_event(kind);
}

struct outgoing {
    uint8_t *bytes; /* malloc'd at the first block */
    size_t size, capacity;
};

struct lull_relayed {
    const struct lull_relay *relay;
    struct outgoing to[];
};

static struct lull_relayed *relayed_create(const struct lull_relay *relay)
{
    struct lull_relayed *relayed = calloc(1, sizeof *relayed + relay->size * sizeof relayed->to[0]);
    if (relayed)
        relayed->relay = relay;
    return relayed;
}

/* NULL is allowed */
static void relayed_destroy(struct lull_relayed *relayed)
{
    for (uint32_t i = 0; relayed && i < relayed->relay->size; i++)
        free(relayed->to[i].bytes);
    free(relayed);
}

/* ---- out ------------------------------------------------------------------------------------- */

static lull_status no_memory_for_others(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for what others are to read");
}

static lull_status flush_parcel(struct lull_relayed *relayed, uint32_t owner,
                                struct lull_error *err)
{
    const struct lull_relay *relay = relayed->relay;
    struct outgoing *out = &relayed->to[owner];
    lull_status status =
        out->size ? relay->put(relay->context, owner, out->bytes, out->size, err) : LULL_OK;
    out->size = 0;
    return status;
}

static struct block_head head_of(const struct lull_block *block)
{
    struct block_head head = {.location = block->location, .n_events = block->count};
    for (uint32_t i = 0; i < block->count; i++) {
        const struct lull_event *event = &block->events[i];
        head.events_size += (uint32_t)size_of_event(event->kind);
        if (event->kind == LULL_EVENT_COUNTERS)
            head.n_readings += event->readings.count;
    }
    return head;
}

static void append_outgoing(struct outgoing *out, const void *bytes, size_t size)
{
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

/* Sends a block of a process that another member has. */
static lull_status relayed_put(struct lull_relayed *relayed, uint32_t process,
                               const struct lull_block *block, struct lull_error *err)
{
    const uint32_t owner = relayed->relay->owner(relayed->relay->context, process);
    struct outgoing *out = &relayed->to[owner];
    const struct block_head head = head_of(block);
    const size_t size =
        sizeof head + head.events_size + head.n_readings * sizeof(struct lull_counter_reading);
    if (out->size > 0 && out->size + size > PARCEL) {
        lull_status status = flush_parcel(relayed, owner, err);
        if (status != LULL_OK)
            return status;
    }
    const size_t wanted = out->size + size;
    if (!lull_array_reserve(&out->bytes, &out->capacity, wanted > PARCEL ? wanted : PARCEL, 1))
        return no_memory_for_others(err);
    append_outgoing(out, &head, sizeof head);
    for (uint32_t i = 0; i < block->count; i++)
        out->size += copy_event(out->bytes + out->size, &block->events[i], block->events[i].kind);
    for (uint32_t i = 0; i < block->count && head.n_readings; i++)
        if (block->events[i].kind == LULL_EVENT_COUNTERS)
            append_outgoing(out, block->events[i].readings.values,
                            block->events[i].readings.count * sizeof(struct lull_counter_reading));
    return LULL_OK;
}

/* The sequence has ended, which all get to know. */
static lull_status relayed_end(struct lull_relayed *relayed, struct lull_error *err)
{
    const struct lull_relay *relay = relayed->relay;
    lull_status status = LULL_OK;
    for (uint32_t m = 0; status == LULL_OK && m < relay->size; m++) {
        if (m == relay->index)
            continue;
        status = flush_parcel(relayed, m, err);
        if (status == LULL_OK)
            status = relay->put(relay->context, m, NULL, 0, err);
    }
    return status;
}

/* ---- in -------------------------------------------------------------------------------------- */

struct incoming {
    struct lull_event *events; /* of a block */
    size_t capacity;
    lull_status (*take)(void *context, const struct lull_block *block, struct lull_error *err);
    void *context;
};

/* Readings stand where this process has them. */
static void unpack_events(const struct block_head *head, struct lull_event *events)
{
    const uint8_t *at = (const uint8_t *)(head + 1);
    const struct lull_counter_reading *readings = (const void *)(at + head->events_size);
    for (uint32_t i = 0; i < head->n_events; i++) {
        struct lull_event *event = &events[i];
        at += copy_event(event, at, ((const struct lull_event *)(const void *)at)->kind);
        if (event->kind == LULL_EVENT_COUNTERS) {
            event->readings.values = readings;
            readings += event->readings.count;
        }
    }
}

static lull_status take_parcel(struct incoming *in, const uint8_t *at, const uint8_t *end,
                               struct lull_error *err)
{
    lull_status status = LULL_OK;
    while (status == LULL_OK && at < end) {
        const struct block_head *head = (const void *)at;
        if (!lull_array_reserve(&in->events, &in->capacity, head->n_events, sizeof *in->events))
            return no_memory_for_others(err);
        unpack_events(head, in->events);
        at += sizeof *head + head->events_size +
              head->n_readings * sizeof(struct lull_counter_reading);
        const struct lull_block block = {
            .location = head->location, .count = head->n_events, .events = in->events};
        status = in->take(in->context, &block, err);
    }
    return status;
}

/* By the others: `take` is called for each block, in their order, until the end; its status is
 * returned where that fails. */
static lull_status relayed_get_all(const struct lull_relay *relay,
                                   lull_status (*take)(void *context,
                                                       const struct lull_block *block,
                                                       struct lull_error *err),
                                   void *context, struct lull_error *err)
{
    struct incoming in = {.take = take, .context = context};
    lull_status status = LULL_OK;
    for (bool ended = false; status == LULL_OK && !ended;) {
        const void *bytes;
        size_t size;
        status = relay->get(relay->context, &bytes, &size, err);
        ended = status != LULL_OK || size == 0;
        if (!ended)
            status = take_parcel(&in, bytes, (const uint8_t *)bytes + size, err);
    }
    free(in.events);
    return status;
}

/* ==== push ==================================================================================== */

/* The scan of a format whose events are one sequence: the format walks its file in the calling
 * thread and delivers to a sink. With a relay the first member does that, and sends the others
 * their blocks. */

struct lull_sink {
    const struct lull_trace *trace;
    const struct lull_scan_options *options;
    const struct lull_visitor *visitor;
    struct lull_relayed *relayed; /* NULL: nobody else has locations */
    struct lull_nesting *nesting; /* per location */
    bool *begun;
    struct lull_event_buffer scratch;
    double progress; /* reported last */
};

static lull_status visit(const struct lull_visitor *visitor, unsigned worker, uint32_t location,
                         const struct lull_event *events, uint32_t count, struct lull_error *err)
{
    if (count == 0)
        return LULL_OK;
    struct lull_block block = {.location = location, .count = count, .events = events};
    return visitor->block(visitor->context, worker, &block, err);
}

static lull_status sink_begin(struct lull_sink *sink, uint32_t location, struct lull_error *err)
{
    if (sink->begun[location])
        return LULL_OK;
    sink->begun[location] = true;
    if (!sink->visitor->begin)
        return LULL_OK;
    return sink->visitor->begin(sink->visitor->context, 0, location, err);
}

/* A block of a location of this process. */
static lull_status take_sink_block(void *context, const struct lull_block *block,
                                   struct lull_error *err)
{
    struct lull_sink *sink = context;
    const uint32_t location = block->location;
    const struct lull_event *events = block->events;
    uint32_t count = block->count;
    lull_status status = sink_begin(sink, location, err);
    if (status == LULL_OK)
        status = lull_nesting_repair(&sink->nesting[location], sink->trace, location, &events,
                                     &count, &sink->scratch, err);
    if (status == LULL_OK)
        status = visit(sink->visitor, 0, location, events, count, err);
    return status;
}

lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count, struct lull_error *err)
{
    const struct lull_block block = {.location = location, .count = count, .events = events};
    if (count == 0)
        return LULL_OK;
    if (lane_is_wanted(sink->trace, sink->options, location))
        return take_sink_block(sink, &block, err);
    if (sink->relayed && lane_is_selected(sink->trace, sink->options, location))
        return relayed_put(sink->relayed, sink->trace->locations[location].process, &block, err);
    return LULL_OK;
}

void lull_sink_progress(struct lull_sink *sink, double share)
{
    if (!sink->options->progress || !(share > sink->progress))
        return;
    sink->progress = share < 1 ? share : 1;
    sink->options->progress(sink->options->progress_context, sink->progress);
}

unsigned lull_sink_workers(const struct lull_sink *sink)
{
    return sink->options->workers ? sink->options->workers : lull_worker_count();
}

static lull_status sink_end(struct lull_sink *sink, uint32_t location, struct lull_error *err)
{
    const struct lull_event *events;
    uint32_t count;
    lull_status status = sink_begin(sink, location, err);
    if (status == LULL_OK)
        status = lull_nesting_close_all(&sink->nesting[location], sink->trace, location, &events,
                                        &count, &sink->scratch, err);
    if (status == LULL_OK)
        status = visit(sink->visitor, 0, location, events, count, err);
    if (status == LULL_OK && sink->visitor->end)
        status = sink->visitor->end(sink->visitor->context, 0, location, err);
    return status;
}

/* The sequence, as it is read here, or by the first of several. */
static lull_status walk(struct lull_sink *sink, const struct lull_relay *relay, uint64_t mask,
                        struct lull_error *err)
{
    const struct lull_trace *trace = sink->trace;
    if (relay && relay->index > 0)
        return relayed_get_all(relay, take_sink_block, sink, err);
    if (relay && !(sink->relayed = relayed_create(relay)))
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    atomic_fetch_add_explicit(&trace->shared->openings, trace->n_locations, memory_order_relaxed);
    lull_status status = trace->format->reader->drive(trace, lull_nesting_mask(mask),
                                                      sink->options->unordered, sink, err);
    if (status == LULL_OK && relay)
        status = relayed_end(sink->relayed, err);
    relayed_destroy(sink->relayed);
    return status;
}

static lull_status push_scan(const struct lull_trace *trace,
                             const struct lull_scan_options *options, uint64_t mask,
                             const struct lull_visitor *visitor, struct lull_error *err)
{
    const struct lull_relay *relay = options->range.end > 0 ? trace->shared->relay : NULL;
    struct lull_sink sink = {.trace = trace, .options = options, .visitor = visitor};
    if (relay)
        relay->begin(relay->context);
    sink.nesting = calloc(trace->n_locations, sizeof *sink.nesting);
    sink.begun = calloc(trace->n_locations, sizeof *sink.begun);
    lull_status status = LULL_OK;
    if (!sink.nesting || !sink.begun) {
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations", trace->path,
                           trace->n_locations);
    } else {
        for (uint32_t l = 0; l < trace->n_locations; l++)
            lull_nesting_begin(&sink.nesting[l], mask, options->unordered);
        status = walk(&sink, relay, mask, err);
        for (uint32_t l = 0; status == LULL_OK && l < trace->n_locations; l++)
            if (lane_is_wanted(trace, options, l))
                status = sink_end(&sink, l, err);
        for (uint32_t l = 0; l < trace->n_locations; l++)
            lull_nesting_end(&sink.nesting[l]);
    }
    if (relay)
        relay->end(relay->context);
    free(sink.scratch.events);
    free(sink.begun);
    free(sink.nesting);
    return status;
}

/* ==== scan ==================================================================================== */

/* Which location is read next, by which worker. Of pull formats every worker takes the location
 * that lags most among those begun, or begins the next process when all are busy. Push formats are
 * read as the section above says. All events go through the nesting repair. */

enum { MOST_AHEAD = 4 }; /* blocks; see runs_away() */

/* ---- pull ------------------------------------------------------------------------------------ */

/* A location that has been begun and has not ended. */
struct active {
    struct lane lane; /* opened at its first block; of the worker that has it, without a lock */
    uint32_t location;
    bool busy;
    uint64_t taken[MOST_AHEAD]; /* when its last blocks were taken, by the scheduler's count */
    uint64_t n_taken;
    int64_t time; /* of its last event, as of the last block given back */
    double done;  /* share of its time, 0 .. 1 */
};

struct scheduler {
    const struct lull_trace *trace;
    const struct lull_scan_options *options;
    const struct lull_visitor *visitor;
    uint64_t mask;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct active **active; /* malloc'd, as many as a few processes have locations */
    size_t n_active, capacity;
    uint64_t n_taken; /* blocks, by all workers */
    uint32_t next_process;
    uint32_t total;
    double done;        /* sum of the locations' shares */
    lull_status status; /* of the first failure; ends everything */
    struct lull_error *err;
};

static bool add_active(struct scheduler *scheduler, uint32_t location)
{
    if (!lull_array_reserve(&scheduler->active, &scheduler->capacity, scheduler->n_active + 1,
                            sizeof(*scheduler->active)))
        return false;
    struct active *active = calloc(1, sizeof *active);
    if (!active)
        return false;
    active->location = location;
    scheduler->active[scheduler->n_active++] = active;
    return true;
}

/* Begins the next process that has something to read; false when there is none. */
static bool begin_process(struct scheduler *scheduler)
{
    const struct lull_trace *trace = scheduler->trace;
    bool added = false;
    while (!added && scheduler->next_process < trace->n_processes) {
        const struct lull_process *process = &trace->processes[scheduler->next_process++];
        for (uint32_t i = 0; i < process->n_locations; i++) {
            uint32_t location = process->first_location + i;
            if (!lane_is_wanted(trace, scheduler->options, location))
                continue;
            if (!add_active(scheduler, location)) {
                scheduler->status =
                    lull_fail(scheduler->err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
                return false;
            }
            added = true;
        }
    }
    return added;
}

/* Whether `active` would run away from a thread of its process whose block is being worked on:
 * it has taken MOST_AHEAD blocks since that one was taken. Without this a worker that is held up
 * would let the others go on without bound. */
static bool runs_away(const struct scheduler *scheduler, const struct active *active)
{
    if (active->n_taken < MOST_AHEAD)
        return false;
    uint32_t process = scheduler->trace->locations[active->location].process;
    uint64_t oldest = active->taken[active->n_taken % MOST_AHEAD];
    for (size_t i = 0; i < scheduler->n_active; i++) {
        const struct active *other = scheduler->active[i];
        if (other->busy && other->time < active->time &&
            scheduler->trace->locations[other->location].process == process &&
            oldest > other->taken[(other->n_taken - 1) % MOST_AHEAD])
            return true;
    }
    return false;
}

/* `process` LULL_NONE: of any process. */
static struct active *most_lagging(const struct scheduler *scheduler, uint32_t process)
{
    const struct lull_location *locations = scheduler->trace->locations;
    struct active *best = NULL;
    for (size_t i = 0; i < scheduler->n_active; i++) {
        struct active *active = scheduler->active[i];
        if (active->busy || (best && active->time >= best->time) ||
            (process != LULL_NONE && locations[active->location].process != process))
            continue;
        if (!runs_away(scheduler, active))
            best = active;
    }
    return best;
}

/* The next location to read, marked busy; NULL when all is done or something failed. A worker stays
 * with the process that it read last, so that two of them meet in one only when there are no
 * more. */
static struct active *take_active(struct scheduler *scheduler, uint32_t process)
{
    pthread_mutex_lock(&scheduler->lock);
    struct active *active = NULL;
    while (scheduler->status == LULL_OK) {
        active = process == LULL_NONE ? NULL : most_lagging(scheduler, process);
        if (!active)
            begin_process(scheduler);
        if (!active)
            active = most_lagging(scheduler, LULL_NONE);
        if (active || scheduler->n_active == 0)
            break;
        pthread_cond_wait(&scheduler->changed, &scheduler->lock);
    }
    if (scheduler->status != LULL_OK)
        active = NULL;
    if (active) {
        active->busy = true;
        active->taken[active->n_taken++ % MOST_AHEAD] = scheduler->n_taken++;
    }
    pthread_mutex_unlock(&scheduler->lock);
    return active;
}

static void release_active(struct active *active)
{
    lane_close(&active->lane);
    free(active);
}

/* Every location counts alike, by the time it has reached. */
static void report_progress(struct scheduler *scheduler, struct active *active, bool ended)
{
    const struct lull_scan_options *options = scheduler->options;
    if (!options->progress)
        return;
    double part = scheduler->trace->duration > 0
                      ? (double)active->lane.nesting.last_time / (double)scheduler->trace->duration
                      : 0;
    part = ended || part > 1 ? 1 : part;
    scheduler->done += part - active->done;
    active->done = part;
    double share = scheduler->done / scheduler->total;
    options->progress(options->progress_context, share < 1 ? share : 1);
}

static void give_back_active(struct scheduler *scheduler, struct active *active, bool ended,
                             lull_status status, const struct lull_error *err)
{
    pthread_mutex_lock(&scheduler->lock);
    active->busy = false;
    active->time = active->lane.nesting.last_time;
    if (status != LULL_OK && scheduler->status == LULL_OK) {
        scheduler->status = status;
        if (scheduler->err)
            *scheduler->err = *err;
    }
    report_progress(scheduler, active, ended);
    if (ended || status != LULL_OK) {
        size_t i = 0;
        while (scheduler->active[i] != active)
            i++;
        scheduler->active[i] = scheduler->active[--scheduler->n_active];
        release_active(active);
    }
    pthread_cond_broadcast(&scheduler->changed);
    pthread_mutex_unlock(&scheduler->lock);
}

/* One block of one location. */
static lull_status advance(const struct scheduler *scheduler, unsigned worker,
                           struct active *active, struct lane_room *room, struct lull_error *err)
{
    const struct lull_visitor *visitor = scheduler->visitor;
    const uint32_t location = active->location;
    lull_status status = LULL_OK;
    if (!active->lane.stream) {
        status = lane_open(&active->lane, scheduler->trace, location, scheduler->mask, err);
        if (status == LULL_OK && visitor->begin)
            status = visitor->begin(visitor->context, worker, location, err);
    }
    return status == LULL_OK ? lane_visit(&active->lane, room, visitor, worker, err) : status;
}

static void read_in_turns(void *context, unsigned worker)
{
    struct scheduler *scheduler = context;
    struct lane_room *room = lane_room_create(LANE_EVENTS);
    uint32_t process = LULL_NONE;
    for (struct active *active; (active = take_active(scheduler, process));) {
        process = scheduler->trace->locations[active->location].process;
        struct lull_error err = {""};
        lull_status status =
            room ? advance(scheduler, worker, active, room, &err)
                 : lull_fail(&err, LULL_ERR_MEMORY, "%s: out of memory", scheduler->trace->path);
        give_back_active(scheduler, active, active->lane.ended, status, &err);
    }
    lane_room_destroy(room);
}

static lull_status scan_pull(const struct lull_trace *trace,
                             const struct lull_scan_options *options, uint64_t mask,
                             const struct lull_visitor *visitor, struct lull_error *err)
{
    struct scheduler scheduler = {
        .trace = trace, .options = options, .visitor = visitor, .mask = mask, .err = err};
    for (uint32_t l = 0; l < trace->n_locations; l++)
        scheduler.total += lane_is_wanted(trace, options, l);
    pthread_mutex_init(&scheduler.lock, NULL);
    pthread_cond_init(&scheduler.changed, NULL);
    lull_parallel_run(lull_scan_workers(trace, options), read_in_turns, &scheduler);
    while (scheduler.n_active > 0) /* only after a failure */
        release_active(scheduler.active[--scheduler.n_active]);
    free(scheduler.active);
    pthread_cond_destroy(&scheduler.changed);
    pthread_mutex_destroy(&scheduler.lock);
    return scheduler.status;
}

/* NULL: its events cannot be read by a scan, which does not wait for any. */
static const struct lull_reader *reader_of(const struct lull_trace *trace)
{
    return trace->format && !trace->live ? trace->format->reader : NULL;
}

bool lull_in_range(struct lull_process_range range, uint32_t process)
{
    return range.end == 0 || (process >= range.first && process < range.end);
}

/* The copy that has the events of a range of processes once it is made: that of a part of the run, if it
 * is there and has them, else that of the whole run. The lock of copies is held. */
static struct lull_copy *copy_for(struct lull_trace_shared *shared, struct lull_process_range range)
{
    struct lull_copy *part = &shared->part;
    const bool in_part = part->trace && range.end > 0 && range.first >= part->range.first &&
                         range.end <= part->range.end;
    return in_part ? part : &shared->whole;
}

/* What the events of a range of processes are read from: `trace` itself, or a copy that was made of it. */
static const struct lull_trace *source_of(const struct lull_trace *trace,
                                          struct lull_process_range range)
{
    struct lull_trace_shared *shared = trace->shared;
    if (!lull_trace_is_sequence(trace))
        return trace;
    pthread_mutex_lock(&shared->copy_lock);
    const struct lull_trace *copy = copy_for(shared, range)->trace;
    pthread_mutex_unlock(&shared->copy_lock);
    return copy ? copy : trace;
}

static void locations_of_range(const struct lull_trace *trace, struct lull_process_range range,
                               uint32_t *ret_first, uint32_t *ret_end)
{
    uint32_t first = range.first, end = range.end;
    *ret_first = 0;
    *ret_end = trace->n_locations;
    if (end == 0)
        return;
    while (first < end && trace->processes[first].n_locations == 0)
        first++;
    while (end > first && trace->processes[end - 1].n_locations == 0)
        end--;
    *ret_first = first < end ? trace->processes[first].first_location : 0;
    *ret_end = first < end ? trace->processes[end - 1].first_location +
                                 trace->processes[end - 1].n_locations
                           : 0;
}

unsigned lull_scan_workers(const struct lull_trace *trace, const struct lull_scan_options *options)
{
    uint32_t first, end;
    trace = source_of(trace, options->range);
    const struct lull_reader *reader = reader_of(trace);
    if (!reader || !reader->stream_open)
        return 1;
    locations_of_range(trace, options->range, &first, &end);
    unsigned workers = options->workers ? options->workers : lull_worker_count();
    if (workers < end - first)
        return workers;
    return end > first ? end - first : options->range.end > 0;
}

bool lull_trace_is_sequence(const struct lull_trace *trace)
{
    const struct lull_reader *reader = reader_of(trace);
    return reader && reader->drive;
}

void lull_trace_relay(const struct lull_trace *trace, const struct lull_relay *relay)
{
    trace->shared->relay = relay;
}

void lull_trace_cut(struct lull_trace *trace, const int64_t *ends)
{
    int64_t *both = lull_arena_alloc(trace->arena, (trace->n_locations + (size_t)1) * sizeof *both);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        both[l] = trace->ends && trace->ends[l] < ends[l] ? trace->ends[l] : ends[l];
    trace->ends = both;
}

/* Whether there is anything to read, here or for others. */
static bool has_locations(const struct lull_trace *trace, const struct lull_scan_options *options)
{
    if (lull_trace_is_sequence(trace) && trace->shared->relay)
        return true;
    uint32_t first, end;
    locations_of_range(trace, options->range, &first, &end);
    return end > first || options->range.end == 0;
}

static lull_status scan_source(const struct lull_trace *trace,
                               const struct lull_scan_options *options,
                               const struct lull_visitor *visitor, struct lull_error *err)
{
    uint64_t mask = options->mask ? options->mask : LULL_MASK_ALL;
    const struct lull_reader *reader = reader_of(trace);
    if (!reader || !(reader->stream_open || reader->drive))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: this trace has no events", trace->path);
    struct lull_quirk_tally tally;
    if (!has_locations(trace, options))
        return LULL_OK;
    lull_quirk_tally_begin(&tally, trace);
    return reader->stream_open ? scan_pull(&tally.trace, options, mask, visitor, err)
                               : push_scan(&tally.trace, options, mask, visitor, err);
}

lull_status lull_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
                      const struct lull_visitor *visitor, struct lull_error *err)
{
    return scan_source(source_of(trace, options->range), options, visitor, err);
}

/* ==== abreast ================================================================================= */

/* The scan in which each worker reads its own locations abreast: a heap by time of those that are
 * welcome, and a list of those that were not when they were looked at last. */

struct heap_entry {
    int64_t time;
    uint32_t lane;
};

struct share { /* what a worker has to read */
    struct lane *lanes;
    uint32_t n_lanes;
    struct heap_entry *heap; /* [n_lanes], the lane that lags most first */
    uint32_t n_heap;
    struct heap_entry *parked; /* [n_lanes]: were not welcome when they were asked */
    uint32_t n_parked;
    uint32_t since; /* blocks read since they were asked */
    struct lane_room *room;
};

struct scan {
    const struct lull_trace *trace;
    const struct lull_scan_options *options;
    const struct lull_abreast *abreast;
    uint64_t mask;
    unsigned workers;
    atomic_int failed; /* lull_status of the first failure */
    struct lull_error *err;
};

unsigned lull_scan_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process)
{
    uint32_t begin, end;
    locations_of_range(trace, range, &begin, &end);
    const uint64_t first = trace->processes[process].first_location;
    if (first < begin || first >= end) /* a process may have no locations */
        return 0;
    return (unsigned)((first - begin) * workers / (end - begin));
}

/* ---- the heap ------------------------------------------------------------------------------ */

static bool is_before(struct heap_entry a, struct heap_entry b)
{
    return a.time != b.time ? a.time < b.time : a.lane < b.lane;
}

static void push_heap_entry(struct share *share, struct heap_entry entry)
{
    uint32_t at = share->n_heap++;
    for (; at > 0 && is_before(entry, share->heap[(at - 1) / 2]); at = (at - 1) / 2)
        share->heap[at] = share->heap[(at - 1) / 2];
    share->heap[at] = entry;
}

static struct heap_entry pop(struct share *share)
{
    struct heap_entry *heap = share->heap, top = heap[0], last = heap[--share->n_heap];
    uint32_t n = share->n_heap, at = 0;
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* ---- one worker ---------------------------------------------------------------------------- */

static bool is_mine(const struct scan *scan, unsigned worker, uint32_t location)
{
    uint32_t process = scan->trace->locations[location].process;
    return lane_is_wanted(scan->trace, scan->options, location) &&
           lull_scan_worker_of(scan->trace, scan->options->range, scan->workers, process) == worker;
}

static lull_status open_share(const struct scan *scan, unsigned worker, struct share *share,
                              struct lull_error *err)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < scan->trace->n_locations; l++)
        n += is_mine(scan, worker, l);
    share->lanes = calloc(n + (size_t)1, sizeof *share->lanes);
    share->heap = calloc(n + (size_t)1, sizeof *share->heap);
    share->parked = calloc(n + (size_t)1, sizeof *share->parked);
    share->room = lane_room_create(LANE_EVENTS);
    if (!share->lanes || !share->heap || !share->parked || !share->room)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations",
                         scan->trace->path, n);
    const struct lull_visitor *visitor = &scan->abreast->visitor;
    for (uint32_t l = 0; l < scan->trace->n_locations; l++) {
        if (!is_mine(scan, worker, l))
            continue;
        lull_status status =
            lane_open(&share->lanes[share->n_lanes], scan->trace, l, scan->mask, err);
        push_heap_entry(share, (struct heap_entry){0, share->n_lanes++});
        if (status == LULL_OK && visitor->begin)
            status = visitor->begin(visitor->context, worker, l, err);
        if (status != LULL_OK)
            return status;
    }
    return LULL_OK;
}

static void close_share(struct share *share)
{
    for (uint32_t i = 0; i < share->n_lanes; i++)
        lane_close(&share->lanes[i]);
    free(share->lanes);
    free(share->heap);
    free(share->parked);
    lane_room_destroy(share->room);
}

/* To ask all of them for each block would cost more than to read it where most are not welcome. */
static bool is_time_to_ask(const struct share *share)
{
    return share->n_heap == 0 || share->since >= share->n_parked / 4;
}

static void unpark(struct share *share)
{
    while (share->n_parked > 0)
        push_heap_entry(share, share->parked[--share->n_parked]);
    share->since = 0;
}

/* The lane to read next; false: none is welcome. */
static bool choose(const struct scan *scan, unsigned worker, struct share *share,
                   struct heap_entry *ret_entry)
{
    const struct lull_abreast *abreast = scan->abreast;
    while (share->n_heap > 0) {
        struct heap_entry entry = pop(share);
        if (!abreast->welcome ||
            abreast->welcome(abreast->visitor.context, worker, share->lanes[entry.lane].location)) {
            *ret_entry = entry;
            return true;
        }
        share->parked[share->n_parked++] = entry;
    }
    return false;
}

static void tell_progress(const struct scan *scan, unsigned worker, int64_t time)
{
    if (worker != 0 || !scan->options->progress)
        return;
    double share = (double)time / (double)(scan->trace->duration + 1);
    scan->options->progress(scan->options->progress_context, share < 1 ? share : 1);
}

static lull_status read_share(const struct scan *scan, unsigned worker, struct share *share,
                              struct lull_error *err)
{
    const struct lull_abreast *abreast = scan->abreast;
    void *context = abreast->visitor.context;
    lull_status status = open_share(scan, worker, share, err);
    while (status == LULL_OK && share->n_heap + share->n_parked > 0) {
        struct heap_entry entry;
        if (atomic_load_explicit(&scan->failed, memory_order_relaxed) != LULL_OK)
            return LULL_OK;
        if (choose(scan, worker, share, &entry)) {
            struct lane *lane = &share->lanes[entry.lane];
            tell_progress(scan, worker, entry.time);
            status = lane_visit(lane, share->room, &abreast->visitor, worker, err);
            entry.time = lane->nesting.last_time;
            if (lane->ended)
                lane_close(lane);
            else
                push_heap_entry(share, entry);
            share->since++;
        } else if (share->since == 0) { /* all of them have just been asked */
            status = abreast->rest(context, worker, err);
        }
        if (is_time_to_ask(share))
            unpark(share);
    }
    if (status == LULL_OK && abreast->finish)
        status = abreast->finish(context, worker, err);
    return status;
}

static void read_abreast(void *context, unsigned worker)
{
    struct scan *scan = context;
    struct share share = {0};
    struct lull_error err = {""};
    lull_status status = read_share(scan, worker, &share, &err);
    int none = LULL_OK;
    if (status != LULL_OK && atomic_compare_exchange_strong(&scan->failed, &none, status)) {
        if (scan->err)
            *scan->err = err;
        if (scan->abreast->stop)
            scan->abreast->stop(scan->abreast->visitor.context);
    }
    close_share(&share);
}

lull_status lull_scan_abreast(const struct lull_trace *trace,
                              const struct lull_scan_options *options,
                              const struct lull_abreast *abreast, struct lull_error *err)
{
    trace = source_of(trace, options->range);
    const struct lull_reader *reader = reader_of(trace);
    if (!reader || !reader->stream_open) {
        lull_status status = lull_scan(trace, options, &abreast->visitor, err);
        if (status == LULL_OK && abreast->finish)
            status = abreast->finish(abreast->visitor.context, 0, err);
        return status;
    }
    struct lull_quirk_tally tally;
    lull_quirk_tally_begin(&tally, trace);
    struct scan scan = {.trace = &tally.trace,
                        .options = options,
                        .abreast = abreast,
                        .mask = options->mask ? options->mask : LULL_MASK_ALL,
                        .workers = lull_scan_workers(trace, options),
                        .err = err};
    atomic_init(&scan.failed, LULL_OK);
    lull_status status = lull_parallel_run_all(scan.workers, read_abreast, &scan, err);
    return status == LULL_OK ? (lull_status)atomic_load(&scan.failed) : status;
}

uint32_t lull_scan_most_abreast(const struct lull_trace *trace)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    return reader && reader->most_abreast ? reader->most_abreast : UINT32_MAX;
}

/* ==== cursor ================================================================================== */

/* Events of a cursor's block, at most and at least, and of the blocks of all cursors together if
 * one is open for each location. */
enum { MOST_EVENTS = 256, LEAST_EVENTS = 32, EVENTS_IN_SIGHT = 1 << 17 };

struct lull_cursor {
    struct lane lane;
    struct lane_room *room;
};

/* ---- copies of what cannot be read by location ----------------------------------------------- */

static lull_status copy_block(void *context, unsigned worker, const struct lull_block *block,
                              struct lull_error *err)
{
    const struct lull_writer *writer = context;
    (void)worker;
    return writer->block(writer->state, block, err);
}

static lull_status write_tape(const struct lull_trace *trace, struct lull_process_range range,
                              const char *path, struct lull_error *err)
{
    struct lull_writer writer;
    lull_status status = lull_format_tape.writer_open(trace, path, false, &writer, err);
    if (status != LULL_OK)
        return status;
    const struct lull_visitor visitor = {.context = &writer, .block = copy_block};
    const struct lull_scan_options options = {.application = LULL_NONE, .range = range};
    status = scan_source(trace, &options, &visitor, err);
    lull_status closed =
        writer.close(writer.state, status == LULL_OK, status == LULL_OK ? err : NULL);
    return status != LULL_OK ? status : closed;
}

/* The output is never committed: its temporary folder holds the copy until the trace is closed. */
static lull_status make_copy(const struct lull_trace *trace, struct lull_process_range range,
                             struct lull_copy *copy, struct lull_error *err)
{
    const char *path = lull_arena_printf(trace->arena, "%s/lull", lull_temporary_folder());
    lull_status status = lull_output_begin(path, true, true, &copy->output, err);
    if (status != LULL_OK)
        return status;
    const char *tape = lull_arena_printf(trace->arena, "%s/tape", lull_output_path(copy->output));
    status = write_tape(trace, range, tape, err);
    if (status == LULL_OK)
        status = lull_trace_open(tape, &copy->trace, err);
    if (status == LULL_OK)
        copy->range = range;
    else
        lull_copy_discard(copy);
    return status;
}

/* The trace to read a location from: `trace` itself or a temporary copy. */
static lull_status readable_by_location(const struct lull_trace *trace, uint32_t location,
                                        const struct lull_trace **ret_trace, struct lull_error *err)
{
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
    if (reader && reader->stream_open) {
        *ret_trace = trace;
        return LULL_OK;
    }
    if (!reader || !reader->drive)
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "%s: this trace has no events", trace->path);
    struct lull_trace_shared *shared = trace->shared;
    const uint32_t process = trace->locations[location].process;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&shared->copy_lock);
    struct lull_copy *copy = copy_for(shared, (struct lull_process_range){process, process + 1});
    if (!copy->trace)
        status = make_copy(trace, (struct lull_process_range){0, 0}, copy, err);
    *ret_trace = copy->trace;
    pthread_mutex_unlock(&shared->copy_lock);
    return status;
}

lull_status lull_cursors_prepare(const struct lull_trace *trace, struct lull_process_range range,
                                 struct lull_error *err)
{
    struct lull_trace_shared *shared = trace->shared;
    struct lull_copy *copy = range.end > 0 ? &shared->part : &shared->whole;
    lull_status status = LULL_OK;
    pthread_mutex_lock(&shared->copy_lock);
    if (lull_trace_is_sequence(trace) && !copy->trace)
        status = make_copy(trace, range, copy, err);
    pthread_mutex_unlock(&shared->copy_lock);
    return status;
}

uint64_t lull_trace_openings(const struct lull_trace *trace)
{
    const struct lull_trace_shared *shared = trace->shared;
    uint64_t openings = atomic_load(&shared->openings);
    if (shared->whole.trace)
        openings += lull_trace_openings(shared->whole.trace);
    if (shared->part.trace)
        openings += lull_trace_openings(shared->part.trace);
    return openings;
}

/* ---- cursors --------------------------------------------------------------------------------- */

uint32_t lull_cursor_block(const struct lull_trace *trace)
{
    uint32_t events = MOST_EVENTS;
    while (events > LEAST_EVENTS && (uint64_t)events * trace->n_locations > EVENTS_IN_SIGHT)
        events /= 2;
    return events;
}

lull_status lull_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                             struct lull_cursor **ret_cursor, struct lull_error *err)
{
    mask = mask ? mask : LULL_MASK_ALL;
    lull_status status = readable_by_location(trace, location, &trace, err);
    if (status != LULL_OK)
        return status;
    struct lull_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor || !(cursor->room = lane_room_create(lull_cursor_block(trace))))
        status = lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", trace->path);
    if (status == LULL_OK)
        status = lane_open(&cursor->lane, trace, location, mask, err);
    if (status != LULL_OK) {
        lull_cursor_close(cursor);
        return status;
    }
    *ret_cursor = cursor;
    return LULL_OK;
}

lull_status lull_cursor_next(struct lull_cursor *cursor, struct lull_block *ret_block,
                             struct lull_error *err)
{
    struct lull_block block = {.location = cursor->lane.location, .events = cursor->room->events};
    cursor->lane.state = LULL_EVENTS_ENDED;
    while (block.count == 0 && !cursor->lane.ended && cursor->lane.state == LULL_EVENTS_ENDED) {
        lull_status status = lane_next(&cursor->lane, cursor->room, &block, err);
        if (status != LULL_OK)
            return status;
    }
    *ret_block = block;
    return LULL_OK;
}

enum lull_events_state lull_cursor_state(const struct lull_cursor *cursor)
{
    return cursor->lane.state;
}

void lull_cursor_close(struct lull_cursor *cursor)
{
    if (!cursor)
        return;
    lane_close(&cursor->lane);
    lane_room_destroy(cursor->room);
    free(cursor);
}
