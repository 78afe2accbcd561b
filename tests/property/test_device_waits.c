/* What keeps threads in calls that wait for devices, and devices that run nothing (wait/device_wait.h), of drawn runs of 1 to 3 processes whose threads
 * compute, launch kernels and exchanges, wait for operations and streams, and meet at barriers of MPI; half of the runs are
 * seen through windows. A slow reference asks at every nanosecond of a wait, by itself, what keeps it there. Each row, with
 * its ns, its number of waits and its longest wait, and the sums of each thread are compared. */
#include "activity/pass.h"
#include "metrics/windows.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/drawn_team.h"
#include "support/memory_trace.h"
#include "support/random_windows.h"
#include "support/seed.h"
#include "support/test.h"
#include "wait/device_wait.h"
#include "wait/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DURATION = 1500, PROCESSES = 3, THREADS = 2, STREAMS = 3, COMMS = 1, BARRIERS = 4 };
enum { LOCATIONS = THREADS + STREAMS + COMMS, MOST_OPERATIONS = 300, MOST_EXCHANGES = 40 };
enum { MOST_CALLS = 100, MOST_ROWS = 4000 };

enum region {
    WORK,
    MORE_WORK,
    BARRIER,
    LAUNCH,
    MALLOC,
    WAIT,
    KERNEL,
    COPY,
    EXCHANGE,
    ALLREDUCE,
    BROADCAST,
    REGIONS,
    NO_REGION, /* in no region, or a pause */
    PAUSE
};

enum {
    HOPS = LULL_DEVICE_CAUSES,
    LATE_RANK,
    LATE_ROOT,
    SEVERAL_STREAMS,
    ITS_OWN_COPY,
    OTHER_THREAD,
    NEEDS_ANOTHER,
    BRANCHES
};
static struct branch branches[BRANCHES] = {
    [LULL_DEVICE_CAUSE_RAN] = {.what = "an operation runs", .least = 300},
    [LULL_DEVICE_CAUSE_LAUNCH] = {.what = "a launch takes time", .least = 300},
    [LULL_DEVICE_CAUSE_HOST] = {.what = "a thread computes before it submits", .least = 100},
    [LULL_DEVICE_CAUSE_OTHER_RANK] = {.what = "a thread waits for another rank before it submits",
                                      .least = 40},
    [LULL_DEVICE_CAUSE_MPI] = {.what = "a thread is in MPI before it submits", .least = 20},
    [LULL_DEVICE_CAUSE_RUNTIME] = {.what = "a thread is in the runtime before it submits",
                                   .least = 50},
    [LULL_DEVICE_CAUSE_RETURN] = {.what = "a call returns", .least = 300},
    [LULL_DEVICE_CAUSE_NOT_KNOWN] = {.what = "a cause is not known", .least = 300},
    [HOPS] = {.what = "the thread that submits waits for a device itself", .least = 30},
    [LATE_RANK] = {.what = "an exchange waits for another rank", .least = 200},
    [LATE_ROOT] = {.what = "an exchange waits for its root", .least = 50},
    [SEVERAL_STREAMS] = {.what = "a call waits for several streams", .least = 300},
    [ITS_OWN_COPY] = {.what = "a call waits for what it submits", .least = 300},
    [OTHER_THREAD] = {.what = "another thread submitted what a thread waits for", .least = 300},
    [NEEDS_ANOTHER] = {.what = "an operation needs one of another stream", .least = 30},
};

struct operation {
    int64_t called, begin,
        end; /* end INT64_MAX: after the end of the run, which does not have it */
    int64_t seen_begin, seen_end;           /* inside the windows; seen_end 0: it is not seen */
    uint32_t process, thread, stream, call; /* thread and stream: locations; call: region */
    uint32_t other;                         /* that it needs; LULL_NONE: none */
    uint32_t exchange;                      /* LULL_NONE: none */
    uint8_t region, pieces;                 /* pieces: into which windows cut it */
    bool told, numbered;
};

struct exchange {
    uint32_t operations[PROCESSES]; /* LULL_NONE: the process does not take part */
    int64_t told_at[PROCESSES];
    uint32_t
        last[PROCESSES]; /* operation for which each waits; LULL_NONE: the run does not tell it */
};

struct call {
    int64_t begin, end;
    uint32_t region;
    uint32_t n_awaited;
    struct {
        uint32_t operation, stream; /* LULL_NONE: it is the other one */
    } awaited[2];
};

struct drawn {
    struct lull_trace *trace;
    struct lull_windows *windows;
    struct operation operations[MOST_OPERATIONS];
    struct exchange exchanges[MOST_EXCHANGES];
    struct call calls[PROCESSES * THREADS][MOST_CALLS]; /* those that wait */
    uint32_t n_operations, n_calls[PROCESSES * THREADS], n_exchanges[PROCESSES];
    uint8_t where[PROCESSES * THREADS][DURATION]; /* enum region */
    int64_t barriers[PROCESSES][BARRIERS][2];
    uint32_t n_barriers[PROCESSES];
};

static uint32_t below(struct lull_random *random, uint32_t n)
{
    return (uint32_t)lull_random_below(random, n);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint32_t thread_location(uint32_t t)
{
    return t / THREADS * LOCATIONS + t % THREADS;
}

static uint32_t thread_index(uint32_t location)
{
    return location / LOCATIONS * THREADS + location % LOCATIONS;
}

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

/* ---- the run --------------------------------------------------------------------------------- */

static void define(struct lull_random *random, struct drawn *drawn)
{
    static const struct lull_region regions[REGIONS] = {
        [WORK] = {.name = "work", .user = true},
        [MORE_WORK] = {.name = "more work", .user = true},
        [BARRIER] = {.name = "MPI_Barrier",
                     .paradigm = LULL_PARADIGM_MPI,
                     .activity = LULL_MPI_COLLECTIVE,
                     .collective = LULL_COLLECTIVE_BARRIER},
        [LAUNCH] = {.name = "cudaLaunchKernel", .activity = LULL_DEVICE},
        [MALLOC] = {.name = "cudaMalloc", .activity = LULL_DEVICE},
        [WAIT] = {.name = "cudaStreamSynchronize",
                  .role = LULL_ROLE_BARRIER,
                  .activity = LULL_DEVICE},
        [KERNEL] = {.name = "kernel", .role = LULL_ROLE_KERNEL, .activity = LULL_USEFUL},
        [COPY] = {.name = "copy", .role = LULL_ROLE_DATA_TRANSFER, .activity = LULL_DEVICE},
        [EXCHANGE] = {.name = "ncclDevKernel_AllReduce",
                      .role = LULL_ROLE_KERNEL,
                      .activity = LULL_USEFUL},
        [ALLREDUCE] = {.name = "ncclAllReduce RING LL",
                       .role = LULL_ROLE_DATA_TRANSFER,
                       .activity = LULL_DEVICE},
        [BROADCAST] = {.name = "ncclBroadcast RING LL",
                       .role = LULL_ROLE_DATA_TRANSFER,
                       .activity = LULL_DEVICE}};
    struct lull_trace *trace = drawn->trace = memory_trace_create();
    struct lull_arena *arena = trace->arena;
    trace->duration = DURATION;
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(arena, REGIONS, sizeof *trace->regions);
    for (uint32_t r = 0; r < REGIONS; r++) {
        trace->regions[r] = regions[r];
        trace->regions[r].file = trace->regions[r].site = "";
        trace->regions[r].whole = LULL_NONE;
        if (r >= LAUNCH)
            trace->regions[r].paradigm = LULL_PARADIGM_DEVICE;
    }
    trace->n_processes = 1 + below(random, PROCESSES);
    trace->n_devices = PROCESSES + COMMS;
    trace->devices = lull_arena_zero(arena, trace->n_devices, sizeof *trace->devices);
    for (uint32_t d = 0; d < PROCESSES; d++)
        trace->devices[d] =
            (struct lull_device){"GPU", "CUDA", lull_arena_printf(arena, "pci:%u", d), LULL_NONE};
    trace->devices[PROCESSES] = (struct lull_device){
        lull_arena_printf(arena, "communicator of %u ranks", trace->n_processes), "NCCL", "nccl:0",
        LULL_NONE};
    trace->processes = lull_arena_zero(arena, PROCESSES, sizeof *trace->processes);
    trace->locations =
        lull_arena_zero(arena, (size_t)PROCESSES * LOCATIONS, sizeof *trace->locations);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        trace->processes[p] = (struct lull_process){.name = "process",
                                                    .rank = p,
                                                    .node = LULL_NONE,
                                                    .first_location = trace->n_locations,
                                                    .n_threads = THREADS,
                                                    .n_locations = LOCATIONS};
        for (uint32_t i = 0; i < LOCATIONS; i++) {
            struct lull_location *location = &trace->locations[trace->n_locations++];
            const bool stream = i >= THREADS;
            *location =
                (struct lull_location){.name = "location",
                                       .process = p,
                                       .number = stream ? i - THREADS : i,
                                       .source_id = p * LOCATIONS + i,
                                       .kind = stream ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
                                       .role = i == 0 ? LULL_THREAD_MASTER : LULL_THREAD_FREE};
            if (!stream)
                continue;
            location->stream = lull_arena_zero(arena, 1, sizeof *location->stream);
            location->stream->device = i >= THREADS + STREAMS ? PROCESSES
                                       : below(random, 4)     ? p
                                                              : 0;
            location->stream->in_order = below(random, 8) > 0;
        }
        trace->locations[trace->n_locations - 1].name = lull_arena_printf(arena, "rank %u", p);
    }
    memory_trace_world(trace, trace->n_processes);
    if (below(random, 2))
        drawn->windows = random_windows_draw(random, trace);
}

static struct operation *submit(struct lull_random *random, struct drawn *drawn, uint32_t t,
                                int64_t called, uint32_t call, uint8_t region)
{
    const uint32_t p = t / THREADS, i = drawn->n_operations;
    if (i == MOST_OPERATIONS)
        return NULL;
    struct operation *of = &drawn->operations[drawn->n_operations++];
    *of = (struct operation){.called = called,
                             .process = p,
                             .thread = thread_location(t),
                             .stream = p * LOCATIONS + THREADS + below(random, STREAMS),
                             .call = call,
                             .other = LULL_NONE,
                             .exchange = LULL_NONE,
                             .region = region,
                             .told = below(random, 12) > 0,
                             .numbered = true};
    if (!of->told)
        of->numbered = below(random, 2);
    const uint32_t other = i > 0 && below(random, 3) == 0 ? below(random, i) : LULL_NONE;
    if (other != LULL_NONE && drawn->operations[other].process == p)
        of->other = other;
    return of;
}

/* The master of a process launches its part in the next exchange. */
static void exchange(struct lull_random *random, struct drawn *drawn, uint32_t t, int64_t called)
{
    const uint32_t p = t / THREADS, e = drawn->n_exchanges[p];
    if (e == MOST_EXCHANGES)
        return;
    struct operation *of = submit(random, drawn, t, called, LAUNCH, EXCHANGE);
    if (!of)
        return;
    of->exchange = e;
    of->told = of->numbered = true;
    drawn->n_exchanges[p]++;
    drawn->exchanges[e].operations[p] = (uint32_t)(of - drawn->operations);
    drawn->exchanges[e].told_at[p] = below(random, 10) ? called : -1;
}

static void draw_wait(struct lull_random *random, struct drawn *drawn, uint32_t t, int64_t begin,
                      int64_t end)
{
    const uint32_t p = t / THREADS;
    const bool copies = below(random, 3) == 0;
    struct call *call = &drawn->calls[t][drawn->n_calls[t]++];
    *call = (struct call){.begin = begin, .end = end, .region = WAIT};
    if (copies)
        submit(random, drawn, t, begin, WAIT, COPY);
    call->n_awaited = 1 + below(random, 2);
    for (uint32_t i = 0; i < call->n_awaited; i++) {
        call->awaited[i].operation = LULL_NONE;
        call->awaited[i].stream = p * LOCATIONS + THREADS + below(random, STREAMS);
        if (drawn->n_operations == 0 || below(random, 2))
            continue;
        const uint32_t of = copies ? drawn->n_operations - 1 : below(random, drawn->n_operations);
        if (drawn->operations[of].process != p)
            continue;
        call->awaited[i].operation = of;
        call->awaited[i].stream = LULL_NONE;
    }
}

static void put_where(struct drawn *drawn, uint32_t t, int64_t begin, int64_t end, uint8_t where)
{
    memset(&drawn->where[t][begin], where, (size_t)(end - begin));
}

static void draw_thread(struct lull_random *random, struct drawn *drawn, uint32_t t)
{
    const uint32_t p = t / THREADS;
    put_where(drawn, t, 0, DURATION, NO_REGION);
    for (int64_t now = below(random, 40); now < DURATION;) {
        const int64_t end = least(now + 1 + below(random, 40), DURATION);
        const uint32_t what = below(random, 12);
        uint8_t where = NO_REGION;
        if (what < 2) {
            where = (uint8_t)(WORK + what);
        } else if (what < 5) {
            where = LAUNCH;
            submit(random, drawn, t, now, LAUNCH, KERNEL);
        } else if (what == 5 || what == 6) {
            where = t % THREADS == 0 ? LAUNCH : MALLOC;
            if (where == LAUNCH)
                exchange(random, drawn, t, now);
        } else if (what < 10 && drawn->n_calls[t] < MOST_CALLS) {
            where = WAIT;
            draw_wait(random, drawn, t, now, end);
        } else if (what == 10 && t % THREADS == 0 && drawn->n_barriers[p] < BARRIERS) {
            where = BARRIER;
            drawn->barriers[p][drawn->n_barriers[p]][0] = now;
            drawn->barriers[p][drawn->n_barriers[p]++][1] = end;
        } else if (what == 11) {
            where = PAUSE;
        }
        put_where(drawn, t, now, end, where);
        now = end + (below(random, 3) ? 0 : below(random, 20));
    }
}

/* Operations of a stream run one after the other, in the order of their calls. An exchange ends behind the begin of its
 * last rank. */
static void draw_streams(struct lull_random *random, struct drawn *drawn)
{
    int64_t latency[MOST_OPERATIONS], length[MOST_OPERATIONS];
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        latency[i] = below(random, 3) ? below(random, 20) : 0;
        length[i] = 1 + below(random, 40);
        drawn->operations[i].begin = drawn->operations[i].end = -1;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            struct operation *of = &drawn->operations[i];
            int64_t begin = of->called, last = 0;
            if (of->end >= 0)
                continue;
            for (uint32_t o = 0; o < drawn->n_operations && begin >= 0; o++) {
                const struct operation *other = &drawn->operations[o];
                if (other->stream == of->stream &&
                    (other->called < of->called || (other->called == of->called && o < i)))
                    begin = other->end < 0 ? -1 : most(begin, other->end);
            }
            if (begin < 0)
                continue;
            more |= of->begin < 0;
            of->begin = begin + latency[i];
            last = of->begin;
            const struct exchange *exchange =
                of->exchange == LULL_NONE ? NULL : &drawn->exchanges[of->exchange];
            for (uint32_t p = 0; exchange && p < drawn->trace->n_processes && last >= 0; p++)
                if (exchange->operations[p] != LULL_NONE) {
                    const int64_t other = drawn->operations[exchange->operations[p]].begin;
                    last = other < 0 ? -1 : most(last, other);
                }
            if (last < 0)
                continue;
            of->end = last + length[i];
            more = true;
        }
    }
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        struct operation *of = &drawn->operations[i];
        assert_true(of->end >= 0);
        if (of->end > DURATION)
            of->end = INT64_MAX;
        for (int64_t time = of->begin; of->end < INT64_MAX && time < of->end; time++) {
            if (!in_window(drawn, of->process, time))
                continue;
            of->pieces += of->seen_end < time || of->pieces == 0;
            of->seen_begin = of->seen_end == 0 ? time : of->seen_begin;
            of->seen_end = time + 1;
        }
    }
}

/* ---- its events ------------------------------------------------------------------------------ */

static void add(struct drawn *drawn, uint32_t location, unsigned kind, int64_t time, uint32_t id)
{
    const struct lull_event event = memory_event(time, kind, id);
    memory_trace_add(drawn->trace, location, &event);
}

static void add_reference(struct drawn *drawn, uint32_t location, unsigned kind, int64_t time,
                          uint32_t id, uint64_t number, uint32_t of, uint64_t other)
{
    struct lull_event event = memory_event(time, kind, id);
    event.operation.number = number;
    event.operation.location = of;
    event.operation.other = other; /* or bytes */
    event.operation.peer = LULL_ANY;
    event.operation.sequence = LULL_NO_SEQUENCE;
    memory_trace_add(drawn->trace, location, &event);
}

static void tell_call(struct drawn *drawn, uint32_t t, int64_t begin, int64_t end)
{
    const uint32_t location = thread_location(t), region = drawn->where[t][begin];
    const struct lull_event event = memory_span(begin, LULL_EVENT_CALL, region, end - begin);
    memory_trace_add(drawn->trace, location, &event);
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (of->thread != location || of->called != begin || !of->told)
            continue;
        add_reference(drawn, location, LULL_EVENT_SUBMIT, begin, LULL_NONE, 1 + i, of->stream, 0);
        if (of->other != LULL_NONE)
            add_reference(drawn, location, LULL_EVENT_DEPEND, begin, LULL_NONE, 1 + i, LULL_NONE,
                          1 + of->other);
        if (of->exchange != LULL_NONE && drawn->exchanges[of->exchange].told_at[of->process] >= 0)
            add_reference(drawn, location, LULL_EVENT_SUBMIT, begin, LULL_NONE,
                          1 + MOST_OPERATIONS + of->exchange,
                          of->process * LOCATIONS + THREADS + STREAMS, 0);
    }
    for (uint32_t c = 0; c < drawn->n_calls[t]; c++) {
        const struct call *call = &drawn->calls[t][c];
        for (uint32_t i = 0; call->begin == begin && i < call->n_awaited; i++)
            add_reference(drawn, location, LULL_EVENT_DEVICE_WAIT, begin, LULL_NONE,
                          call->awaited[i].operation == LULL_NONE ? 0
                                                                  : 1 + call->awaited[i].operation,
                          call->awaited[i].stream, 0);
    }
}

static void tell_barrier(struct drawn *drawn, uint32_t t, int64_t begin, int64_t end)
{
    struct lull_event event = memory_event(end, LULL_EVENT_COLLECTIVE_END, 0);
    event.op = LULL_COLLECTIVE_BARRIER;
    event.collective.request = LULL_NO_REQUEST;
    event.collective.root = LULL_ANY;
    add(drawn, thread_location(t), LULL_EVENT_ENTER, begin, BARRIER);
    memory_trace_add(drawn->trace, thread_location(t), &event);
    add(drawn, thread_location(t), LULL_EVENT_LEAVE, end, BARRIER);
}

/* Two calls of the same function, one right behind the other, are told apart by what they submit or wait for. */
static bool begins_call(const struct drawn *drawn, uint32_t t, int64_t time)
{
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        if (drawn->operations[i].thread == thread_location(t) &&
            drawn->operations[i].called == time)
            return true;
    for (uint32_t c = 0; c < drawn->n_calls[t]; c++)
        if (drawn->calls[t][c].begin == time)
            return true;
    for (uint32_t b = 0; t % THREADS == 0 && b < drawn->n_barriers[t / THREADS]; b++)
        if (drawn->barriers[t / THREADS][b][0] == time)
            return true;
    return false;
}

static void tell_thread(struct drawn *drawn, uint32_t t)
{
    const uint32_t location = thread_location(t);
    const uint8_t *where = drawn->where[t];
    add(drawn, location, LULL_EVENT_THREAD_BEGIN, 0, LULL_NONE);
    for (int64_t begin = 0, end; begin < DURATION; begin = end) {
        for (end = begin + 1;
             end < DURATION && where[end] == where[begin] && !begins_call(drawn, t, end);)
            end++;
        if (where[begin] == PAUSE) {
            add(drawn, location, LULL_EVENT_MEASURE_OFF, begin, LULL_NONE);
            add(drawn, location, LULL_EVENT_MEASURE_ON, end, LULL_NONE);
        } else if (where[begin] == BARRIER) {
            tell_barrier(drawn, t, begin, end);
        } else if (where[begin] < REGIONS) {
            tell_call(drawn, t, begin, end);
        }
    }
    add(drawn, location, LULL_EVENT_THREAD_END, DURATION, LULL_NONE);
}

static void tell_stream(struct drawn *drawn, uint32_t stream)
{
    for (int64_t time = 0; time < DURATION; time++)
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            if (of->stream != stream || of->begin != time || of->end == INT64_MAX)
                continue;
            const struct lull_event event =
                memory_span(time, LULL_EVENT_CALL, of->region, of->end - of->begin);
            memory_trace_add(drawn->trace, stream, &event);
            add_reference(drawn, stream, LULL_EVENT_OPERATION, time, of->call,
                          of->numbered ? 1 + i : 0, of->thread, 0);
        }
}

/* Every third exchange is a Broadcast. The root; LULL_NONE: there is none. */
static uint32_t root_of(const struct drawn *drawn, uint32_t e)
{
    return e % 3 == 2 ? e % drawn->trace->n_processes : LULL_NONE;
}

/* The operations of the communicator, as moments. */
static void tell_communicator(struct drawn *drawn, uint32_t p)
{
    const uint32_t stream = p * LOCATIONS + THREADS + STREAMS;
    for (uint32_t e = 0; e < drawn->n_exchanges[p]; e++) {
        if (drawn->exchanges[e].told_at[p] < 0)
            continue;
        const uint32_t root = root_of(drawn, e), region = root == LULL_NONE ? ALLREDUCE : BROADCAST;
        const struct lull_event event = memory_span(3 * e, LULL_EVENT_CALL, region, 1);
        memory_trace_add(drawn->trace, stream, &event);
        struct lull_event of = memory_event(3 * e, LULL_EVENT_OPERATION, LULL_NONE);
        of.operation.number = 1 + MOST_OPERATIONS + e;
        of.operation.location = p * LOCATIONS;
        of.operation.bytes = 8;
        of.operation.peer = root == LULL_NONE ? LULL_ANY : (int32_t)root;
        of.operation.sequence = e;
        memory_trace_add(drawn->trace, stream, &of);
    }
}

static void draw(struct lull_random *random, struct drawn *drawn)
{
    memset(drawn->exchanges, 0xff, sizeof drawn->exchanges);
    define(random, drawn);
    const uint32_t n = drawn->trace->n_processes;
    for (uint32_t t = 0; t < n * THREADS; t++)
        draw_thread(random, drawn, t);
    draw_streams(random, drawn);
    for (uint32_t t = 0; t < n * THREADS; t++)
        tell_thread(drawn, t);
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t s = 0; s < STREAMS; s++)
            tell_stream(drawn, p * LOCATIONS + THREADS + s);
        tell_communicator(drawn, p);
    }
}

/* ---- what the run tells of exchanges --------------------------------------------------------- */

/* Whether the run tells which kernel of a process carries out an exchange. */
static bool is_told(const struct drawn *drawn, uint32_t e, uint32_t p)
{
    const struct exchange *exchange = &drawn->exchanges[e];
    const uint32_t i = exchange->operations[p];
    return i != LULL_NONE && exchange->told_at[p] >= 0 && in_window(drawn, p, 3 * e) &&
           drawn->operations[i].pieces == 1;
}

static void find_all(const struct drawn *drawn, uint32_t e, struct exchange *exchange)
{
    const uint32_t n = drawn->trace->n_processes;
    int64_t begun = -1, ended = INT64_MAX;
    uint32_t last = LULL_NONE;
    bool known = true;
    for (uint32_t p = 0; p < n && known; p++) {
        const uint32_t i = exchange->operations[p];
        known = is_told(drawn, e, p);
        if (!known)
            break;
        if (drawn->operations[i].seen_begin > begun)
            last = i;
        begun = most(begun, drawn->operations[i].seen_begin);
        ended = least(ended, drawn->operations[i].seen_end);
    }
    for (uint32_t p = 0; p < n; p++)
        exchange->last[p] = known && begun < ended ? last : LULL_NONE;
}

static void find_rooted(const struct drawn *drawn, uint32_t e, uint32_t root,
                        struct exchange *exchange)
{
    for (uint32_t p = 0; p < drawn->trace->n_processes; p++) {
        exchange->last[p] = LULL_NONE;
        if (!is_told(drawn, e, p) || !is_told(drawn, e, root))
            continue;
        const uint32_t own = exchange->operations[p], from = exchange->operations[root];
        const int64_t begun = drawn->operations[from].seen_begin;
        if (p != root && begun >= drawn->operations[own].seen_end)
            continue;
        exchange->last[p] = begun > drawn->operations[own].seen_begin ? from : own;
    }
}

static void find_exchanges(struct drawn *drawn)
{
    for (uint32_t e = 0; e < MOST_EXCHANGES; e++) {
        const uint32_t root = root_of(drawn, e);
        if (root == LULL_NONE)
            find_all(drawn, e, &drawn->exchanges[e]);
        else
            find_rooted(drawn, e, root, &drawn->exchanges[e]);
    }
}

/* ---- the reference --------------------------------------------------------------------------- */

struct row {
    uint32_t key[10]; /* as the members of struct lull_device_charge, in their order */
    int64_t ns, longest, longest_begin;
    uint32_t longest_location;
    uint64_t waits, last;
};

struct expected {
    struct row rows[MOST_ROWS];
    uint32_t n_rows;
    int64_t sums[PROCESSES * LOCATIONS][LULL_DEVICE_CAUSES];
    uint64_t n_waits;
};

/* What keeps an operation at a moment; of NULL: not known. */
struct cause {
    uint32_t cause, region, other;
    const struct operation *of;
};

static bool is_seen(const struct operation *of)
{
    return of->seen_end > 0;
}

static int64_t submitted(const struct operation *of)
{
    return of->told && of->numbered ? of->called : -1;
}

/* Operations in the order in which they are kept: by stream, then by begin. */
static bool is_before(const struct operation *a, const struct operation *b)
{
    return a->stream != b->stream ? a->stream < b->stream : a->begin < b->begin;
}

static const struct operation *find_operation(const struct drawn *drawn, uint32_t i)
{
    return drawn->operations[i].numbered && is_seen(&drawn->operations[i]) ? &drawn->operations[i]
                                                                           : NULL;
}

enum awaits { AWAITS_IT, AWAITS_NOTHING, AWAITS_UNKNOWN };

static enum awaits find_awaited(const struct drawn *drawn, const struct call *call, uint32_t i,
                                const struct operation **ret_of)
{
    *ret_of = NULL;
    if (call->awaited[i].operation != LULL_NONE) {
        *ret_of = find_operation(drawn, call->awaited[i].operation);
        if (!*ret_of || submitted(*ret_of) > call->begin) {
            *ret_of = NULL;
            return AWAITS_UNKNOWN;
        }
        return AWAITS_IT;
    }
    for (uint32_t o = 0; o < drawn->n_operations; o++) {
        const struct operation *of = &drawn->operations[o];
        if (of->stream == call->awaited[i].stream && is_seen(of) && submitted(of) >= 0 &&
            submitted(of) <= call->begin && (!*ret_of || of->seen_end > (*ret_of)->seen_end))
            *ret_of = of;
    }
    return *ret_of ? AWAITS_IT : AWAITS_NOTHING;
}

static enum awaits find_last_awaited(const struct drawn *drawn, const struct call *call,
                                     const struct operation **ret_of)
{
    enum awaits all = AWAITS_NOTHING;
    *ret_of = NULL;
    for (uint32_t i = 0; i < call->n_awaited; i++) {
        const struct operation *of;
        const enum awaits awaits = find_awaited(drawn, call, i, &of);
        if (of && (!*ret_of || of->seen_end > (*ret_of)->seen_end))
            *ret_of = of;
        all = awaits == AWAITS_UNKNOWN ? AWAITS_UNKNOWN : all;
    }
    return *ret_of ? AWAITS_IT : all;
}

static const struct call *call_at(const struct drawn *drawn, uint32_t t, int64_t time)
{
    for (uint32_t c = 0; c < drawn->n_calls[t]; c++)
        if (drawn->calls[t][c].begin <= time && time < drawn->calls[t][c].end)
            return &drawn->calls[t][c];
    return NULL;
}

/* For which process the master of a process waits at a moment of a barrier; LULL_NONE: for none. */
static uint32_t waits_for_rank(const struct drawn *drawn, uint32_t p, int64_t time)
{
    const uint32_t n = drawn->trace->n_processes;
    for (uint32_t b = 0; b < drawn->n_barriers[p]; b++) {
        uint32_t last = 0;
        if (time < drawn->barriers[p][b][0] || time >= drawn->barriers[p][b][1])
            continue;
        for (uint32_t q = 0; q < n; q++) {
            if (drawn->n_barriers[q] <= b)
                return LULL_NONE;
            if (drawn->barriers[q][b][0] > drawn->barriers[last][b][0])
                last = q;
        }
        return time < drawn->barriers[last][b][0] ? last : LULL_NONE;
    }
    return LULL_NONE;
}

static struct cause cause_of(const struct drawn *drawn, const struct operation *of, int64_t time,
                             unsigned hops);

/* The thread that submits `of` has not done so. */
static struct cause cause_of_thread(const struct drawn *drawn, const struct operation *of,
                                    int64_t time, unsigned hops)
{
    const uint32_t t = thread_index(of->thread), where = drawn->where[t][time];
    struct cause cause = {LULL_DEVICE_CAUSE_HOST, where < REGIONS ? where : LULL_NONE, LULL_NONE,
                          of};
    if (where == PAUSE || !in_window(drawn, of->process, time))
        return (struct cause){LULL_DEVICE_CAUSE_NOT_KNOWN, LULL_NONE, LULL_NONE, of};
    if (where == BARRIER) {
        cause.other = waits_for_rank(drawn, of->process, time);
        cause.cause =
            cause.other == LULL_NONE ? LULL_DEVICE_CAUSE_MPI : LULL_DEVICE_CAUSE_OTHER_RANK;
    } else if (where == WAIT) {
        const struct operation *awaited;
        cause.cause = LULL_DEVICE_CAUSE_RUNTIME;
        find_last_awaited(drawn, call_at(drawn, t, time), &awaited);
        if (awaited && time < awaited->seen_end) {
            branch_reach(&branches[HOPS], true);
            return cause_of(drawn, awaited, time, hops + 1);
        }
    } else if (where == LAUNCH || where == MALLOC) {
        cause.cause = LULL_DEVICE_CAUSE_RUNTIME;
    }
    return cause;
}

static const struct operation *find_needed(const struct drawn *drawn, const struct operation *of)
{
    const struct operation *needed = NULL;
    for (uint32_t i = 0;
         drawn->trace->locations[of->stream].stream->in_order && i < drawn->n_operations; i++) {
        const struct operation *other = &drawn->operations[i];
        if (other->stream == of->stream && is_seen(other) && other->begin < of->begin &&
            (!needed || other->begin > needed->begin))
            needed = other;
    }
    const struct operation *other = of->told && of->numbered && of->other != LULL_NONE
                                        ? find_operation(drawn, of->other)
                                        : NULL;
    if (other && other->seen_end <= of->seen_begin &&
        (other->seen_begin < of->seen_begin || is_before(other, of)) &&
        (!needed || other->seen_end > needed->seen_end)) {
        branch_reach(&branches[NEEDS_ANOTHER], other->stream != of->stream);
        needed = other;
    }
    return needed;
}

/* What keeps an operation that has not ended at a moment. */
static struct cause cause_of(const struct drawn *drawn, const struct operation *of, int64_t time,
                             unsigned hops)
{
    const struct cause unknown = {LULL_DEVICE_CAUSE_NOT_KNOWN, LULL_NONE, LULL_NONE, of};
    if (hops > WAIT_MOST_HOPS)
        return unknown;
    if (time >= of->seen_begin) {
        const uint32_t last = of->exchange == LULL_NONE
                                  ? LULL_NONE
                                  : drawn->exchanges[of->exchange].last[of->process];
        if (last != LULL_NONE && time < drawn->operations[last].seen_begin) {
            branch_reach(&branches[LATE_RANK], true);
            branch_reach(&branches[LATE_ROOT], root_of(drawn, of->exchange) != LULL_NONE);
            return cause_of(drawn, &drawn->operations[last], time, hops + 1);
        }
        return (struct cause){LULL_DEVICE_CAUSE_RAN, LULL_NONE, LULL_NONE, of};
    }
    if (submitted(of) < 0)
        return unknown;
    const struct operation *needed = find_needed(drawn, of);
    const int64_t ended = needed ? needed->seen_end : 0;
    if (time >= most(ended, submitted(of)))
        return (struct cause){LULL_DEVICE_CAUSE_LAUNCH, LULL_NONE, LULL_NONE, of};
    return submitted(of) >= ended ? cause_of_thread(drawn, of, time, hops)
                                  : cause_of(drawn, needed, time, hops);
}

static struct row *find_row(struct expected *expected, const uint32_t *key)
{
    for (uint32_t i = 0; i < expected->n_rows; i++)
        if (memcmp(expected->rows[i].key, key, sizeof expected->rows[i].key) == 0)
            return &expected->rows[i];
    assert_true(expected->n_rows < MOST_ROWS);
    struct row *row = &expected->rows[expected->n_rows++];
    *row = (struct row){.longest = -1};
    memcpy(row->key, key, sizeof row->key);
    return row;
}

static uint32_t region_of(const struct operation *of)
{
    return of ? of->region : LULL_NONE;
}

/* A ns of a wait, of a location, that lasts from `begin` to `end`. */
static void expect_ns(uint32_t location, const uint32_t *waiter, const struct cause *cause,
                      int64_t begin, int64_t end, struct expected *expected)
{
    const struct operation *of = cause->of;
    const uint32_t key[10] = {waiter[0],
                              waiter[1],
                              waiter[2],
                              cause->cause,
                              region_of(of),
                              of ? of->stream : LULL_NONE,
                              of ? of->call : LULL_NONE,
                              of && submitted(of) >= 0 ? of->thread : LULL_NONE,
                              cause->region,
                              cause->other};
    struct row *row = find_row(expected, key);
    branch_reach(&branches[cause->cause], true);
    row->ns++;
    expected->sums[location][cause->cause]++;
    row->waits += row->last != expected->n_waits;
    row->last = expected->n_waits;
    if (end - begin < row->longest ||
        (end - begin == row->longest &&
         (begin > row->longest_begin ||
          (begin == row->longest_begin && location >= row->longest_location))))
        return;
    row->longest = end - begin;
    row->longest_begin = begin;
    row->longest_location = location;
}

/* A wait as far as it is inside a window. */
static void expect_wait(const struct drawn *drawn, uint32_t t, const struct call *call,
                        int64_t begin, int64_t end, struct expected *expected)
{
    const struct operation *awaited;
    const enum awaits awaits = find_last_awaited(drawn, call, &awaited);
    expected->n_waits++;
    branch_reach(&branches[SEVERAL_STREAMS], call->n_awaited > 1);
    branch_reach(&branches[ITS_OWN_COPY], awaited && awaited->called == call->begin &&
                                              awaited->thread == thread_location(t));
    branch_reach(&branches[OTHER_THREAD], awaited && awaited->thread != thread_location(t));
    for (int64_t time = begin; time < end; time++) {
        struct cause cause = {LULL_DEVICE_CAUSE_RETURN, LULL_NONE, LULL_NONE, awaited};
        if (awaits == AWAITS_UNKNOWN)
            cause.cause = LULL_DEVICE_CAUSE_NOT_KNOWN;
        else if (awaited && time < awaited->seen_end)
            cause = cause_of(drawn, awaited, time, 0);
        const uint32_t waiter[] = {0, call->region, region_of(awaited)};
        expect_ns(thread_location(t), waiter, &cause, begin, end, expected);
    }
}

static void expect_waits(const struct drawn *drawn, struct expected *expected)
{
    for (uint32_t t = 0; t < drawn->trace->n_processes * THREADS; t++)
        for (uint32_t c = 0; c < drawn->n_calls[t]; c++) {
            const struct call *call = &drawn->calls[t][c];
            for (int64_t begin = call->begin, end; begin < call->end; begin = end) {
                const bool inside = in_window(drawn, t / THREADS, begin);
                for (end = begin + 1;
                     end < call->end && in_window(drawn, t / THREADS, end) == inside;)
                    end++;
                if (inside)
                    expect_wait(drawn, t, call, begin, end, expected);
            }
        }
}

/* What the device runs next at a moment in which it runs nothing; NULL: it runs something, or nothing comes. */
static const struct operation *find_next(const struct drawn *drawn, uint32_t device, int64_t time)
{
    const struct operation *next = NULL;
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (drawn->trace->locations[of->stream].stream->device != device || of->seen_end <= time)
            continue;
        if (of->seen_begin <= time)
            return NULL;
        if (!next || of->seen_begin < next->seen_begin ||
            (of->seen_begin == next->seen_begin && of->stream < next->stream))
            next = of;
    }
    return next && in_window(drawn, next->process, time) ? next : NULL;
}

static void expect_gaps(const struct drawn *drawn, uint32_t device, struct expected *expected)
{
    for (int64_t begin = 0, end; begin < DURATION; begin = end) {
        const struct operation *next = find_next(drawn, device, begin);
        for (end = begin + 1; end < DURATION && find_next(drawn, device, end) == next;)
            end++;
        expected->n_waits += next != NULL;
        for (int64_t time = begin; next && time < end; time++) {
            const struct cause cause = cause_of(drawn, next, time, 0);
            const uint32_t waiter[] = {1, LULL_NONE, next->region};
            expect_ns(next->stream, waiter, &cause, begin, end, expected);
        }
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

static struct lull_wait_result follow(const struct drawn *drawn,
                                      const struct lull_division *division)
{
    const struct lull_reading reading = {.windows = drawn->windows,
                                         .division = division,
                                         .range = lull_pass_range(division),
                                         .workers = 1};
    const struct lull_pass_options pass = {.reading = &reading};
    const struct lull_wait_options options = {
        .reading = &reading, .workers = 1, .threads = true, .devices = true};
    struct lull_waits *waits;
    struct lull_wait_result result;
    struct lull_error err;
    fail_if(lull_waits_create(drawn->trace, &options, &waits, &err) != LULL_OK, "%s", err.text);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    fail_if(lull_pass_run(drawn->trace, &pass, &consumer, 1, &err) != LULL_OK, "%s", err.text);
    fail_if(lull_waits_conclude(waits, drawn->trace->arena, &result, &err) != LULL_OK, "%s",
            err.text);
    lull_waits_destroy(waits);
    return result;
}

static void compare(const struct drawn *drawn, const struct lull_wait_result *result,
                    struct expected *expected)
{
    assert_null(result->absent);
    for (uint32_t i = 0; i < result->n_device_charges; i++) {
        const struct lull_device_charge *charge = &result->device_charges[i];
        const uint32_t key[10] = {
            charge->of_device, charge->call,   charge->awaited, charge->cause,  charge->operation,
            charge->stream,    charge->submit, charge->thread,  charge->region, charge->other};
        struct row *row = find_row(expected, key);
        fail_if(
            row->ns != charge->ns,
            "%s: operation %d of stream %d, submitted by thread %d, region %d: %lld ns, expected "
            "%lld",
            lull_device_cause_name(charge->cause), (int)charge->operation, (int)charge->stream,
            (int)charge->thread, (int)charge->region, (long long)charge->ns, (long long)row->ns);
        assert_int_equal(charge->waits, row->waits);
        assert_int_equal(charge->longest.ns, row->longest);
        assert_int_equal(charge->longest.begin, row->longest_begin);
        assert_int_equal(charge->longest.location, row->longest_location);
        assert_true(i == 0 || charge->ns <= charge[-1].ns);
    }
    assert_int_equal(result->n_device_charges, expected->n_rows);
    for (uint32_t l = 0; l < drawn->trace->n_locations; l++)
        for (unsigned cause = 0; cause < LULL_DEVICE_CAUSES; cause++)
            assert_int_equal(result->locations[l].device_ns[cause], expected->sums[l][cause]);
}

static void test_against_reference(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(1600);
    for (unsigned i = 0; i < rounds; i++) {
        struct drawn *drawn = calloc(1, sizeof *drawn);
        struct expected *expected = calloc(1, sizeof *expected);
        assert_non_null(drawn);
        assert_non_null(expected);
        draw(&random, drawn);
        find_exchanges(drawn);
        expect_waits(drawn, expected);
        for (uint32_t d = 0; d < PROCESSES; d++)
            expect_gaps(drawn, d, expected);
        const struct lull_wait_result result = follow(drawn, NULL);
        compare(drawn, &result, expected);
        lull_trace_close(drawn->trace);
        free(expected);
        free(drawn);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* ---- teams ----------------------------------------------------------------------------------- */

static bool is_same_result(const struct drawn *drawn, const struct lull_wait_result *a,
                           const struct lull_wait_result *b)
{
    bool same = a->n_device_charges == b->n_device_charges;
    for (uint32_t i = 0; same && i < a->n_device_charges; i++)
        same = memcmp(&a->device_charges[i], &b->device_charges[i], sizeof *a->device_charges) == 0;
    for (uint32_t l = 0; same && l < drawn->trace->n_locations; l++)
        same = memcmp(&a->locations[l], &b->locations[l], sizeof a->locations[l]) == 0;
    return same;
}

/* 0 where the first of a team finds what one does. */
static int drawn_run_differs(uint64_t seed)
{
    struct lull_random random;
    struct drawn *drawn = calloc(1, sizeof *drawn);
    int wrong = 0;
    if (!drawn)
        return 2;
    lull_random_seed(&random, seed);
    draw(&random, drawn);
    const struct lull_wait_result alone = follow(drawn, NULL);
    struct lull_team *team = drawn_team_open(&random, seed, 2);
    const struct lull_division *division =
        drawn_team_divide(team, drawn->trace->n_processes, &random, drawn->trace->arena);
    const struct lull_wait_result result = follow(drawn, division);
    if (lull_team_is_first(team) && alone.n_device_charges > 0)
        drawn_team_reach(0);
    if (lull_team_is_first(team) && !is_same_result(drawn, &alone, &result)) {
        fprintf(stderr, "seed %lu, team of %u\n", (unsigned long)seed, lull_team_size(team));
        wrong = 1;
    }
    lull_trace_close(drawn->trace);
    free(drawn);
    return lull_team_end(team) ? wrong : 3;
}

static void teams_find_what_one_finds(void **state)
{
    (void)state;
    const unsigned count = drawn_teams_run(drawn_run_differs);
    assert_reached("threads wait for devices", drawn_teams_reached(0), count / 2, count);
}

TEST_GROUP(test_device_waits)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(teams_find_what_one_finds),
                                       cmocka_unit_test(test_against_reference)};
    return run_cases(tests, NULL, NULL);
}
