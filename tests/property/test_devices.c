/* What devices lost time to (metrics/devices.h) against a slow reference that looks at every nanosecond by itself: what
 * runs on the device then, and if nothing does, what its next operation waits for. */
#include "metrics/breakdown.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/feed.h"
#include "support/random_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    DURATION = 2000,
    PROCESSES = 3,
    THREADS = 2,
    STREAMS = 3,
    MOST_EVENTS = 2000,
    MOST_OPERATIONS = 400
};

enum region { WORK, RECV, LAUNCH, WAIT, BARRIER, KERNEL, COPY, EXCHANGE, REGIONS };
static const struct lull_region regions[REGIONS] = {
    [WORK] = {.name = "work", .file = "", .site = "", .user = true, .whole = LULL_NONE},
    [RECV] = {.name = "MPI_Recv",
              .file = "",
              .site = "",
              .paradigm = LULL_PARADIGM_MPI,
              .activity = LULL_MPI_P2P,
              .whole = LULL_NONE},
    [LAUNCH] = {.name = "cudaLaunchKernel",
                .file = "",
                .site = "",
                .paradigm = LULL_PARADIGM_DEVICE,
                .activity = LULL_DEVICE,
                .whole = LULL_NONE},
    [WAIT] = {.name = "cudaStreamSynchronize",
              .file = "",
              .site = "",
              .paradigm = LULL_PARADIGM_DEVICE,
              .role = LULL_ROLE_BARRIER,
              .activity = LULL_DEVICE,
              .whole = LULL_NONE},
    [BARRIER] = {.name = "!$omp barrier",
                 .file = "",
                 .site = "",
                 .paradigm = LULL_PARADIGM_OPENMP,
                 .role = LULL_ROLE_BARRIER,
                 .activity = LULL_OMP_SYNC,
                 .whole = LULL_NONE},
    [KERNEL] = {.name = "kernel",
                .file = "",
                .site = "",
                .paradigm = LULL_PARADIGM_DEVICE,
                .role = LULL_ROLE_KERNEL,
                .activity = LULL_USEFUL,
                .whole = LULL_NONE},
    [COPY] = {.name = "copy",
              .file = "",
              .site = "",
              .paradigm = LULL_PARADIGM_DEVICE,
              .role = LULL_ROLE_DATA_TRANSFER,
              .activity = LULL_DEVICE,
              .whole = LULL_NONE},
    [EXCHANGE] = {.name = "ncclDevKernel_AllReduce",
                  .file = "",
                  .site = "",
                  .paradigm = LULL_PARADIGM_DEVICE,
                  .role = LULL_ROLE_DATA_TRANSFER,
                  .activity = LULL_DEVICE,
                  .whole = LULL_NONE},
};

enum {
    DELAYED = LULL_DEVICE_LOSSES + 1,
    BEHIND_WAIT,
    BESIDE_WAIT,
    COPIES_BESIDE,
    EXCHANGES_BESIDE,
    HELD_BY_STREAM,
    HELD_BY_PROCESS,
    SIDE_BY_SIDE,
    BRANCHES
};
static struct branch branches[BRANCHES] = {
    [DELAYED] = {.what = "the delay of an operation is known", .least = 300},
    [BEHIND_WAIT] = {.what = "the host waits when a device runs out of work", .least = 100},
    [BESIDE_WAIT] = {.what = "behind a wait the host is in another call of the runtime",
                     .least = 50},
    [COPIES_BESIDE] = {.what = "copies run beside kernels", .least = 300},
    [EXCHANGES_BESIDE] = {.what = "exchanges run beside kernels", .least = 300},
    [HELD_BY_STREAM] = {.what = "a default stream and another one hold each other", .least = 50},
    [HELD_BY_PROCESS] = {.what = "a kernel of another process holds an operation", .least = 50},
    [SIDE_BY_SIDE] = {.what = "a default stream and another one run at a time", .least = 50},
    [LULL_LOST_COPYING] = {.what = "copies run alone", .least = 300},
    [LULL_LOST_EXCHANGING] = {.what = "exchanges run alone", .least = 300},
    [LULL_LOST_HOST] = {.what = "the host computes", .least = 300},
    [LULL_LOST_MPI] = {.what = "the host is in MPI", .least = 300},
    [LULL_LOST_RUNTIME] = {.what = "the host is in the runtime", .least = 300},
    [LULL_LOST_LAUNCH] = {.what = "an operation starts late", .least = 300},
    [LULL_LOST_OTHER_DEVICE] = {.what = "another device is waited for", .least = 200},
    [LULL_LOST_NO_WORK] = {.what = "nothing comes any more", .least = 300},
    [LULL_LOST_UNKNOWN] = {.what = "a submission is not known", .least = 300},
    [LULL_DEVICE_LOSSES] = {.what = "processes share a device", .least = 100},
};

/* What the test knows of the schedule that it draws. */
struct operation {
    uint64_t number, other; /* other: that it depends on, 0: none */
    int64_t called, begin, end;
    uint32_t thread, stream, process, device;
    uint64_t bytes;
    uint8_t region;
    bool told;     /* the run tells which call submitted it */
    bool numbered; /* the run tells which operation it is */
};
struct drawn {
    struct random_trace made;
    struct lull_windows *windows;
    struct operation operations[MOST_OPERATIONS];
    uint32_t n_operations;
    uint8_t activity[PROCESSES * THREADS][DURATION]; /* enum region, or a pause; by thread */
    uint64_t waits_for[PROCESSES * THREADS][DURATION];
    uint32_t waits_stream[PROCESSES * THREADS][DURATION];
};
enum { PAUSE = REGIONS };

static uint32_t below(struct lull_random *random, uint32_t n)
{
    return (uint32_t)lull_random_below(random, n);
}

static struct lull_event *add(struct random_location *location, unsigned kind, int64_t time,
                              uint32_t id)
{
    assert_true(location->count < MOST_EVENTS);
    struct lull_event *event = &location->events[location->count++];
    *event = (struct lull_event){.kind = (uint8_t)kind, .time = time, .id = id};
    return event;
}

/* ---- the schedule -------------------------------------------------------------------------- */

static void define(struct lull_random *random, struct drawn *drawn)
{
    struct lull_trace *trace = drawn->made.trace = lull_trace_create();
    trace->path = "drawn";
    trace->duration = DURATION;
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(trace->arena, REGIONS, sizeof *trace->regions);
    memcpy(trace->regions, regions, sizeof regions);
    trace->n_devices = 2;
    trace->devices = lull_arena_zero(trace->arena, 2, sizeof *trace->devices);
    trace->devices[0] = (struct lull_device){"one", "CUDA", "pci:1", LULL_NONE};
    trace->devices[1] = (struct lull_device){"two", "CUDA", "pci:2", LULL_NONE};
    trace->n_processes = 1 + below(random, PROCESSES);
    trace->processes = lull_arena_zero(trace->arena, PROCESSES, sizeof *trace->processes);
    trace->locations =
        lull_arena_zero(trace->arena, PROCESSES * (THREADS + STREAMS), sizeof *trace->locations);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const uint32_t streams = 1 + below(random, STREAMS);
        trace->processes[p] = (struct lull_process){.name = "process",
                                                    .rank = p,
                                                    .node = LULL_NONE,
                                                    .first_location = trace->n_locations,
                                                    .n_threads = THREADS,
                                                    .n_locations = THREADS + streams};
        for (uint32_t i = 0; i < THREADS + streams; i++) {
            struct lull_location *location = &trace->locations[trace->n_locations++];
            const bool stream = i >= THREADS;
            *location =
                (struct lull_location){.name = "location",
                                       .process = p,
                                       .number = stream ? i - THREADS : i,
                                       .kind = stream ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
                                       .role = i == 0 ? LULL_THREAD_MASTER : LULL_THREAD_FREE};
            if (!stream)
                continue;
            location->stream = lull_arena_zero(trace->arena, 1, sizeof *location->stream);
            location->stream->device = below(random, 2);
            location->stream->in_order = below(random, 8) > 0;
            location->stream->is_default = location->number == 0 && below(random, 8) > 0;
        }
    }
    drawn->made.locations = calloc(trace->n_locations, sizeof *drawn->made.locations);
    drawn->made.processes = calloc(trace->n_processes, sizeof *drawn->made.processes);
    assert_non_null(drawn->made.locations);
    assert_non_null(drawn->made.processes);
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        drawn->made.locations[l].events = calloc(MOST_EVENTS, sizeof(struct lull_event));
        assert_non_null(drawn->made.locations[l].events);
    }
}

/* An operation that a call submits; when it runs is drawn later. */
static void submit(struct lull_random *random, struct drawn *drawn, uint32_t thread, int64_t called)
{
    const struct lull_trace *trace = drawn->made.trace;
    const uint32_t p = trace->locations[thread].process;
    const struct lull_process *process = &trace->processes[p];
    if (drawn->n_operations == MOST_OPERATIONS)
        return;
    struct operation *operation = &drawn->operations[drawn->n_operations++];
    *operation = (struct operation){.number = drawn->n_operations,
                                    .called = called,
                                    .thread = thread,
                                    .process = p,
                                    .stream = process->first_location + THREADS +
                                              below(random, process->n_locations - THREADS),
                                    .region = (uint8_t)(KERNEL + below(random, 3)),
                                    .told = below(random, 10) > 0};
    operation->device = trace->locations[operation->stream].stream->device;
    if (below(random, 3) == 0 && drawn->n_operations > 1) {
        const struct operation *other = &drawn->operations[below(random, drawn->n_operations - 1)];
        operation->other = other->process == p ? other->number : 0;
    }
    if (!operation->told)
        return;
    struct random_location *location = &drawn->made.locations[thread];
    struct lull_event *event = add(location, LULL_EVENT_SUBMIT, called, LULL_NONE);
    event->operation.number = operation->number;
    event->operation.location = operation->stream;
    if (operation->other > 0) {
        event = add(location, LULL_EVENT_DEPEND, called, LULL_NONE);
        event->operation.number = operation->number;
        event->operation.other = operation->other;
    }
}

/* A call waits for an operation of its process, or for all of a stream. */
static void wait_for(struct lull_random *random, struct drawn *drawn, uint32_t thread,
                     int64_t begin, int64_t end)
{
    const struct lull_process *process =
        &drawn->made.trace->processes[drawn->made.trace->locations[thread].process];
    struct lull_event *event =
        add(&drawn->made.locations[thread], LULL_EVENT_DEVICE_WAIT, begin, LULL_NONE);
    const uint32_t t = drawn->made.trace->locations[thread].process * THREADS +
                       drawn->made.trace->locations[thread].number;
    event->operation.location =
        process->first_location + THREADS + below(random, process->n_locations - THREADS);
    if (drawn->n_operations > 0 && below(random, 2)) {
        const struct operation *of = &drawn->operations[below(random, drawn->n_operations)];
        event->operation.number = of->thread == thread ? of->number : 0;
    }
    for (int64_t i = begin; i < end; i++) {
        drawn->waits_for[t][i] = event->operation.number;
        drawn->waits_stream[t][i] =
            event->operation.number > 0 ? LULL_NONE : event->operation.location;
    }
}

static void draw_thread(struct lull_random *random, struct drawn *drawn, uint32_t thread)
{
    struct random_location *location = &drawn->made.locations[thread];
    const uint32_t t = drawn->made.trace->locations[thread].process * THREADS +
                       drawn->made.trace->locations[thread].number;
    memset(drawn->activity[t], WORK, DURATION);
    memset(drawn->waits_stream[t], 0xff, sizeof drawn->waits_stream[t]);
    add(location, LULL_EVENT_THREAD_BEGIN, 0, LULL_NONE);
    for (int64_t now = below(random, 60); now < DURATION;) {
        const int64_t length = 1 + below(random, 40);
        const int64_t end = now + length < DURATION ? now + length : DURATION;
        bool waits = false;
        if (below(random, 12) == 0) {
            add(location, LULL_EVENT_MEASURE_OFF, now, LULL_NONE);
            add(location, LULL_EVENT_MEASURE_ON, end, LULL_NONE);
            memset(&drawn->activity[t][now], PAUSE, (size_t)(end - now));
        } else {
            const uint32_t region = 1 + below(random, BARRIER);
            add(location, LULL_EVENT_CALL, now, region)->duration = end - now;
            memset(&drawn->activity[t][now], (int)region, (size_t)(end - now));
            if (region == LAUNCH)
                submit(random, drawn, thread, now);
            waits = region == WAIT && below(random, 2);
            if (waits)
                wait_for(random, drawn, thread, now, end);
        }
        now = end + (below(random, 3) && !waits ? below(random, 60) : 0);
    }
    add(location, LULL_EVENT_THREAD_END, DURATION, LULL_NONE);
}

/* The operations of a stream run one after the other, in the order of their calls. */
static void draw_stream(struct lull_random *random, struct drawn *drawn, uint32_t stream)
{
    struct random_location *location = &drawn->made.locations[stream];
    int64_t free_from = 0;
    for (int64_t called = 0; called < DURATION; called++)
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            struct operation *operation = &drawn->operations[i];
            if (operation->stream != stream || operation->called != called)
                continue;
            operation->begin = (called > free_from ? called : free_from) +
                               (below(random, 3) ? below(random, 30) : 0);
            operation->end = operation->begin + 1 + below(random, 50);
            if (operation->end > DURATION) {
                operation->begin = operation->end = INT64_MAX;
                continue;
            }
            add(location, LULL_EVENT_CALL, operation->begin, operation->region)->duration =
                operation->end - operation->begin;
            struct lull_event *event =
                add(location, LULL_EVENT_OPERATION, operation->begin, LAUNCH);
            operation->numbered = operation->told || below(random, 2);
            event->operation.number = operation->numbered ? operation->number : 0;
            event->operation.location = operation->thread;
            event->operation.bytes = operation->bytes =
                operation->region == KERNEL ? 0 : below(random, 1000);
            free_from = operation->end;
        }
}

static void draw(struct lull_random *random, bool windowed, struct drawn *drawn)
{
    define(random, drawn);
    const struct lull_trace *trace = drawn->made.trace;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].kind == LULL_LOCATION_THREAD)
            draw_thread(random, drawn, l);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].kind == LULL_LOCATION_DEVICE)
            draw_stream(random, drawn, l);
    if (!windowed)
        return;
    struct lull_windows *windows = drawn->windows =
        lull_arena_zero(trace->arena, 1, sizeof *windows);
    windows->n_processes = trace->n_processes;
    windows->counts = lull_arena_zero(trace->arena, trace->n_processes, sizeof *windows->counts);
    windows->intervals =
        lull_arena_zero(trace->arena, trace->n_processes, sizeof(struct lull_interval *));
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        windows->intervals[p] = lull_arena_zero(trace->arena, 4, sizeof(struct lull_interval));
        windows->counts[p] = random_intervals(random, DURATION, 4, windows->intervals[p]);
    }
}

/* ---- the reference ------------------------------------------------------------------------- */

static bool in_window(const struct drawn *drawn, uint32_t process, int64_t time)
{
    if (!drawn->windows)
        return true;
    for (uint32_t i = 0; i < drawn->windows->counts[process]; i++)
        if (drawn->windows->intervals[process][i].begin <= time &&
            time < drawn->windows->intervals[process][i].end)
            return true;
    return false;
}

/* What of an operation lies in windows of its process begins there, for those who see only that. */
static int64_t next_begin(const struct drawn *drawn, const struct operation *operation,
                          int64_t from)
{
    for (int64_t t = operation->begin > from ? operation->begin : from;
         t < operation->end && t < DURATION; t++)
        if (in_window(drawn, operation->process, t))
            return t;
    return INT64_MAX;
}

static const struct operation *find(const struct drawn *drawn, uint64_t number)
{
    return number > 0 ? &drawn->operations[number - 1] : NULL;
}

/* Whether an operation is seen on its device at all: some of it lies in a window. */
static int64_t seen_end(const struct drawn *drawn, const struct operation *operation)
{
    int64_t end = 0;
    for (int64_t t = operation->begin; t < operation->end && t < DURATION; t++)
        end = in_window(drawn, operation->process, t) ? t + 1 : end;
    return end;
}

static unsigned loss_of_host(const struct drawn *drawn, const struct operation *next,
                             uint32_t device, int64_t time)
{
    const struct lull_location *thread = &drawn->made.trace->locations[next->thread];
    const uint32_t t = thread->process * THREADS + thread->number;
    const struct operation *of = find(drawn, drawn->waits_for[t][time]);
    if (drawn->activity[t][time] == PAUSE || !in_window(drawn, thread->process, time))
        return LULL_LOST_UNKNOWN;
    if (drawn->activity[t][time] == RECV)
        return LULL_LOST_MPI;
    if (drawn->activity[t][time] != LAUNCH && drawn->activity[t][time] != WAIT)
        return LULL_LOST_HOST;
    if (of && seen_end(drawn, of) > 0 && of->numbered && of->device != device)
        return LULL_LOST_OTHER_DEVICE;
    if (drawn->waits_stream[t][time] != LULL_NONE &&
        drawn->made.trace->locations[drawn->waits_stream[t][time]].stream->device != device)
        return LULL_LOST_OTHER_DEVICE;
    return LULL_LOST_RUNTIME;
}

/* What is lost at a moment; LULL_DEVICE_LOSSES: nothing, a kernel runs. *ret_next: what the device runs next, if it does
 * nothing then; else NULL. */
static unsigned loss_at(const struct drawn *drawn, uint32_t device, int64_t time,
                        const struct operation **ret_next)
{
    const struct operation *next = NULL;
    int64_t next_at = INT64_MAX;
    bool kernel = false, copy = false, exchange = false;
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *operation = &drawn->operations[i];
        if (operation->device != device)
            continue;
        if (operation->begin <= time && time < operation->end &&
            in_window(drawn, operation->process, time)) {
            kernel |= operation->region == KERNEL;
            copy |= operation->region == COPY;
            exchange |= operation->region == EXCHANGE;
        }
        const int64_t at = next_begin(drawn, operation, time);
        if (at < next_at || (at == next_at && next && operation->stream < next->stream)) {
            next = operation;
            next_at = at;
        }
    }
    *ret_next = kernel || copy || exchange ? NULL : next;
    if (kernel || copy || exchange)
        return kernel ? LULL_DEVICE_LOSSES : copy ? LULL_LOST_COPYING : LULL_LOST_EXCHANGING;
    if (!next)
        return LULL_LOST_NO_WORK;
    if (!next->told)
        return LULL_LOST_UNKNOWN;
    if (time < next->called)
        return loss_of_host(drawn, next, device, time);
    const struct operation *other = find(drawn, next->other);
    return other && other->device != device && other->numbered && time < seen_end(drawn, other)
               ? LULL_LOST_OTHER_DEVICE
               : LULL_LOST_LAUNCH;
}

/* How long the device copied, and exchanged, and how much of that while it computed. */
static void check_moving(const struct drawn *drawn, uint32_t device,
                         const struct lull_device_breakdown *found)
{
    int64_t copies = 0, copies_beside = 0, exchanges = 0, exchanges_beside = 0;
    for (int64_t t = 0; t < DURATION; t++) {
        bool runs[REGIONS] = {false};
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            if (of->device == device && of->begin <= t && t < of->end &&
                in_window(drawn, of->process, t))
                runs[of->region] = true;
        }
        copies += runs[COPY];
        copies_beside += runs[COPY] && runs[KERNEL];
        exchanges += runs[EXCHANGE];
        exchanges_beside += runs[EXCHANGE] && runs[KERNEL];
    }
    assert_int_equal(found->copy_ns, copies);
    assert_int_equal(found->copy_beside_ns, copies_beside);
    assert_int_equal(found->exchange_ns, exchanges);
    assert_int_equal(found->exchange_beside_ns, exchanges_beside);
    branch_reach(&branches[COPIES_BESIDE], copies_beside > 0);
    branch_reach(&branches[EXCHANGES_BESIDE], exchanges_beside > 0);
}

/* What was lost in front of operations of each region, and how long these were held: in all, and at most in one gap, or
 * of one operation. */
struct lost_before {
    int64_t all[REGIONS][LULL_DEVICE_LOSSES], most[REGIONS][LULL_DEVICE_LOSSES];
    int64_t held[REGIONS][LULL_DEVICE_HOLDS], most_held[REGIONS][LULL_DEVICE_HOLDS];
};

/* ---- operations that are held -------------------------------------------------------------- */

enum side { OTHER, DEFAULT, NEITHER, SIDES };

static enum side side_of_stream(const struct lull_stream *stream)
{
    return !stream->in_order ? NEITHER : stream->is_default ? DEFAULT : OTHER;
}

static enum side side_of(const struct drawn *drawn, const struct operation *operation)
{
    return side_of_stream(drawn->made.trace->locations[operation->stream].stream);
}

/* When an operation is ready, as far as is known of those that are seen; INT64_MAX: that is not known. */
static int64_t ready_at(const struct drawn *drawn, const struct operation *operation)
{
    const struct operation *other = find(drawn, operation->other);
    int64_t ready = operation->called;
    if (!operation->told || side_of(drawn, operation) == NEITHER ||
        (other && (!other->numbered || seen_end(drawn, other) == 0)))
        return INT64_MAX;
    if (other && seen_end(drawn, other) > ready)
        ready = seen_end(drawn, other);
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (of->stream == operation->stream && of->begin < operation->begin &&
            seen_end(drawn, of) > ready)
            ready = seen_end(drawn, of);
    }
    return ready;
}

/* How many operations of a process run at a moment, by the side of their stream. */
struct now {
    uint32_t running[SIDES], kernels;
};

static bool holds_each_other(const struct drawn *drawn, uint32_t device)
{
    const struct lull_trace *trace = drawn->made.trace;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        bool sides[SIDES] = {false};
        for (uint32_t i = THREADS; i < process->n_locations; i++) {
            const struct lull_stream *stream = trace->locations[process->first_location + i].stream;
            sides[side_of_stream(stream)] |= stream->device == device;
        }
        if (sides[OTHER] && sides[DEFAULT])
            return true;
    }
    return false;
}

static bool is_held(const struct drawn *drawn, const struct operation *operation,
                    const struct now *now, unsigned hold)
{
    const struct now *own = &now[operation->process];
    if (hold == LULL_HELD_BY_DEFAULT_STREAM)
        return own->running[side_of(drawn, operation) == DEFAULT ? OTHER : DEFAULT] > 0;
    bool others = false;
    for (uint32_t p = 0; p < PROCESSES; p++)
        others |= p != operation->process && now[p].kernels > 0;
    return others && own->running[OTHER] + own->running[DEFAULT] + own->running[NEITHER] == 0;
}

static void check_held(const struct drawn *drawn, uint32_t device,
                       const struct lull_device_breakdown *found, struct lost_before *before)
{
    static int64_t ready[MOST_OPERATIONS], begin[MOST_OPERATIONS],
        held[MOST_OPERATIONS][LULL_DEVICE_HOLDS];
    struct lull_device_held expected[LULL_DEVICE_HOLDS] = {{0}};
    const bool looks = holds_each_other(drawn, device);
    int64_t ran[PROCESSES][SIDES] = {{0}}, kernels[PROCESSES] = {0}, sum = 0, most = 0;
    memset(held, 0, sizeof held);
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        begin[i] = next_begin(drawn, &drawn->operations[i], 0);
        ready[i] = begin[i] == INT64_MAX ? INT64_MAX : ready_at(drawn, &drawn->operations[i]);
    }
    for (int64_t t = 0; t < DURATION; t++) {
        struct now now[PROCESSES] = {{.kernels = 0}};
        bool is[LULL_DEVICE_HOLDS] = {false}, overlaps = false;
        uint32_t with_kernels = 0;
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            if (of->device == device && of->begin <= t && t < of->end &&
                in_window(drawn, of->process, t)) {
                now[of->process].running[side_of(drawn, of)]++;
                now[of->process].kernels += of->region == KERNEL;
            }
        }
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            if (of->device != device || t < ready[i] || t >= begin[i])
                continue;
            for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++) {
                if (!is_held(drawn, of, now, hold) ||
                    (hold == LULL_HELD_BY_DEFAULT_STREAM && !looks))
                    continue;
                is[hold] = true;
                held[i][hold]++;
            }
        }
        for (uint32_t p = 0; p < PROCESSES; p++) {
            overlaps |= looks && now[p].running[OTHER] > 0 && now[p].running[DEFAULT] > 0;
            with_kernels += now[p].kernels > 0;
            kernels[p] += now[p].kernels > 0;
            for (int side = 0; side < SIDES; side++)
                ran[p][side] += now[p].running[side] > 0;
        }
        for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++)
            expected[hold].held_ns += is[hold];
        expected[LULL_HELD_BY_DEFAULT_STREAM].overlap_ns += overlaps;
        expected[LULL_HELD_BY_PROCESS].overlap_ns += with_kernels > 1;
    }
    for (uint32_t p = 0; p < PROCESSES; p++) {
        if (looks)
            expected[LULL_HELD_BY_DEFAULT_STREAM].shorter_ns +=
                ran[p][OTHER] < ran[p][DEFAULT] ? ran[p][OTHER] : ran[p][DEFAULT];
        sum += kernels[p];
        most = kernels[p] > most ? kernels[p] : most;
    }
    expected[LULL_HELD_BY_PROCESS].shorter_ns = sum - most;
    for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++) {
        assert_int_equal(found->held[hold].held_ns, expected[hold].held_ns);
        assert_int_equal(found->held[hold].overlap_ns, expected[hold].overlap_ns);
        assert_int_equal(found->held[hold].shorter_ns, expected[hold].shorter_ns);
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const uint32_t region = drawn->operations[i].region;
            before->held[region][hold] += held[i][hold];
            if (held[i][hold] > before->most_held[region][hold])
                before->most_held[region][hold] = held[i][hold];
        }
    }
    branch_reach(&branches[HELD_BY_STREAM], expected[LULL_HELD_BY_DEFAULT_STREAM].held_ns > 0);
    branch_reach(&branches[SIDE_BY_SIDE], expected[LULL_HELD_BY_DEFAULT_STREAM].overlap_ns > 0);
    branch_reach(&branches[HELD_BY_PROCESS], expected[LULL_HELD_BY_PROCESS].held_ns > 0);
}

/* ---- gaps ---------------------------------------------------------------------------------- */

/* What was lost in gaps that begin while the host waits, by the operation that has ended: in all, and in one at most. */
struct lost_behind {
    uint64_t n[REGIONS];
    int64_t all[REGIONS][LULL_DEVICE_LOSSES], most[REGIONS];
};

/* Whether the thread that submits `next` is in a call that waits for the device at a moment, before it submits. */
static bool waits_at(const struct drawn *drawn, const struct operation *next, uint32_t device,
                     int64_t time)
{
    const struct lull_location *thread = &drawn->made.trace->locations[next->thread];
    const uint32_t t = thread->process * THREADS + thread->number;
    return next->told && time < next->called && drawn->activity[t][time] == WAIT &&
           (drawn->waits_for[t][time] > 0 || drawn->waits_stream[t][time] != LULL_NONE) &&
           loss_of_host(drawn, next, device, time) == LULL_LOST_RUNTIME;
}

/* The region of the operation that ended at a moment; of several that which had begun first, as far as is seen. */
static uint32_t region_of_ended(const struct drawn *drawn, uint32_t device, int64_t end)
{
    const struct operation *ended = NULL;
    int64_t ended_from = INT64_MAX;
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *operation = &drawn->operations[i];
        int64_t from = end;
        if (operation->device != device)
            continue;
        while (from > operation->begin && from <= operation->end &&
               in_window(drawn, operation->process, from - 1))
            from--;
        if (from == end || from > ended_from ||
            (from == ended_from && operation->stream > ended->stream))
            continue;
        ended = operation;
        ended_from = from;
    }
    assert_non_null(ended);
    return ended->region;
}

static void check_device(const struct drawn *drawn, uint32_t device,
                         const struct lull_device_breakdown *found, struct lost_before *before,
                         struct lost_behind *behind)
{
    int64_t gap[LULL_DEVICE_LOSSES] = {0}, behind_all[LULL_DEVICE_LOSSES] = {0}, in_gap = 0;
    const struct operation *last = NULL;
    uint32_t waited_for = REGIONS; /* REGIONS: the gap is behind no wait, or there is none */
    uint64_t n_behind = 0;
    bool ran = false;
    const struct lull_trace *trace = drawn->made.trace;
    int64_t expected[LULL_DEVICE_LOSSES + 1] = {0}, all = found->kernel_ns, windows = 0;
    for (int64_t t = 0; t < DURATION; t++) {
        bool inside = false;
        for (uint32_t l = 0; l < trace->n_locations; l++)
            inside |= trace->locations[l].kind == LULL_LOCATION_DEVICE &&
                      trace->locations[l].stream->device == device &&
                      in_window(drawn, trace->locations[l].process, t);
        windows += inside;
        if (!inside) {
            ran = false;
            continue;
        }
        const struct operation *next;
        const unsigned loss = loss_at(drawn, device, t, &next);
        const bool runs =
            loss == LULL_DEVICE_LOSSES || loss == LULL_LOST_COPYING || loss == LULL_LOST_EXCHANGING;
        expected[loss]++;
        if (runs)
            waited_for = REGIONS;
        if (ran && next && waits_at(drawn, next, device, t)) {
            waited_for = region_of_ended(drawn, device, t);
            behind->n[waited_for]++;
            n_behind++;
            in_gap = 0;
        }
        ran = runs;
        const bool counts = loss != LULL_LOST_RUNTIME || (next && waits_at(drawn, next, device, t));
        branch_reach(&branches[BESIDE_WAIT], waited_for < REGIONS && !counts);
        if (waited_for < REGIONS && counts) {
            behind_all[loss]++;
            behind->all[waited_for][loss]++;
            if (++in_gap > behind->most[waited_for])
                behind->most[waited_for] = in_gap;
        }
        if (!next || next != last)
            memset(gap, 0, sizeof gap);
        last = next;
        if (!next)
            continue;
        before->all[next->region][loss]++;
        if (++gap[loss] > before->most[next->region][loss])
            before->most[next->region][loss] = gap[loss];
    }
    for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++) {
        fail_if(found->lost_ns[loss] != expected[loss], "device %s, %s: %lld ns, expected %lld",
                found->id, lull_device_loss_id(loss), (long long)found->lost_ns[loss],
                (long long)expected[loss]);
        branch_reach(&branches[loss], expected[loss] > 0);
        assert_int_equal(found->behind_wait_ns[loss], behind_all[loss]);
        all += found->lost_ns[loss];
    }
    assert_int_equal(found->kernel_ns, expected[LULL_DEVICE_LOSSES]);
    assert_int_equal(all, windows);
    assert_int_equal(found->n_behind_waits, n_behind);
    branch_reach(&branches[BEHIND_WAIT], n_behind > 0);
    branch_reach(&branches[LULL_DEVICE_LOSSES], found->n_processes > 1);
    check_moving(drawn, device, found);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_lengths(const struct lull_lengths *found, int64_t *values, uint64_t count)
{
    if (count == 0)
        return;
    qsort(values, count, sizeof *values, by_value);
    assert_int_equal(found->min_ns, values[0]);
    assert_int_equal(found->median_ns, (values[(count - 1) / 2] + values[count / 2]) / 2);
    assert_int_equal(found->max_ns, values[count - 1]);
}

/* What `--by kernel` and the like tell of a run without windows. */
static void check_operations(const struct drawn *drawn, const struct lull_breakdown *breakdown)
{
    static const char *const kinds[] = {[LULL_OPERATION_KERNEL] = "kernel",
                                        [LULL_OPERATION_COPY] = "copy",
                                        [LULL_OPERATION_EXCHANGE] = "ncclDevKernel_AllReduce"};
    static const uint8_t region_of[] = {[LULL_OPERATION_KERNEL] = KERNEL,
                                        [LULL_OPERATION_COPY] = COPY,
                                        [LULL_OPERATION_EXCHANGE] = EXCHANGE};
    uint32_t rows = 0;
    for (unsigned kind = 0; kind < LULL_OPERATION_KINDS; kind++) {
        int64_t lengths[MOST_OPERATIONS], delays[MOST_OPERATIONS], ns = 0;
        uint64_t n = 0, n_delays = 0, bytes = 0;
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            if (of->region != region_of[kind] || of->end == INT64_MAX)
                continue;
            lengths[n++] = of->end - of->begin;
            ns += of->end - of->begin;
            bytes += of->bytes;
            if (of->told)
                delays[n_delays++] = of->begin - of->called;
        }
        for (uint32_t r = 0; r < breakdown->n_operations; r++) {
            const struct lull_operation_breakdown *row = &breakdown->operations[r];
            assert_true(r == 0 || row->ns <= row[-1].ns);
            if (row->kind != kind)
                continue;
            rows++;
            assert_string_equal(row->name, kinds[kind]);
            assert_int_equal(row->count, n);
            assert_int_equal(row->ns, ns);
            assert_int_equal(row->bytes, bytes);
            assert_int_equal(row->n_delays, n_delays);
            check_lengths(&row->length, lengths, n);
            check_lengths(&row->delay, delays, n_delays);
            assert_string_equal(row->call, "cudaLaunchKernel");
            assert_int_equal(row->n_from_there, n);
            branch_reach(&branches[DELAYED], n_delays > 0);
            n = 0;
        }
        assert_int_equal(n, 0);
    }
    assert_int_equal(rows, breakdown->n_operations);
    for (uint32_t s = 0; s < breakdown->n_streams; s++) {
        const struct lull_stream_breakdown *stream = &breakdown->streams[s];
        for (unsigned kind = 0; kind < LULL_OPERATION_KINDS; kind++) {
            uint64_t n = 0, bytes = 0;
            int64_t ns = 0;
            for (uint32_t i = 0; i < drawn->n_operations; i++) {
                const struct operation *of = &drawn->operations[i];
                const struct lull_location *at = &drawn->made.trace->locations[of->stream];
                if (of->region != region_of[kind] || of->end == INT64_MAX ||
                    of->process != stream->rank || at->number != stream->number)
                    continue;
                n++;
                ns += of->end - of->begin;
                bytes += of->bytes;
            }
            assert_int_equal(stream->kinds[kind].count, n);
            assert_int_equal(stream->kinds[kind].ns, ns);
            assert_int_equal(stream->kinds[kind].bytes, bytes);
        }
    }
}

static void check_waits(const struct lull_breakdown *breakdown, const struct lost_behind *behind)
{
    uint32_t rows = 0;
    for (uint32_t r = 0; r < breakdown->n_device_waits; r++) {
        const struct lull_device_wait_breakdown *row = &breakdown->device_waits[r];
        uint32_t region = 0;
        while (strcmp(regions[region].name, row->operation) != 0)
            region++;
        assert_string_equal(row->call, "cudaStreamSynchronize");
        assert_int_equal(row->n_gaps, behind->n[region]);
        for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
            assert_int_equal(row->lost_ns[loss], behind->all[region][loss]);
        assert_int_equal(row->longest.ns, behind->most[region]);
        assert_true(row->longest.end - row->longest.begin >= row->longest.ns);
    }
    for (uint32_t region = 0; region < REGIONS; region++)
        rows += behind->n[region] > 0;
    assert_int_equal(breakdown->n_device_waits, rows);
}

static void check_one(struct lull_random *random, bool windowed)
{
    struct drawn *drawn = calloc(1, sizeof *drawn);
    assert_non_null(drawn);
    draw(random, windowed, drawn);
    const struct lull_reading reading = {.windows = drawn->windows};
    const struct lull_breakdown_options wanted = {.reading = &reading, .operations = true};
    struct lull_breakdown *breakdown =
        feed_breakdown(random, &drawn->made, &wanted, drawn->made.trace->arena);
    struct lost_before before = {0};
    struct lost_behind behind = {0};
    for (uint32_t d = 0; d < breakdown->n_devices; d++) {
        const uint32_t device = strcmp(breakdown->devices[d].id, "pci:1") == 0 ? 0 : 1;
        check_device(drawn, device, &breakdown->devices[d], &before, &behind);
        check_held(drawn, device, &breakdown->devices[d], &before);
    }
    check_waits(breakdown, &behind);
    for (uint32_t r = 0; r < breakdown->n_operations; r++) {
        uint32_t region = 0;
        while (strcmp(regions[region].name, breakdown->operations[r].name) != 0)
            region++;
        for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES; loss++)
            assert_int_equal(breakdown->operations[r].lost_ns[loss], before.all[region][loss]);
        for (unsigned hold = 0; hold < LULL_DEVICE_HOLDS; hold++) {
            const struct lull_device_gap *longest = &breakdown->operations[r].longest_held[hold];
            assert_int_equal(breakdown->operations[r].held_ns[hold], before.held[region][hold]);
            assert_int_equal(longest->ns, before.most_held[region][hold]);
            assert_true(longest->end - longest->begin >= longest->ns);
        }
        for (unsigned loss = 0; loss < LULL_DEVICE_LOSSES && !windowed; loss++) {
            const struct lull_device_gap *longest = &breakdown->operations[r].longest[loss];
            assert_int_equal(longest->ns, before.most[region][loss]);
            assert_true(longest->end - longest->begin >= longest->ns);
        }
    }
    assert_true(breakdown->n_devices > 0);
    if (!windowed)
        check_operations(drawn, breakdown);
    random_trace_free(&drawn->made);
    free(drawn);
}

static void test_against_reference(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(400);
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i & 1);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_devices)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_reference)};
    return run_cases(tests, NULL, NULL);
}
