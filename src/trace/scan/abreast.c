/* The scan in which each worker reads its own locations abreast: a heap by time of those that are
 * welcome, and a list of those that were not when they were looked at last. */
#include "base/parallel.h"
#include "trace/format.h"
#include "trace/scan/lane.h"
#include "trace/shared.h"

#include <stdatomic.h>
#include <stdlib.h>

struct heap_entry {
    int64_t time;
    uint32_t lane;
};

struct share { /* what a worker has to read */
    struct lull_lane *lanes;
    uint32_t n_lanes;
    struct heap_entry *heap; /* [n_lanes], the lane that lags most first */
    uint32_t n_heap;
    struct heap_entry *parked; /* [n_lanes]: were not welcome when they were asked */
    uint32_t n_parked;
    uint32_t since; /* blocks read since they were asked */
    struct lull_lane_room *room;
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
    lull_locations_of(trace, range, &begin, &end);
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
    return lull_lane_is_wanted(scan->trace, scan->options, location) &&
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
    share->room = lull_lane_room_create(LULL_LANE_EVENTS);
    if (!share->lanes || !share->heap || !share->parked || !share->room)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory for %u locations",
                         scan->trace->path, n);
    const struct lull_visitor *visitor = &scan->abreast->visitor;
    for (uint32_t l = 0; l < scan->trace->n_locations; l++) {
        if (!is_mine(scan, worker, l))
            continue;
        lull_status status =
            lull_lane_open(&share->lanes[share->n_lanes], scan->trace, l, scan->mask, err);
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
        lull_lane_close(&share->lanes[i]);
    free(share->lanes);
    free(share->heap);
    free(share->parked);
    lull_lane_room_destroy(share->room);
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
            struct lull_lane *lane = &share->lanes[entry.lane];
            tell_progress(scan, worker, entry.time);
            status = lull_lane_visit(lane, share->room, &abreast->visitor, worker, err);
            entry.time = lane->nesting.last_time;
            if (lane->ended)
                lull_lane_close(lane);
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
    const struct lull_reader *reader = trace->format ? trace->format->reader : NULL;
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
