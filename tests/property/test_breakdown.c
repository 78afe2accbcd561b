/* The breakdown against a slow reference that looks at every nanosecond by itself: which regions,
 * state, flush and window contain it, and what follows from that. */
#include "metrics/breakdown.h"
#include "stats/random.h"
#include "support/branches.h"
#include "support/feed.h"
#include "support/random_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DURATION = 1500, DEPTH = 64, NOTHING = 0xff, DISABLED = 0xfe, OUTSIDE = 0xfd };

enum {
    LEFT_OUT,
    PAUSED,
    FLUSHED,
    DEVICE,
    COUNTED,
    IN_REGIONS,
    IN_PARALLELS,
    DECIDED,
    TOGETHER,
    SHARED,
    BRANCHES
};
static struct branch branches[BRANCHES] = {
    [LEFT_OUT] = {.what = "some time is outside of windows", .least = 300},
    [PAUSED] = {.what = "nothing is recorded for some time", .least = 300},
    [FLUSHED] = {.what = "a buffer is flushed", .least = 300},
    [DEVICE] = {.what = "a device is useful", .least = 300},
    [COUNTED] = {.what = "a counter has counted", .least = 300},
    [IN_REGIONS] = {.what = "time is in regions", .least = 300},
    [IN_PARALLELS] = {.what = "threads are useful in parallel regions", .least = 300},
    [DECIDED] = {.what = "a wait is for a collective operation", .least = 300},
    [TOGETHER] = {.what = "streams of a device compute at the same time", .least = 100},
    [SHARED] = {.what = "processes share a device", .least = 50},
};

/* One nanosecond of one location. */
struct instant {
    uint8_t stack[DEPTH];    /* regions, outermost first */
    uint32_t entered[DEPTH]; /* by which events */
    uint8_t depth;
    uint8_t regions_parallel;
    uint8_t teams;
    uint8_t state;
    bool flush, off, alive, window;
    uint8_t activity;
    uint8_t beneath; /* the activity if there were no windows */
    bool parallel;
};

static struct instant *paint(void)
{
    struct instant *instants = calloc(DURATION, sizeof *instants);
    assert_non_null(instants);
    for (int i = 0; i < DURATION; i++)
        instants[i].state = NOTHING;
    return instants;
}

static void paint_region(struct instant *instants, const struct lull_region *regions, int64_t begin,
                         int64_t end, uint32_t region, uint32_t entered)
{
    for (int64_t t = begin; t < end; t++) {
        assert_true(instants[t].depth < DEPTH);
        instants[t].entered[instants[t].depth] = entered;
        instants[t].stack[instants[t].depth++] = (uint8_t)region;
        instants[t].regions_parallel += regions[region].parallel;
    }
}

/* Regions are painted in the order of entering, which is from the outside to the inside. */
static void paint_regions(struct instant *instants, const struct lull_trace *trace,
                          const struct random_location *location)
{
    for (uint32_t i = 0; i < location->count; i++) {
        const struct lull_event *event = &location->events[i];
        if (event->kind == LULL_EVENT_CALL)
            paint_region(instants, trace->regions, event->time, event->time + event->duration,
                         event->id, i);
        if (event->kind != LULL_EVENT_ENTER)
            continue;
        uint32_t depth = 1, j = i;
        while (depth > 0) {
            j++;
            depth += location->events[j].kind == LULL_EVENT_ENTER;
            depth -= location->events[j].kind == LULL_EVENT_LEAVE;
        }
        paint_region(instants, trace->regions, event->time, location->events[j].time, event->id, i);
    }
}

/* The event that begins the life of the thread. Markers do not: only some readers ask for them. */
static uint32_t first_event(const struct random_location *location)
{
    uint32_t first = 0;
    while (first < location->count && location->events[first].kind == LULL_EVENT_MARKER)
        first++;
    return first;
}

static void paint_rest(struct instant *instants, const struct random_location *location)
{
    const uint32_t first = first_event(location);
    bool alive = false;
    int64_t last = 0;
    for (uint32_t i = 0; i < location->count; i++) {
        const struct lull_event *event = &location->events[i];
        int64_t end = event->time + (event->kind == LULL_EVENT_CALL ? event->duration : 0);
        last = end > last ? end : last;
        alive |= i == first;
        if (event->kind == LULL_EVENT_THREAD_BEGIN || event->kind == LULL_EVENT_THREAD_END)
            alive = event->kind == LULL_EVENT_THREAD_BEGIN;
        for (int64_t t = event->time; t < DURATION; t++) {
            bool within = t < event->time + event->duration;
            instants[t].alive = alive;
            if (event->kind == LULL_EVENT_MEASURE_OFF || event->kind == LULL_EVENT_MEASURE_ON)
                instants[t].off = event->kind == LULL_EVENT_MEASURE_OFF;
            if (event->kind == LULL_EVENT_TEAM_BEGIN)
                instants[t].teams++;
            if (event->kind == LULL_EVENT_TEAM_END)
                instants[t].teams--;
            if (event->kind == LULL_EVENT_FLUSH && within)
                instants[t].flush = true;
            if (event->kind == LULL_EVENT_STATE && within)
                instants[t].state = (uint8_t)event->id;
        }
    }
    for (int64_t t = last; t < DURATION; t++)
        instants[t].alive = false;
}

/* Whether a non-blocking collective operation completes in a wait that was entered by an event, before any other
 * region is entered or left. */
static bool is_collective_wait(const struct lull_trace *trace,
                               const struct random_location *location, uint32_t entered)
{
    const struct lull_event *enter = &location->events[entered];
    if (strcmp(trace->regions[enter->id].name, "MPI_Wait") != 0)
        return false;
    for (uint32_t i = entered + 1; i < location->count; i++) {
        const struct lull_event *event = &location->events[i];
        if (event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_LEAVE ||
            event->kind == LULL_EVENT_CALL ||
            (enter->kind == LULL_EVENT_CALL && event->time > enter->time + enter->duration))
            return false;
        if (event->kind == LULL_EVENT_COLLECTIVE_END &&
            event->collective.request != LULL_NO_REQUEST)
            return true;
    }
    return false;
}

/* What the same region is depends on where it runs: a launch on the host, a kernel on a stream. */
static uint8_t activity_of(const struct lull_region *region, uint8_t kind)
{
    if (strcmp(region->name, "kernel") == 0 || strcmp(region->name, "launch") == 0)
        return kind == LULL_LOCATION_DEVICE ? LULL_USEFUL : LULL_DEVICE;
    return region->activity;
}

static uint8_t decide(const struct lull_trace *trace, const struct lull_location *location,
                      const struct random_location *events, const struct instant *at)
{
    if (at->off)
        return DISABLED;
    uint8_t runtime = NOTHING;
    for (int i = 0; i < at->depth; i++) {
        if (trace->regions[at->stack[i]].user)
            continue;
        const bool collective = is_collective_wait(trace, events, at->entered[i]);
        runtime = collective ? LULL_MPI_COLLECTIVE
                             : activity_of(&trace->regions[at->stack[i]], location->kind);
        branch_reach(&branches[DECIDED], collective);
    }
    if (trace->has_states) {
        uint8_t state = at->state == NOTHING ? NOTHING : trace->states[at->state].activity;
        if (state == LULL_USEFUL)
            return LULL_USEFUL;
        if (at->flush)
            return LULL_FLUSH;
        if (runtime != NOTHING && runtime != LULL_USEFUL)
            return runtime;
        return state == NOTHING ? LULL_OTHER : state;
    }
    if (at->flush)
        return LULL_FLUSH;
    if (runtime != NOTHING)
        return runtime;
    if (location->kind == LULL_LOCATION_DEVICE)
        return LULL_IDLE;
    if (location->role == LULL_THREAD_WORKER)
        return at->parallel ? LULL_USEFUL : LULL_IDLE;
    return at->alive ? LULL_USEFUL : LULL_OTHER;
}

/* The last moment of the run has no window behind it that it could belong to. */
static bool in_windows(const struct lull_windows *windows, uint32_t process, int64_t time)
{
    if (!windows)
        return true;
    for (uint32_t i = 0; i < windows->counts[process]; i++) {
        const struct lull_interval *window = &windows->intervals[process][i];
        if (window->begin <= time &&
            (time < window->end || (time == DURATION && window->end == DURATION)))
            return true;
    }
    return false;
}

static struct instant *look_at(const struct random_trace *made, uint32_t index,
                               const struct lull_windows *windows)
{
    const struct lull_trace *trace = made->trace;
    struct instant *instants = paint();
    paint_regions(instants, trace, &made->locations[index]);
    paint_rest(instants, &made->locations[index]);
    for (int64_t t = 0; t < DURATION; t++) {
        instants[t].window = in_windows(windows, trace->locations[index].process, t);
        instants[t].parallel = instants[t].regions_parallel + instants[t].teams > 0;
        instants[t].beneath =
            decide(trace, &trace->locations[index], &made->locations[index], &instants[t]);
        instants[t].activity = instants[t].window ? instants[t].beneath : OUTSIDE;
    }
    return instants;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static void check_times(const struct instant *instants, const struct lull_thread_breakdown *thread)
{
    const bool device = thread->kind == LULL_LOCATION_DEVICE;
    struct lull_times times = {0};
    int64_t disabled = 0, windows = 0, sum = thread->disabled_ns;
    for (int t = 0; t < DURATION; t++) {
        windows += instants[t].window;
        if (instants[t].activity == DISABLED)
            disabled++;
        else if (instants[t].activity != OUTSIDE)
            times.ns[instants[t].activity][instants[t].parallel]++;
    }
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        for (int parallel = 0; parallel < 2; parallel++) {
            assert_int_equal(times.ns[activity][parallel], thread->times.ns[activity][parallel]);
            sum += thread->times.ns[activity][parallel];
        }
    }
    assert_int_equal(disabled, thread->disabled_ns);
    assert_int_equal(windows, sum);
    branch_reach(&branches[LEFT_OUT], windows < DURATION);
    branch_reach(&branches[PAUSED], disabled > 0);
    branch_reach(&branches[FLUSHED], times.ns[LULL_FLUSH][0] + times.ns[LULL_FLUSH][1] > 0);
    branch_reach(&branches[DEVICE],
                 device && times.ns[LULL_USEFUL][0] + times.ns[LULL_USEFUL][1] > 0);
}

/* What of a reading over [from, to) happened inside windows: nanosecond k of n has
 * value (k + 1) / n - value k / n of it, in integers. */
static uint64_t read_nanoseconds(const struct instant *instants, int64_t from, int64_t to,
                                 uint64_t value)
{
    __int128 number = (int64_t)value;
    uint64_t sum = 0;
    for (int64_t t = from; t < to; t++) {
        if (instants[t].window)
            sum += (uint64_t)(number * (t + 1 - from) / (to - from) -
                              number * (t - from) / (to - from));
    }
    return sum;
}

/* All readings of one counter. */
static void add_readings(const struct instant *instants, const struct random_location *location,
                         uint32_t counter, uint64_t *sums)
{
    const uint32_t first = first_event(location);
    int64_t before = first < location->count ? location->events[first].time : 0;
    for (uint32_t i = 0; i < location->count; i++) {
        const struct lull_event *event = &location->events[i];
        int64_t to = event->time;
        for (uint32_t r = 0; event->kind == LULL_EVENT_COUNTERS && r < event->readings.count; r++) {
            const struct lull_counter_reading *reading = &event->readings.values[r];
            if (reading->counter != counter)
                continue;
            int64_t from = before < to ? before : to - 1;
            before = to;
            if (to > 0 && instants[to - 1].beneath < LULL_ACTIVITIES)
                sums[instants[to - 1].beneath] +=
                    read_nanoseconds(instants, from, to, reading->value);
        }
    }
}

static void check_counters(const struct instant *instants, const struct lull_trace *trace,
                           const struct random_location *location,
                           const struct lull_breakdown *breakdown,
                           const struct lull_thread_breakdown *thread)
{
    for (uint32_t c = 0; c < breakdown->n_counters; c++) {
        uint64_t sums[LULL_ACTIVITIES] = {0};
        for (uint32_t of = 0; of < trace->n_counters; of++) {
            if (strcmp(trace->counters[of].name, breakdown->counters[c].name) == 0)
                add_readings(instants, location, of, sums);
        }
        for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
            assert_true(sums[activity] ==
                        thread->counters[(size_t)c * LULL_ACTIVITIES + (size_t)activity]);
            branch_reach(&branches[COUNTED], sums[activity] > 0);
        }
    }
}

static void add_regions(const struct instant *instants, const struct random_location *location,
                        const struct lull_windows *windows, uint32_t process,
                        struct lull_region_breakdown *sums)
{
    for (uint32_t i = 0; i < location->count; i++) {
        const struct lull_event *event = &location->events[i];
        if (event->kind == LULL_EVENT_ENTER || event->kind == LULL_EVENT_CALL)
            sums[event->id].visits += in_windows(windows, process, event->time);
    }
    for (int t = 0; t < DURATION; t++) {
        const struct instant *at = &instants[t];
        if (at->activity >= LULL_ACTIVITIES || at->depth == 0)
            continue;
        bool seen[256] = {false};
        for (int d = 0; d < at->depth; d++) {
            if (!seen[at->stack[d]])
                sums[at->stack[d]].inclusive_ns++;
            seen[at->stack[d]] = true;
        }
        sums[at->stack[at->depth - 1]].exclusive_ns++;
        sums[at->stack[at->depth - 1]].useful_ns += at->activity == LULL_USEFUL;
    }
}

static void check_regions(const struct lull_trace *trace, const struct lull_region_breakdown *sums,
                          const struct lull_breakdown *breakdown)
{
    uint32_t found = 0;
    for (uint32_t r = 0; r < trace->n_regions; r++) {
        const struct lull_region_breakdown *got = NULL;
        for (uint32_t i = 0; i < breakdown->n_regions; i++) {
            if (strcmp(breakdown->regions[i].name, trace->regions[r].name) == 0 &&
                strcmp(breakdown->regions[i].site, trace->regions[r].site) == 0)
                got = &breakdown->regions[i];
        }
        if (!got) {
            assert_true(sums[r].visits == 0 && sums[r].inclusive_ns == 0);
            continue;
        }
        found++;
        assert_int_equal(got->visits, sums[r].visits);
        assert_int_equal(got->inclusive_ns, sums[r].inclusive_ns);
        assert_int_equal(got->exclusive_ns, sums[r].exclusive_ns);
        assert_int_equal(got->useful_ns, sums[r].useful_ns);
        branch_reach(&branches[IN_REGIONS], got->exclusive_ns > 0);
    }
    assert_int_equal(found, breakdown->n_regions);
}

static void add_instant(const struct instant *at, bool master, int64_t *useful,
                        struct lull_parallel_breakdown *sum)
{
    if (!at->parallel || at->activity >= LULL_ACTIVITIES)
        return;
    sum->duration_ns += master;
    switch (at->activity) {
    case LULL_USEFUL:
        sum->useful_ns++;
        ++*useful;
        break;
    case LULL_OMP_SCHEDULE:
        sum->schedule_ns++;
        break;
    case LULL_OMP_LOCK:
        sum->lock_ns++;
        break;
    case LULL_OMP_SYNC:
        sum->sync_ns++;
        break;
    case LULL_MPI_P2P:
    case LULL_MPI_COLLECTIVE:
    case LULL_MPI_OTHER:
        sum->mpi_ns++;
        break;
    default:
        sum->other_ns++;
    }
}

/* What names an execution of the random trace: region 0 or 1, or where it is a team (each fifth)
 * the first parallel region inside, or 2 for none. */
static uint32_t name_of_execution(const struct random_trace *made, uint32_t process, uint32_t index)
{
    if (index % 5 != 4)
        return index % 3 ? 0 : 1;
    uint32_t master = made->trace->processes[process].first_location, teams = index / 5 + 1;
    for (uint32_t i = 0; i < made->locations[master].count; i++) {
        const struct lull_event *event = &made->locations[master].events[i];
        if (event->kind == LULL_EVENT_TEAM_BEGIN)
            teams--;
        if (teams > 0)
            continue;
        if (event->kind == LULL_EVENT_TEAM_END)
            return 2;
        if (event->kind == LULL_EVENT_ENTER && event->id < RANDOM_PARALLEL_REGIONS)
            return event->id;
    }
    return 2;
}

/* The sums of the executions of one name. */
static struct lull_parallel_breakdown sum_executions(const struct random_trace *made,
                                                     struct instant **instants, uint32_t process,
                                                     uint32_t name,
                                                     const struct lull_windows *windows)
{
    const struct lull_process *it = &made->trace->processes[process];
    struct lull_parallel_breakdown sum = {0};
    for (uint32_t i = 0; i < made->processes[process].count; i++) {
        struct random_execution execution = made->processes[process].executions[i];
        if (name_of_execution(made, process, i) != name)
            continue;
        int64_t max = 0;
        sum.executions += in_windows(windows, process, execution.begin);
        for (uint32_t thread = 0; thread < it->n_threads; thread++) {
            int64_t useful = 0;
            for (int64_t t = execution.begin; t < execution.end; t++)
                add_instant(&instants[it->first_location + thread][t], thread == 0, &useful, &sum);
            max = useful > max ? useful : max;
        }
        sum.max_useful_ns += max;
    }
    return sum;
}

static void check_parallels(const struct random_trace *made, struct instant **instants,
                            const struct lull_windows *windows,
                            const struct lull_breakdown *breakdown)
{
    static const char *const names[] = {"parallel a", "parallel b", "parallel region"};
    uint32_t found = 0;
    for (uint32_t p = 0; p < made->trace->n_processes; p++) {
        for (uint32_t n = 0; n < 3; n++) {
            struct lull_parallel_breakdown want = sum_executions(made, instants, p, n, windows);
            const struct lull_parallel_breakdown *got = NULL;
            for (uint32_t i = 0; i < breakdown->n_parallels; i++) {
                if (breakdown->parallels[i].process == p &&
                    strcmp(breakdown->parallels[i].name, names[n]) == 0)
                    got = &breakdown->parallels[i];
            }
            if (!got) {
                assert_true(want.executions == 0 && want.duration_ns == 0);
                continue;
            }
            found++;
            assert_int_equal(got->executions, want.executions);
            assert_int_equal(got->duration_ns, want.duration_ns);
            assert_int_equal(got->useful_ns, want.useful_ns);
            assert_int_equal(got->max_useful_ns, want.max_useful_ns);
            assert_int_equal(got->schedule_ns, want.schedule_ns);
            assert_int_equal(got->lock_ns, want.lock_ns);
            assert_int_equal(got->sync_ns, want.sync_ns);
            assert_int_equal(got->mpi_ns, want.mpi_ns);
            assert_int_equal(got->other_ns, want.other_ns);
            branch_reach(&branches[IN_PARALLELS], got->max_useful_ns > 0);
        }
    }
    assert_int_equal(found, breakdown->n_parallels);
}

/* ---- devices ------------------------------------------------------------------------------- */

enum { MOST_DEVICES = 16 }; /* in a random trace, at most */

/* Streams of which the tracer tells the device, of which the name tells it, and of which nothing is known. The trace
 * tells two devices, which processes may share, and a communicator of NCCL, which is none. */
static void draw_devices(struct lull_random *random, struct lull_trace *trace)
{
    static const char *const names[] = {"CUDA[0:7]",       "HIP[0:1]",      "CUDA[1:3]",
                                        "CUDA-D1.S2-host", "stream",        "CUDA[?:2]",
                                        "HIP-D1.S1-host",  "GPU-D0.S3",     "GPU_a2f80454.1",
                                        "GPU_a2f80454.2",  "GPU_a2f80454x", "GPU_.1"};
    static const struct lull_device devices[] = {{"one", "CUDA", "pci:1", LULL_NONE},
                                                 {"two", "CUDA", "pci:2", LULL_NONE},
                                                 {"many", "NCCL", "0x1", LULL_NONE}};
    trace->devices = lull_arena_zero(trace->arena, 3, sizeof *trace->devices);
    memcpy(trace->devices, devices, sizeof devices);
    trace->n_devices = 3;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        struct lull_location *location = &trace->locations[l];
        if (location->kind != LULL_LOCATION_DEVICE)
            continue;
        location->name = names[lull_random_below(random, sizeof names / sizeof *names)];
        if (lull_random_below(random, 3) == 0)
            continue;
        location->stream = lull_arena_zero(trace->arena, 1, sizeof *location->stream);
        location->stream->device = (uint32_t)lull_random_below(random, 3);
    }
}

/* The device of a stream, as docs/metrics.md says it; "": none. */
static const char *device_of(const struct lull_trace *trace, uint32_t l, struct lull_arena *arena)
{
    static const struct {
        const char *name;
        int device; /* of its process; -1: the name has a UUID */
    } named[] = {{"CUDA[0:7]", 0},       {"HIP[0:1]", 0},       {"CUDA[1:3]", 1},
                 {"CUDA-D1.S2-host", 1}, {"HIP-D1.S1-host", 1}, {"GPU-D0.S3", 0},
                 {"GPU_a2f80454.1", -1}, {"GPU_a2f80454.2", -1}};
    const struct lull_location *location = &trace->locations[l];
    const uint32_t rank = trace->processes[location->process].rank;
    if (location->kind != LULL_LOCATION_DEVICE)
        return "";
    if (location->stream)
        return (const char *[]){"pci:1", "pci:2", ""}[location->stream->device];
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(location->name, named[i].name) == 0)
            return named[i].device < 0
                       ? "GPU a2f80454"
                       : lull_arena_printf(arena, "rank %u device %d", rank, named[i].device);
    return lull_arena_printf(arena, "rank %u stream %u", rank, location->number);
}

/* Whether the recorder was off in all that the windows hold. */
static bool is_unmeasured(const struct instant *instants)
{
    int measured = 0, off = 0;
    for (int t = 0; t < DURATION; t++) {
        measured += instants[t].activity < LULL_ACTIVITIES;
        off += instants[t].activity == DISABLED;
    }
    return measured == 0 && off > 0;
}

static void check_device(const struct lull_trace *trace, struct instant **instants,
                         const struct lull_device_breakdown *device)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    int64_t kernels = 0, busy = 0, copies = 0, beside = 0;
    uint32_t streams = 0, processes = 0, last = LULL_NONE;
    bool together = false, unmeasured = false;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        if (strcmp(device_of(trace, l, arena), device->id) != 0)
            continue;
        streams++;
        unmeasured |= is_unmeasured(instants[l]);
        processes += trace->locations[l].process != last;
        last = trace->locations[l].process;
    }
    for (int t = 0; t < DURATION; t++) {
        uint32_t computing = 0, copying = 0;
        for (uint32_t l = 0; l < trace->n_locations; l++) {
            if (strcmp(device_of(trace, l, arena), device->id) != 0)
                continue;
            computing += instants[l][t].activity == LULL_USEFUL;
            copying += instants[l][t].activity == LULL_DEVICE;
        }
        kernels += computing > 0;
        busy += computing + copying > 0;
        copies += copying > 0;
        beside += computing > 0 && copying > 0;
        together |= computing > 1;
    }
    assert_int_equal(device->n_streams, streams);
    assert_int_equal(device->n_processes, processes);
    assert_int_equal(device->absent != NULL, unmeasured);
    if (unmeasured) {
        lull_arena_destroy(arena);
        return;
    }
    assert_int_equal(device->kernel_ns, kernels);
    assert_int_equal(device->busy_ns, busy);
    assert_int_equal(device->copy_ns, copies);
    assert_int_equal(device->copy_beside_ns, beside);
    branch_reach(&branches[TOGETHER], together);
    branch_reach(&branches[SHARED], processes > 1);
    lull_arena_destroy(arena);
}

static void check_devices(const struct lull_trace *trace, struct instant **instants,
                          const struct lull_breakdown *breakdown)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    const char *seen[MOST_DEVICES];
    uint32_t n = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const char *id = device_of(trace, l, arena);
        bool fresh = *id;
        for (uint32_t i = 0; i < n; i++)
            fresh &= strcmp(seen[i], id) != 0;
        if (fresh)
            seen[n++] = id;
    }
    assert_int_equal(breakdown->n_devices, n);
    for (uint32_t d = 0; d < n; d++)
        check_device(trace, instants, &breakdown->devices[d]);
    lull_arena_destroy(arena);
}

static struct lull_windows *draw_windows(struct lull_random *random, const struct lull_trace *trace,
                                         struct lull_arena *arena)
{
    struct lull_windows *windows = lull_arena_zero(arena, 1, sizeof *windows);
    windows->n_processes = trace->n_processes;
    windows->counts = lull_arena_zero(arena, trace->n_processes, sizeof *windows->counts);
    windows->intervals = lull_arena_zero(arena, trace->n_processes, sizeof(struct lull_interval *));
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        windows->intervals[p] = lull_arena_zero(arena, 6, sizeof(struct lull_interval));
        windows->counts[p] = random_intervals(random, DURATION, 6, windows->intervals[p]);
    }
    return windows;
}

static void check_one(struct lull_random *random, bool states, bool counters, bool regions,
                      bool windowed)
{
    const struct random_trace_options options = {states, counters, 2, 4, 3, DURATION};
    struct random_trace made;
    random_trace_make(random, &options, &made);
    draw_devices(random, made.trace);
    const struct lull_trace *trace = made.trace;
    struct lull_windows *windows = windowed ? draw_windows(random, trace, trace->arena) : NULL;
    const struct lull_breakdown_options wanted = {
        .reading = &(const struct lull_reading){.windows = windows}, .regions = regions};
    struct lull_breakdown *breakdown = feed_breakdown(random, &made, &wanted, trace->arena);

    struct lull_region_breakdown sums[32] = {0};
    struct instant **instants = calloc(trace->n_locations, sizeof(struct instant *));
    assert_non_null(instants);
    assert_int_equal(breakdown->n_threads, trace->n_locations);
    for (uint32_t i = 0; i < trace->n_locations; i++) {
        instants[i] = look_at(&made, i, windows);
        check_times(instants[i], &breakdown->threads[i]);
        check_counters(instants[i], trace, &made.locations[i], breakdown, &breakdown->threads[i]);
        add_regions(instants[i], &made.locations[i], windows, trace->locations[i].process, sums);
    }
    if (regions)
        check_regions(trace, sums, breakdown);
    else
        assert_null(breakdown->regions);
    check_parallels(&made, instants, windows, breakdown);
    check_devices(trace, instants, breakdown);
    for (uint32_t i = 0; i < trace->n_locations; i++)
        free(instants[i]);
    free(instants);
    random_trace_free(&made);
}

static void test_against_reference(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(480);
    for (unsigned i = 0; i < rounds; i++) {
        check_one(&random, i & 1, i & 2, i & 4, i & 8);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

TEST_GROUP(test_breakdown)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_reference)};
    return run_cases(tests, NULL, NULL);
}
