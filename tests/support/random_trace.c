#include "support/random_trace.h"

#include "metrics/windows.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE(role_) .paradigm = LULL_PARADIGM_DEVICE, .role = LULL_ROLE_##role_

#define MPI .paradigm = LULL_PARADIGM_MPI

static const struct lull_region region_kinds[] = {
    {.name = "parallel a", .activity = LULL_USEFUL, .parallel = true},
    {.name = "parallel b", .activity = LULL_USEFUL, .parallel = true},
    {.name = "function", .activity = LULL_USEFUL, .user = true},
    {.name = "other function", .activity = LULL_USEFUL, .user = true},
    {.name = "MPI_Send", .activity = LULL_MPI_P2P},
    {.name = "MPI_Send", .activity = LULL_MPI_P2P, .site = "exchange (heat.c:12)"},
    {.name = "MPI_Send", .activity = LULL_MPI_P2P, .site = "finish (heat.c:40)"},
    {.name = "MPI_Bcast", .activity = LULL_MPI_COLLECTIVE},
    {.name = "MPI_Wait", MPI, .collective = LULL_COLLECTIVE_UNKNOWN, .activity = LULL_MPI_P2P},
    {.name = "MPI_Wait",
     MPI,
     .collective = LULL_COLLECTIVE_UNKNOWN,
     .activity = LULL_MPI_P2P,
     .site = "finish (heat.c:41)"},
    {.name = "MPI_Ibarrier",
     MPI,
     .collective = LULL_COLLECTIVE_BARRIER,
     .activity = LULL_MPI_COLLECTIVE},
    {.name = "barrier", .activity = LULL_OMP_SYNC},
    {.name = "critical", .activity = LULL_OMP_LOCK},
    {.name = "task", .activity = LULL_USEFUL},
    {.name = "schedule", .activity = LULL_OMP_SCHEDULE},
    {.name = "write", .activity = LULL_IO},
    {.name = "kernel", DEVICE(KERNEL), .activity = LULL_USEFUL},
    {.name = "launch", DEVICE(FUNCTION), .activity = LULL_DEVICE},
    {.name = "copy", DEVICE(DATA_TRANSFER), .activity = LULL_DEVICE},
    {.name = "wait for the device", DEVICE(BARRIER), .activity = LULL_DEVICE},
};
enum { REGIONS = sizeof region_kinds / sizeof region_kinds[0] };

static const uint8_t state_activities[] = {
    LULL_USEFUL, LULL_USEFUL, LULL_MPI_OTHER, LULL_OMP_SYNC, LULL_OTHER, LULL_IO,
};
enum { STATES = sizeof state_activities, COUNTERS = 3 };

struct maker {
    struct lull_random *random;
    struct lull_trace *trace;
    struct random_location *to;
    int64_t last; /* of the latest event */
};

static uint32_t below(struct lull_random *random, uint32_t bound)
{
    return (uint32_t)lull_random_below(random, bound);
}

static struct lull_event *append(struct maker *maker, int64_t time, unsigned kind)
{
    struct random_location *to = maker->to;
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 64;
        to->events = realloc(to->events, to->capacity * sizeof *to->events);
        if (!to->events)
            abort();
    }
    struct lull_event *event = &to->events[to->count++];
    memset(event, 0, sizeof *event);
    event->time = time;
    event->kind = (uint8_t)kind;
    return event;
}

static void add_reading(struct maker *maker, int64_t time)
{
    struct lull_event *event = append(maker, time, LULL_EVENT_COUNTERS);
    uint32_t count = 1 + below(maker->random, COUNTERS);
    struct lull_counter_reading *values =
        lull_arena_zero(maker->trace->arena, count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        values[i].counter = below(maker->random, COUNTERS);
        values[i].value = lull_random_u64(maker->random) >> below(maker->random, 64);
    }
    event->readings.values = values;
    event->readings.count = count;
}

/* What may stand between and inside calls, at a time in [from, to]. */
static int64_t add_trifle(struct maker *maker, int64_t from, int64_t to)
{
    struct lull_random *random = maker->random;
    int64_t time = from + (int64_t)lull_random_below(random, (uint64_t)(to - from) + 1);
    unsigned choice = below(random, 20);
    if (choice >= 16) {
        struct lull_event *event = append(maker, time, LULL_EVENT_COLLECTIVE_END);
        event->op = LULL_COLLECTIVE_BARRIER;
        event->collective.request = choice == 16 ? LULL_NO_REQUEST : choice;
        event->collective.root = LULL_ANY;
    } else if (choice < 10 && maker->trace->n_counters) {
        add_reading(maker, time);
    } else if (choice == 10) {
        append(maker, time, LULL_EVENT_FLUSH)->duration = below(random, 20);
    } else if (choice == 11) {
        append(maker, time, LULL_EVENT_MEASURE_OFF);
    } else if (choice >= 12 && choice < 15) {
        append(maker, time, LULL_EVENT_MEASURE_ON);
    } else if (choice == 15 && below(random, 4) == 0) {
        append(maker, time, below(random, 2) ? LULL_EVENT_THREAD_BEGIN : LULL_EVENT_THREAD_END);
    } else {
        append(maker, time, LULL_EVENT_MARKER);
    }
    return time;
}

static int64_t add_call(struct maker *maker, int64_t time, int64_t to)
{
    struct lull_event *event = append(maker, time, LULL_EVENT_CALL);
    int64_t duration = below(maker->random, 12);
    event->id = RANDOM_PARALLEL_REGIONS + below(maker->random, REGIONS - RANDOM_PARALLEL_REGIONS);
    event->duration = time + duration > to ? to - time : duration;
    int64_t end = time + event->duration;
    while (below(maker->random, 4) == 0)
        time = add_trifle(maker, time, end);
    return end;
}

/* Fills [from, to] with calls and nested regions; nested parallel ones only where `inside`. */
static void fill(struct maker *maker, int64_t from, int64_t to, unsigned depth, bool inside)
{
    struct lull_random *random = maker->random;
    for (int64_t time = from + below(random, 10); time <= to; time += below(random, 25)) {
        unsigned choice = below(random, 4);
        if (choice == 0 && depth < 4) {
            uint32_t first = inside ? 0 : RANDOM_PARALLEL_REGIONS;
            uint32_t region = first + below(random, REGIONS - first);
            int64_t end = time + below(random, 80);
            end = end > to ? to : end;
            append(maker, time, LULL_EVENT_ENTER)->id = region;
            fill(maker, time, end, depth + 1, inside || region < RANDOM_PARALLEL_REGIONS);
            append(maker, end, LULL_EVENT_LEAVE)->id = region;
            time = end;
        } else if (choice == 1) {
            time = add_trifle(maker, time, to < time + 5 ? to : time + 5);
        } else {
            time = add_call(maker, time, to);
            while (below(random, 3) == 0 && time < to) /* runs of calls */
                time = add_call(maker, time, to);
        }
    }
}

/* A part of a thread inside parallel regions, by a region or by a team. */
static void add_parallel(struct maker *maker, int64_t from, int64_t to, uint32_t region, bool team)
{
    append(maker, from, team ? LULL_EVENT_TEAM_BEGIN : LULL_EVENT_ENTER)->id = region;
    fill(maker, from, to, 1, true);
    append(maker, to, team ? LULL_EVENT_TEAM_END : LULL_EVENT_LEAVE)->id = region;
}

static int compare_times(const void *a, const void *b)
{
    const struct lull_event *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* States go between the other events; before those of the same time. */
static void mix_states(struct maker *maker)
{
    struct random_location regions = *maker->to;
    *maker->to = (struct random_location){0};
    for (int64_t time = 0; time < maker->trace->duration;) {
        int64_t duration = below(maker->random, 30);
        if (duration > maker->trace->duration - time)
            duration = maker->trace->duration - time;
        if (below(maker->random, 8)) {
            struct lull_event *event = append(maker, time, LULL_EVENT_STATE);
            event->id = below(maker->random, STATES);
            event->duration = duration;
        }
        time += duration;
    }
    struct random_location states = *maker->to;
    *maker->to = (struct random_location){0};
    uint32_t s = 0;
    for (uint32_t r = 0; r < regions.count || s < states.count;) {
        bool state =
            r == regions.count ||
            (s < states.count && compare_times(&states.events[s], &regions.events[r]) <= 0);
        const struct lull_event *from = state ? &states.events[s++] : &regions.events[r++];
        *append(maker, from->time, from->kind) = *from;
    }
    free(regions.events);
    free(states.events);
}

static void make_thread(struct maker *maker, uint32_t location,
                        const struct random_process *process)
{
    const struct lull_location *it = &maker->trace->locations[location];
    bool master = it->role == LULL_THREAD_MASTER, device = it->kind == LULL_LOCATION_DEVICE;
    int64_t now = 0;
    for (uint32_t i = 0; i < process->count && !device; i++) {
        struct random_execution part = process->executions[i];
        uint32_t region = i % 3 ? 0 : 1;
        bool team = i % 5 == 4;
        if (!master) {
            int64_t length = part.end - part.begin;
            part.begin += (int64_t)lull_random_below(maker->random, (uint64_t)length / 2 + 1);
            part.end -= (int64_t)lull_random_below(maker->random, (uint64_t)length / 2 + 1);
            if (part.begin > part.end || below(maker->random, 5) == 0)
                continue;
        }
        fill(maker, now, part.begin, 0, false);
        add_parallel(maker, part.begin, part.end, team ? LULL_NONE : region, team);
        now = part.end;
    }
    fill(maker, now, maker->trace->duration, 0, false);
    if (maker->trace->has_states)
        mix_states(maker);
}

static void make_executions(struct lull_random *random, int64_t duration,
                            struct random_process *process)
{
    uint32_t most = below(random, 9);
    process->executions = calloc(most + 1, sizeof *process->executions);
    if (!process->executions)
        abort();
    int64_t now = 0;
    while (process->count < most) {
        int64_t begin = now + below(random, 120), end = begin + below(random, 200);
        if (end > duration)
            return;
        process->executions[process->count++] = (struct random_execution){begin, end};
        now = end;
    }
}

static void define(struct lull_random *random, const struct random_trace_options *options,
                   struct lull_trace *trace)
{
    trace->path = "random";
    trace->duration = options->duration;
    trace->has_states = options->states;
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(trace->arena, REGIONS, sizeof *trace->regions);
    memcpy(trace->regions, region_kinds, sizeof region_kinds);
    for (uint32_t r = 0; r < REGIONS; r++) {
        trace->regions[r].whole = LULL_NONE;
        if (!trace->regions[r].site)
            trace->regions[r].site = "";
    }
    trace->n_states = STATES;
    trace->states = lull_arena_zero(trace->arena, STATES, sizeof *trace->states);
    for (uint32_t i = 0; i < STATES; i++)
        trace->states[i] = (struct lull_state){"state", i, state_activities[i]};
    if (options->counters) {
        static const char *const names[COUNTERS] = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "ANOTHER"};
        trace->n_counters = COUNTERS;
        trace->counters = lull_arena_zero(trace->arena, COUNTERS, sizeof *trace->counters);
        for (uint32_t i = 0; i < COUNTERS; i++)
            trace->counters[i] = (struct lull_counter){names[i], "", i, (uint8_t)((i + 1) % 3)};
    }
    trace->n_processes = 1 + below(random, options->processes);
    trace->processes = lull_arena_zero(trace->arena, trace->n_processes, sizeof *trace->processes);
    size_t most = (size_t)trace->n_processes * (options->threads + options->devices);
    trace->locations = lull_arena_zero(trace->arena, most, sizeof *trace->locations);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        struct lull_process *process = &trace->processes[p];
        process->name = "process";
        process->rank = p;
        process->node = p / 2;
        process->first_location = trace->n_locations;
        process->n_threads = 1 + below(random, options->threads);
        process->n_locations =
            process->n_threads + (options->devices ? below(random, options->devices + 1) : 0);
        for (uint32_t i = 0; i < process->n_locations; i++) {
            bool device = i >= process->n_threads;
            trace->locations[trace->n_locations++] = (struct lull_location){
                .name = "thread",
                .process = p,
                .number = device ? i - process->n_threads : i,
                .kind = device ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
                .role = i == 0                  ? LULL_THREAD_MASTER
                        : below(random, 8) == 0 ? LULL_THREAD_FREE
                                                : LULL_THREAD_WORKER,
            };
        }
    }
}

void random_trace_make(struct lull_random *random, const struct random_trace_options *options,
                       struct random_trace *ret_trace)
{
    struct lull_trace *trace = lull_trace_create();
    define(random, options, trace);
    *ret_trace = (struct random_trace){
        .trace = trace,
        .locations = calloc(trace->n_locations, sizeof(struct random_location)),
        .processes = calloc(trace->n_processes, sizeof(struct random_process)),
    };
    if (!ret_trace->locations || !ret_trace->processes)
        abort();
    for (uint32_t p = 0; p < trace->n_processes; p++)
        make_executions(random, trace->duration, &ret_trace->processes[p]);
    for (uint32_t i = 0; i < trace->n_locations; i++) {
        struct maker maker = {.random = random, .trace = trace, .to = &ret_trace->locations[i]};
        make_thread(&maker, i, &ret_trace->processes[trace->locations[i].process]);
    }
}

void random_trace_free(struct random_trace *made)
{
    for (uint32_t i = 0; i < made->trace->n_locations; i++)
        free(made->locations[i].events);
    for (uint32_t p = 0; p < made->trace->n_processes; p++)
        free(made->processes[p].executions);
    free(made->locations);
    free(made->processes);
    lull_trace_close(made->trace);
}

uint32_t random_intervals(struct lull_random *random, int64_t duration, uint32_t most,
                          struct lull_interval *intervals)
{
    uint32_t count = 0;
    int64_t now = 0;
    while (count < most) {
        int64_t begin = now + (int64_t)lull_random_below(random, (uint64_t)duration / 3 + 1);
        int64_t end = begin + (int64_t)lull_random_below(random, (uint64_t)duration / 3 + 1);
        begin = below(random, 4) ? begin : now; /* touching */
        if (end > duration)
            break;
        intervals[count++] = (struct lull_interval){begin, end};
        now = end;
    }
    return count;
}
