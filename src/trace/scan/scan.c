/* The scan: which location is read next, by which worker.
 *
 * Pull formats: every worker takes the location that lags most among those begun, or begins the
 * next process when all are busy. Push formats: push.h. Both go through the nesting repair. */
#include "trace/scan.h"

#include "base/array.h"
#include "base/parallel.h"
#include "trace/format.h"
#include "trace/scan/lane.h"
#include "trace/scan/push.h"
#include "trace/shared.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_AHEAD = 4 };

/* ---- pull ------------------------------------------------------------------------------------ */

/* A location that has been begun and has not ended. */
struct active {
    struct lull_lane
        lane; /* opened at its first block; of the worker that has it, without a lock */
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
            if (!lull_lane_is_wanted(trace, scheduler->options, location))
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
    lull_lane_close(&active->lane);
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
                           struct active *active, struct lull_lane_room *room,
                           struct lull_error *err)
{
    const struct lull_visitor *visitor = scheduler->visitor;
    const uint32_t location = active->location;
    lull_status status = LULL_OK;
    if (!active->lane.stream) {
        status = lull_lane_open(&active->lane, scheduler->trace, location, scheduler->mask, err);
        if (status == LULL_OK && visitor->begin)
            status = visitor->begin(visitor->context, worker, location, err);
    }
    return status == LULL_OK ? lull_lane_visit(&active->lane, room, visitor, worker, err) : status;
}

static void read_in_turns(void *context, unsigned worker)
{
    struct scheduler *scheduler = context;
    struct lull_lane_room *room = lull_lane_room_create(LULL_LANE_EVENTS);
    uint32_t process = LULL_NONE;
    for (struct active *active; (active = take_active(scheduler, process));) {
        process = scheduler->trace->locations[active->location].process;
        struct lull_error err = {""};
        lull_status status =
            room ? advance(scheduler, worker, active, room, &err)
                 : lull_fail(&err, LULL_ERR_MEMORY, "%s: out of memory", scheduler->trace->path);
        give_back_active(scheduler, active, active->lane.ended, status, &err);
    }
    lull_lane_room_destroy(room);
}

static lull_status scan_pull(const struct lull_trace *trace,
                             const struct lull_scan_options *options, uint64_t mask,
                             const struct lull_visitor *visitor, struct lull_error *err)
{
    struct scheduler scheduler = {
        .trace = trace, .options = options, .visitor = visitor, .mask = mask, .err = err};
    for (uint32_t l = 0; l < trace->n_locations; l++)
        scheduler.total += lull_lane_is_wanted(trace, options, l);
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

/* NULL: its events cannot be read. */
static const struct lull_reader *reader_of(const struct lull_trace *trace)
{
    return trace->format ? trace->format->reader : NULL;
}

bool lull_in_range(struct lull_process_range range, uint32_t process)
{
    return range.end == 0 || (process >= range.first && process < range.end);
}

void lull_locations_of(const struct lull_trace *trace, struct lull_process_range range,
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
    const struct lull_reader *reader = reader_of(trace);
    uint32_t first, end;
    if (!reader || !reader->stream_open)
        return 1;
    lull_locations_of(trace, options->range, &first, &end);
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

/* Whether there is anything to read, here or for others. */
static bool has_locations(const struct lull_trace *trace, const struct lull_scan_options *options)
{
    if (lull_trace_is_sequence(trace) && trace->shared->relay)
        return true;
    uint32_t first, end;
    lull_locations_of(trace, options->range, &first, &end);
    return end > first || options->range.end == 0;
}

lull_status lull_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
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
                               : lull_push_scan(&tally.trace, options, mask, visitor, err);
}
