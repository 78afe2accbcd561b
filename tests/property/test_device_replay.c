/* Replays in which devices take part (replay/program/devices.h), of drawn programs whose threads submit operations to
 * streams and wait for them. As measured, each operation begins and ends when it did. Where something is supposed of
 * devices, it begins and ends when a slow reference says so, which looks at the drawn program again and again until
 * nothing is left to be known; and a window takes as long as it is. */
#include "base/arena.h"
#include "metrics/windows.h"
#include "replay/program/devices.h"
#include "replay/replay.h"
#include "replay/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/engine/engine.h"
#include "support/branches.h"
#include "support/memory_trace.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 2, THREADS = 2, STREAMS = 4, LOCATIONS = THREADS + STREAMS };
enum { MOST_ACTIONS = 120, MOST_OPERATIONS = 400 };
enum {
    LAUNCHES = 3,
    RETURNS = 4,
    ASKED = 5,
    LATENCY = 7
}; /* ns: a call that submits; one that has waited; of MPI; of a launch */

enum region { LAUNCH, WAIT, KERNEL, OTHER_KERNEL, COPY, MAKES_THREADS, ASK, REGIONS };

enum {
    SUBMISSION,
    BEFORE,
    DEPENDS,
    AWAITED,
    ELSEWHERE,
    LAGS,
    SHORTER,
    LONGER,
    BESIDE,
    OVERLAP,
    GRAPH,
    PERIOD,
    ASKS,
    BRANCHES
};
static struct branch branches[BRANCHES] = {
    [SUBMISSION] = {.what = "an operation begins by its submission", .least = 900},
    [BEFORE] = {.what = "an operation begins by the one before", .least = 900},
    [DEPENDS] = {.what = "an operation begins by one of another stream", .least = 400},
    [AWAITED] = {.what = "a thread waits for an operation", .least = 700},
    [ELSEWHERE] = {.what = "a thread waits for what another thread submitted", .least = 700},
    [LAGS] = {.what = "streams lag", .least = 300},
    [SHORTER] = {.what = "a supposition makes the run shorter", .least = 60},
    [LONGER] = {.what = "a supposition makes the run longer", .least = 30},
    [BESIDE] = {.what = "an operation runs beside the one before on its stream", .least = 60},
    [OVERLAP] = {.what = "overlapping copies alone makes the run shorter", .least = 20},
    [GRAPH] = {.what = "an operation is submitted with a sequence", .least = 30},
    [PERIOD] = {.what = "a sequence is a shorter one again and again", .least = 30},
    [ASKS] = {.what = "a thread is in MPI between submissions", .least = 100},
};

struct operation {
    uint64_t number;
    uint32_t process, thread, stream; /* thread, stream: in the process */
    uint32_t depends;                 /* an operation; LULL_NONE: on none */
    uint32_t before;                  /* on its stream; LULL_NONE: it is the first */
    uint8_t region;
    int64_t length;
    int64_t submitted, begin, end; /* as measured */
};

struct action {
    int64_t computes; /* ns */
    uint32_t submits; /* an operation; or: */
    bool waits, asks;
    uint32_t awaited; /* an operation; LULL_NONE: of a stream that has none */
    uint32_t stream;  /* if all of it is waited for; else LULL_NONE */
    int64_t begin, end;
};

/* What a thread does again and again. */
enum turn_kind { SUBMITS, WAITS, ASKS_MPI };
struct turn {
    uint8_t kind, region; /* enum turn_kind */
    uint32_t stream;      /* in the process */
};
enum { MOST_TURNS = 12 };

struct thread {
    struct action actions[MOST_ACTIONS];
    uint32_t n_actions;
    int64_t now;
    struct turn turns[MOST_TURNS];
    uint32_t n_turns; /* 0: it does something else each time */
    uint32_t turn;
};

struct drawn {
    struct lull_trace *trace;
    int64_t lag;
    bool asks;
    uint32_t n_processes;
    struct thread threads[PROCESSES][THREADS];
    struct operation operations[MOST_OPERATIONS];
    uint32_t n_operations;
    uint32_t last[PROCESSES][STREAMS]; /* the last operation */
    bool has[PROCESSES][STREAMS][2];   /* other operations than copies; copies */
};

static uint32_t below(struct lull_random *random, uint32_t n)
{
    return (uint32_t)lull_random_below(random, n);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* An operation that was submitted by now, of that process; LULL_NONE: there is none. */
static uint32_t draw_earlier(struct lull_random *random, const struct drawn *drawn,
                             uint32_t process, int64_t now)
{
    for (int tries = 0; tries < 5 && drawn->n_operations > 0; tries++) {
        const uint32_t recent = drawn->n_operations < 12 ? drawn->n_operations : 12;
        const uint32_t i = drawn->n_operations - 1 - below(random, recent);
        if (drawn->operations[i].process == process && drawn->operations[i].submitted <= now)
            return i;
    }
    return LULL_NONE;
}

static struct turn draw_turn(struct lull_random *random, uint32_t t)
{
    const uint32_t kind = below(random, 7);
    return (struct turn){.kind = kind < 5            ? SUBMITS
                                 : kind < 6 || t > 0 ? WAITS
                                                     : ASKS_MPI,
                         .region = (uint8_t)(KERNEL + below(random, 3)),
                         .stream = 2 * t + below(random, 2)};
}

static void draw_submission(struct lull_random *random, struct drawn *drawn, uint32_t p, uint32_t t,
                            const struct turn *turn, struct action *action)
{
    struct operation *of = &drawn->operations[drawn->n_operations];
    const uint32_t stream = turn->stream;
    *of = (struct operation){.number = 1 + drawn->n_operations,
                             .process = p,
                             .thread = t,
                             .stream = stream,
                             .depends = LULL_NONE,
                             .before = drawn->last[p][stream],
                             .region = turn->region,
                             .length = 1 + below(random, 80),
                             .submitted = action->begin};
    if (of->before != LULL_NONE && below(random, 3) == 0)
        of->depends = draw_earlier(random, drawn, p, action->begin);
    const int64_t launched = of->submitted + LATENCY;
    const int64_t before =
        of->before == LULL_NONE ? 0 : drawn->operations[of->before].end + drawn->lag;
    const int64_t depends = of->depends == LULL_NONE ? 0 : drawn->operations[of->depends].end;
    of->begin = most(launched, most(before, depends));
    of->end = of->begin + of->length;
    branch_reach(&branches[SUBMISSION], launched > before && launched > depends);
    branch_reach(&branches[BEFORE], before > launched && before > depends);
    branch_reach(&branches[DEPENDS], depends > launched && depends > before);
    action->submits = drawn->n_operations;
    action->end = action->begin + LAUNCHES;
    drawn->has[p][stream][of->region == COPY] = true;
    drawn->last[p][stream] = drawn->n_operations++;
}

static void draw_wait(struct lull_random *random, struct drawn *drawn, uint32_t p, uint32_t t,
                      struct action *action)
{
    action->waits = true;
    action->awaited = draw_earlier(random, drawn, p, action->begin);
    if (action->awaited == LULL_NONE || below(random, 2)) {
        action->stream = below(random, STREAMS);
        action->awaited = drawn->last[p][action->stream];
        while (action->awaited != LULL_NONE &&
               drawn->operations[action->awaited].submitted >= action->begin)
            action->awaited = drawn->operations[action->awaited].before;
    }
    const struct operation *of =
        action->awaited == LULL_NONE ? NULL : &drawn->operations[action->awaited];
    action->end = most(action->begin, of ? of->end : 0) + RETURNS;
    branch_reach(&branches[AWAITED], of && of->end > action->begin);
    branch_reach(&branches[ELSEWHERE], of && of->thread != t);
}

/* The thread that is earliest goes on, so that what it refers to has happened. */
static void draw_actions(struct lull_random *random, struct drawn *drawn, uint32_t p)
{
    const uint32_t n = 10 + below(random, MOST_ACTIONS - 12);
    for (uint32_t t = 0; t < THREADS; t++) {
        struct thread *thread = &drawn->threads[p][t];
        thread->n_turns = below(random, 2) ? 1 + below(random, MOST_TURNS) : 0;
        for (uint32_t i = 0; i < thread->n_turns; i++)
            thread->turns[i] = draw_turn(random, t);
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t t = drawn->threads[p][1].now < drawn->threads[p][0].now;
        struct thread *thread = &drawn->threads[p][t];
        struct action *action = &thread->actions[thread->n_actions++];
        *action = (struct action){.computes = below(random, 3) ? below(random, 60) : 0,
                                  .submits = LULL_NONE,
                                  .awaited = LULL_NONE,
                                  .stream = LULL_NONE};
        action->begin = thread->now + action->computes;
        thread->now = action->begin;
        /* Only if nobody else may act before: else the other one goes first. */
        if (drawn->threads[p][!t].now < action->begin) {
            action->end = action->begin;
            continue;
        }
        struct turn turn = draw_turn(random, t);
        if (thread->n_turns > 0)
            turn = thread->turns[thread->turn++ % thread->n_turns];
        if (turn.kind == SUBMITS)
            draw_submission(random, drawn, p, t, &turn, action);
        else if (turn.kind == WAITS)
            draw_wait(random, drawn, p, t, action);
        else {
            action->asks = drawn->asks = true;
            action->end = action->begin + ASKED;
        }
        thread->now = action->end;
    }
}

/* ---- the trace ------------------------------------------------------------------------------- */

static void define(struct drawn *drawn)
{
    static const struct lull_region regions[REGIONS] = {
        [LAUNCH] = {"cudaLaunchKernel", .activity = LULL_DEVICE},
        [WAIT] = {"cudaStreamSynchronize", .role = LULL_ROLE_BARRIER, .activity = LULL_DEVICE},
        [KERNEL] = {"kernel", .role = LULL_ROLE_KERNEL, .activity = LULL_USEFUL},
        [OTHER_KERNEL] = {"other", .role = LULL_ROLE_KERNEL, .activity = LULL_USEFUL},
        [MAKES_THREADS] = {"pthread_create", .role = LULL_ROLE_THREAD_CREATE},
        [ASK] = {"MPI_Comm_rank", .activity = LULL_MPI_OTHER,
                 .collective = LULL_COLLECTIVE_UNKNOWN},
        [COPY] = {"copy", .role = LULL_ROLE_DATA_TRANSFER, .activity = LULL_DEVICE},
    };
    struct lull_trace *trace = drawn->trace = memory_trace_create();
    trace->n_applications = 1;
    trace->n_regions = REGIONS;
    trace->regions = lull_arena_zero(trace->arena, REGIONS, sizeof *trace->regions);
    for (uint32_t r = 0; r < REGIONS; r++) {
        trace->regions[r] = regions[r];
        trace->regions[r].file = trace->regions[r].site = "";
        trace->regions[r].paradigm = r == MAKES_THREADS ? LULL_PARADIGM_PTHREAD
                                     : r == ASK         ? LULL_PARADIGM_MPI
                                                        : LULL_PARADIGM_DEVICE;
        trace->regions[r].whole = LULL_NONE;
    }
    trace->n_devices = PROCESSES;
    trace->devices = lull_arena_zero(trace->arena, PROCESSES, sizeof *trace->devices);
    trace->devices[0] = (struct lull_device){"one", "CUDA", "pci:1", LULL_NONE};
    trace->devices[1] = (struct lull_device){"two", "CUDA", "pci:2", LULL_NONE};
    trace->n_processes = drawn->n_processes;
    trace->processes = lull_arena_zero(trace->arena, PROCESSES, sizeof *trace->processes);
    trace->locations =
        lull_arena_zero(trace->arena, (size_t)PROCESSES * LOCATIONS, sizeof *trace->locations);
    for (uint32_t p = 0; p < drawn->n_processes; p++) {
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
                                       .kind = stream ? LULL_LOCATION_DEVICE : LULL_LOCATION_THREAD,
                                       .role = i == 0 ? LULL_THREAD_MASTER : LULL_THREAD_FREE};
            if (!stream)
                continue;
            location->stream = lull_arena_zero(trace->arena, 1, sizeof *location->stream);
            location->stream->device = p;
        }
    }
}

static void add(struct drawn *drawn, uint32_t location, unsigned kind, int64_t time, uint32_t id,
                int64_t duration)
{
    const struct lull_event event = memory_span(time, kind, id, duration);
    memory_trace_add(drawn->trace, location, &event);
}

static void add_reference(struct drawn *drawn, uint32_t location, unsigned kind, int64_t time,
                          uint64_t number, uint64_t other, uint32_t of)
{
    struct lull_event event = memory_event(time, kind, LULL_NONE);
    event.operation.number = number;
    event.operation.other = other;
    event.operation.location = of;
    event.operation.peer = LULL_ANY;
    event.operation.sequence = LULL_NO_SEQUENCE;
    memory_trace_add(drawn->trace, location, &event);
}

static void tell_thread(struct drawn *drawn, uint32_t p, uint32_t t)
{
    const uint32_t first = p * LOCATIONS, location = first + t;
    const struct thread *thread = &drawn->threads[p][t];
    /* It has a number, so that it is not apart. */
    struct lull_event begin = memory_event(0, LULL_EVENT_THREAD_BEGIN, LULL_NONE);
    begin.number = t;
    memory_trace_add(drawn->trace, location, &begin);
    for (uint32_t i = 0; i < thread->n_actions; i++) {
        const struct action *action = &thread->actions[i];
        if (action->submits != LULL_NONE) {
            const struct operation *of = &drawn->operations[action->submits];
            add(drawn, location, LULL_EVENT_CALL, action->begin, LAUNCH, LAUNCHES);
            add_reference(drawn, location, LULL_EVENT_SUBMIT, action->begin, of->number, 0,
                          first + THREADS + of->stream);
            if (of->depends != LULL_NONE)
                add_reference(drawn, location, LULL_EVENT_DEPEND, action->begin, of->number,
                              drawn->operations[of->depends].number, LULL_NONE);
        } else if (action->asks) {
            add(drawn, location, LULL_EVENT_CALL, action->begin, ASK, ASKED);
        } else if (action->waits) {
            add(drawn, location, LULL_EVENT_CALL, action->begin, WAIT, action->end - action->begin);
            add_reference(
                drawn, location, LULL_EVENT_DEVICE_WAIT, action->begin,
                action->stream == LULL_NONE ? drawn->operations[action->awaited].number : 0, 0,
                action->stream == LULL_NONE ? LULL_NONE : first + THREADS + action->stream);
        }
    }
    add(drawn, location, LULL_EVENT_THREAD_END, thread->now, LULL_NONE, 0);
}

static void tell_stream(struct drawn *drawn, uint32_t p, uint32_t s)
{
    const uint32_t location = p * LOCATIONS + THREADS + s;
    for (uint32_t i = 0; i < drawn->n_operations; i++) {
        const struct operation *of = &drawn->operations[i];
        if (of->process != p || of->stream != s)
            continue;
        add(drawn, location, LULL_EVENT_CALL, of->begin, of->region, of->length);
        add_reference(drawn, location, LULL_EVENT_OPERATION, of->begin, of->number, 0,
                      p * LOCATIONS + of->thread);
    }
}

static void draw(struct lull_random *random, struct drawn *drawn)
{
    drawn->n_processes = 1 + below(random, PROCESSES);
    drawn->lag = below(random, 2) ? 0 : 2;
    branch_reach(&branches[LAGS], drawn->lag > 0);
    memset(drawn->last, 0xff, sizeof drawn->last);
    for (uint32_t p = 0; p < drawn->n_processes; p++)
        draw_actions(random, drawn, p);
    define(drawn);
    for (uint32_t p = 0; p < drawn->n_processes; p++) {
        for (uint32_t t = 0; t < THREADS; t++) {
            drawn->trace->duration = most(drawn->trace->duration, drawn->threads[p][t].now);
            tell_thread(drawn, p, t);
        }
        for (uint32_t s = 0; s < STREAMS; s++)
            tell_stream(drawn, p, s);
    }
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        drawn->trace->duration = most(drawn->trace->duration, drawn->operations[i].end);
}

struct times {
    int64_t submitted, begin, end; /* -1: not known so far */
};

struct supposed {
    double kernel, copies;
    bool no_latency, ahead, overlap, graphs;
};

/* ---- the reference: sequences ---------------------------------------------------------------- */

/* Operations that a thread submits one after the other. */
struct row {
    uint32_t operations[MOST_ACTIONS];
    uint32_t n;
};

static bool are_alike(const struct drawn *drawn, uint32_t a, uint32_t b)
{
    return drawn->operations[a].region == drawn->operations[b].region &&
           drawn->operations[a].stream == drawn->operations[b].stream;
}

static bool has_period(const struct drawn *drawn, const struct row *row, uint32_t period)
{
    for (uint32_t i = period; i < row->n; i++)
        if (!are_alike(drawn, row->operations[i], row->operations[i - period]))
            return false;
    return true;
}

/* Cuts a row into shorter ones, if it is one of them again and again; else it is one by itself. */
static uint32_t cut_row(const struct drawn *drawn, const struct row *row, struct row *rows)
{
    uint32_t period = row->n, n = 0;
    for (uint32_t p = row->n / 2; p >= 2; p--)
        if (has_period(drawn, row, p))
            period = p;
    if (has_period(drawn, row, 1))
        period = row->n;
    branch_reach(&branches[PERIOD], period < row->n);
    for (uint32_t i = 0; i + period <= row->n && row->n >= 2; i += period, n++) {
        rows[n].n = period;
        memcpy(rows[n].operations, &row->operations[i], period * sizeof *row->operations);
    }
    return n;
}

/* *ret_leaders [MOST_OPERATIONS]: the operation with which each one is submitted. Returns whether any is with another. */
static bool find_leaders(const struct drawn *drawn, uint32_t *ret_leaders)
{
    static struct row rows[MOST_ACTIONS];
    bool any = false;
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        ret_leaders[i] = i;
    for (uint32_t p = 0; p < drawn->n_processes; p++)
        for (uint32_t t = 0; t < THREADS; t++) {
            const struct thread *thread = &drawn->threads[p][t];
            struct row row = {.n = 0};
            uint32_t n = 0;
            for (uint32_t a = 0; a <= thread->n_actions; a++) {
                const struct action *action = a < thread->n_actions ? &thread->actions[a] : NULL;
                if (action && action->submits != LULL_NONE)
                    row.operations[row.n++] = action->submits;
                branch_reach(&branches[ASKS], action && action->asks && row.n > 0);
                if (!action || action->waits || action->asks) {
                    n += cut_row(drawn, &row, &rows[n]);
                    row.n = 0;
                }
            }
            for (uint32_t r = 0; r < n; r++) {
                bool before = false;
                for (uint32_t q = 0; q < r; q++) {
                    bool same = rows[q].n == rows[r].n;
                    for (uint32_t i = 0; same && i < rows[r].n; i++)
                        same = are_alike(drawn, rows[q].operations[i], rows[r].operations[i]);
                    before |= same;
                }
                for (uint32_t i = 1; before && i < rows[r].n; i++)
                    ret_leaders[rows[r].operations[i]] = rows[r].operations[0];
                any |= before;
            }
        }
    return any;
}

/* ---- the reference: times -------------------------------------------------------------------- */

/* The operation that one comes behind. */
static uint32_t find_before(const struct drawn *drawn, uint32_t i, bool overlap)
{
    const bool copies = drawn->operations[i].region == COPY;
    uint32_t before = drawn->operations[i].before;
    while (overlap && before != LULL_NONE && (drawn->operations[before].region == COPY) != copies)
        before = drawn->operations[before].before;
    return before;
}

/* Whether the operation on which one depends is before it in any case: it is of its stream and of its kind. */
static bool is_of_row(const struct drawn *drawn, uint32_t i)
{
    const struct operation *of = &drawn->operations[i];
    const struct operation *other =
        of->depends == LULL_NONE ? NULL : &drawn->operations[of->depends];
    return other && other->stream == of->stream && (other->region == COPY) == (of->region == COPY);
}

/* When an operation and all before it on its stream have ended; -1: not known so far. */
static int64_t all_ended(const struct drawn *drawn, const struct times *times, uint32_t i)
{
    int64_t end = 0;
    for (; i != LULL_NONE; i = drawn->operations[i].before) {
        if (times[i].end < 0)
            return -1;
        end = most(end, times[i].end);
    }
    return end;
}

/* A thread beside the master that has to do with no operation is not in the replay. */
static bool takes_part(const struct thread *thread)
{
    for (uint32_t i = 0; i < thread->n_actions; i++)
        if (thread->actions[i].submits != LULL_NONE || thread->actions[i].awaited != LULL_NONE)
            return true;
    return false;
}

/* *ret_times [MOST_OPERATIONS]; returns when the last thread or operation ends. */
static int64_t evaluate(const struct drawn *drawn, const struct supposed *supposed,
                        struct times *ret_times)
{
    uint32_t leaders[MOST_OPERATIONS];
    int64_t now[PROCESSES][THREADS] = {{0}}, end = 0;
    uint32_t at[PROCESSES][THREADS] = {{0}};
    bool more = true;
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        ret_times[i] = (struct times){-1, -1, -1};
    find_leaders(drawn, leaders);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < drawn->n_operations; i++) {
            const struct operation *of = &drawn->operations[i];
            struct times *times = &ret_times[i];
            const uint32_t behind = find_before(drawn, i, supposed->overlap);
            const struct times *before = behind == LULL_NONE ? NULL : &ret_times[behind];
            if (times->end >= 0 || (times->submitted < 0 && !supposed->ahead) ||
                (before && before->end < 0))
                continue;
            const int64_t depends =
                is_of_row(drawn, i) ? 0 : all_ended(drawn, ret_times, of->depends);
            if (depends < 0)
                continue;
            const double factor = of->region == KERNEL ? supposed->kernel
                                  : of->region == COPY ? supposed->copies
                                                       : 1;
            times->begin =
                most(supposed->ahead ? 0 : times->submitted + (supposed->no_latency ? 0 : LATENCY),
                     most(before ? before->end + drawn->lag : 0, depends));
            times->end = times->begin + llround(factor * (double)of->length);
            more = true;
        }
        for (uint32_t p = 0; p < drawn->n_processes; p++)
            for (uint32_t t = 0; t < THREADS; t++) {
                const struct thread *thread = &drawn->threads[p][t];
                if (at[p][t] == thread->n_actions)
                    continue;
                const struct action *action = &thread->actions[at[p][t]];
                const int64_t awaited = all_ended(drawn, ret_times, action->awaited);
                if (awaited < 0)
                    continue;
                now[p][t] += action->computes;
                if (action->submits != LULL_NONE && supposed->graphs) {
                    if (leaders[action->submits] == action->submits) {
                        for (uint32_t i = 0; i < drawn->n_operations; i++)
                            if (leaders[i] == action->submits)
                                ret_times[i].submitted = now[p][t];
                        now[p][t] += LAUNCHES;
                    }
                } else if (action->submits != LULL_NONE) {
                    ret_times[action->submits].submitted = now[p][t];
                    now[p][t] += LAUNCHES;
                } else if (action->asks) {
                    now[p][t] += ASKED;
                } else if (action->waits) {
                    now[p][t] = most(now[p][t], awaited) + RETURNS;
                }
                at[p][t]++;
                more = true;
            }
    }
    for (uint32_t p = 0; p < drawn->n_processes; p++) {
        assert_int_equal(at[p][0], drawn->threads[p][0].n_actions);
        assert_int_equal(at[p][1], drawn->threads[p][1].n_actions);
        /* What is left behind a master's last event counts. */
        end = most(end, now[p][0] + drawn->trace->duration - drawn->threads[p][0].now);
        if (takes_part(&drawn->threads[p][1]))
            end = most(end, now[p][1]);
    }
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        end = most(end, ret_times[i].end);
    return end;
}

/* ---- replays --------------------------------------------------------------------------------- */

struct seen {
    const struct lull_program *program;
    struct drawn *drawn;
    struct times times[MOST_OPERATIONS];
    /* Where to look for the next one of a stream: of copies, and of others. */
    uint32_t next[PROCESSES * LOCATIONS][2];
};

static uint32_t location_of(const struct operation *of)
{
    return of->process * LOCATIONS + THREADS + of->stream;
}

static lull_status see(void *context, uint32_t stream, const struct lull_op *op, int64_t begin,
                       int64_t end, int64_t noise, int64_t delay, struct lull_error *err)
{
    struct seen *seen = context;
    const uint32_t location = lull_replay_location(seen->program, stream);
    const struct drawn *drawn = seen->drawn;
    (void)noise;
    (void)delay;
    (void)err;
    if (drawn->trace->locations[location].kind != LULL_LOCATION_DEVICE ||
        op->region == LULL_OP_NO_REGION)
        return LULL_OK;
    const bool copies = op->region == COPY;
    uint32_t *i = &seen->next[location][copies];
    while (*i < drawn->n_operations && (location_of(&drawn->operations[*i]) != location ||
                                        (drawn->operations[*i].region == COPY) != copies))
        ++*i;
    assert_true(*i < drawn->n_operations);
    assert_int_equal(op->measured, drawn->operations[*i].begin);
    seen->times[(*i)++] = (struct times){.begin = begin, .end = end};
    return LULL_OK;
}

static int64_t replay(struct drawn *drawn, const struct lull_replay_options *options,
                      struct seen *ret_seen, struct lull_arena *arena)
{
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result;
    struct lull_error err;
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(drawn->trace, options, &program, &err) != LULL_OK, "%s", err.text);
    memset(ret_seen, 0, sizeof *ret_seen);
    ret_seen->program = program;
    ret_seen->drawn = drawn;
    const struct lull_sim_sink sink = {.context = ret_seen, .compute = see};
    const struct lull_sim_options wanted = {.network = &network, .sink = &sink};
    fail_if(lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK, "%s", err.text);
    lull_program_close(program);
    return result.runtime;
}

static void check_times(const struct drawn *drawn, const struct times *found,
                        const struct times *expected)
{
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        fail_if(found[i].begin != expected[i].begin || found[i].end != expected[i].end,
                "operation %u: %lld to %lld, expected %lld to %lld", i, (long long)found[i].begin,
                (long long)found[i].end, (long long)expected[i].begin, (long long)expected[i].end);
}

static void check_measured(struct drawn *drawn, struct lull_arena *arena)
{
    static const struct supposed nothing = {.kernel = 1, .copies = 1};
    const struct lull_replay_options options = {.devices = true, .keep_calls = LULL_KEEP_ALL};
    struct times expected[MOST_OPERATIONS];
    struct seen seen;
    assert_int_equal(evaluate(drawn, &nothing, expected), drawn->trace->duration);
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        assert_int_equal(expected[i].begin, drawn->operations[i].begin);
    assert_int_equal(replay(drawn, &options, &seen, arena), drawn->trace->duration);
    check_times(drawn, seen.times, expected);
}

/* Where streams lag, the run does not tell how much of a lag was hidden behind a dependence. */
static void check_supposed(struct lull_random *random, struct drawn *drawn,
                           struct lull_arena *arena)
{
    static const double factors[] = {0, 0.5, 1, 3};
    const struct supposed supposed = {.kernel = factors[below(random, 4)],
                                      .copies = below(random, 2),
                                      .no_latency = below(random, 3) == 0,
                                      .ahead = below(random, 4) == 0,
                                      .overlap = below(random, 3) == 0,
                                      .graphs = below(random, 3) == 0};
    struct lull_replay_options options = {.devices = true, .keep_calls = LULL_KEEP_ALL};
    struct lull_what_if_options wanted = {.devices = {.no_copies = supposed.copies == 0,
                                                      .no_latency = supposed.no_latency,
                                                      .ahead = supposed.ahead,
                                                      .overlap = supposed.overlap,
                                                      .graphs = supposed.graphs}};
    struct times expected[MOST_OPERATIONS];
    uint32_t leaders[MOST_OPERATIONS];
    struct lull_survey *survey;
    struct lull_what_if *what_if;
    struct lull_error err;
    struct seen seen;
    if (drawn->lag > 0)
        return;
    if (supposed.kernel != 1)
        wanted.devices.kernels[wanted.devices.n_kernels] = "kernel",
        wanted.devices.factors[wanted.devices.n_kernels++] = supposed.kernel;
    fail_if(lull_survey_take(drawn->trace, 0, true, &survey, &err) != LULL_OK, "%s", err.text);
    options.survey = survey;
    fail_if(lull_what_if_create(drawn->trace, &wanted, NULL, &what_if, &err) != LULL_OK, "%s",
            err.text);
    if (supposed.graphs && !find_leaders(drawn, leaders)) {
        assert_int_equal(lull_what_if_conclude(what_if, &options, &err), LULL_ERR_RANGE);
        assert_non_null(strstr(err.text, "submits the same operations again"));
        lull_what_if_destroy(what_if);
        lull_survey_destroy(survey);
        return;
    }
    fail_if(lull_what_if_conclude(what_if, &options, &err) != LULL_OK, "%s", err.text);
    for (uint32_t i = 0; supposed.graphs && i < drawn->n_operations; i++)
        branch_reach(&branches[GRAPH], leaders[i] != i);
    const int64_t runtime = evaluate(drawn, &supposed, expected);
    assert_int_equal(replay(drawn, &options, &seen, arena), runtime);
    check_times(drawn, seen.times, expected);
    branch_reach(&branches[SHORTER], runtime < drawn->trace->duration);
    branch_reach(&branches[LONGER], runtime > drawn->trace->duration);
    for (uint32_t i = 0; i < drawn->n_operations; i++)
        branch_reach(&branches[BESIDE],
                     drawn->operations[i].before != LULL_NONE &&
                         expected[i].begin < expected[drawn->operations[i].before].end);
    lull_what_if_destroy(what_if);
    lull_survey_destroy(survey);
}

/* Nothing begins later because copies overlap, or graphs are launched. */
static void check_earlier(const struct drawn *drawn)
{
    for (int graphs = 0; graphs < 2; graphs++) {
        const struct supposed supposed = {
            .kernel = 1, .copies = 1, .overlap = !graphs, .graphs = graphs};
        struct times expected[MOST_OPERATIONS];
        const int64_t runtime = evaluate(drawn, &supposed, expected);
        assert_true(runtime <= drawn->trace->duration);
        branch_reach(&branches[OVERLAP], !graphs && runtime < drawn->trace->duration);
        for (uint32_t i = 0; i < drawn->n_operations; i++)
            assert_true(expected[i].begin <= drawn->operations[i].begin);
    }
}

/* Whether an operation is on a location of the simulated run. Streams with copies and other operations have a second one
 * for the copies, behind the locations of their process and in the order of the first ones. */
static bool is_shown(const struct drawn *drawn, const struct lull_trace *simulated,
                     uint32_t location, const struct operation *of, bool overlap)
{
    const struct lull_process *process = &simulated->processes[of->process];
    const bool(*has)[2] = drawn->has[of->process];
    uint32_t shown = process->first_location + THREADS + of->stream;
    if (overlap && of->region == COPY && has[of->stream][false]) {
        shown = process->first_location + LOCATIONS;
        for (uint32_t s = 0; s < of->stream; s++)
            shown += has[s][false] && has[s][true];
    }
    return location == shown;
}

static void check_warped(const struct drawn *drawn, const struct lull_trace *simulated,
                         uint32_t location, const struct times *expected, bool overlap)
{
    const uint64_t mask = LULL_MASK(LULL_EVENT_CALL) | LULL_MASK(LULL_EVENT_OPERATION);
    struct lull_block block;
    struct lull_cursor *cursor;
    struct lull_error err;
    uint32_t i = 0;
    assert_int_equal(lull_cursor_open(simulated, location, mask, &cursor, &err), LULL_OK);
    while (lull_cursor_next(cursor, &block, &err) == LULL_OK && block.count > 0)
        for (uint32_t e = 0; e < block.count; e++) {
            const struct lull_event *event = &block.events[e];
            while (i < drawn->n_operations &&
                   !is_shown(drawn, simulated, location, &drawn->operations[i], overlap))
                i++;
            assert_true(i < drawn->n_operations);
            fail_if(event->time != expected[i].begin,
                    "location %u of %u%s: %s of operation %u at %lld, expected %lld", location,
                    simulated->n_locations, overlap ? " (overlap)" : "",
                    lull_event_kind_name(event->kind), i, (long long)event->time,
                    (long long)expected[i].begin);
            if (event->kind == LULL_EVENT_CALL) {
                assert_int_equal(event->time + event->duration, expected[i].end);
                continue;
            }
            assert_int_equal(event->operation.number, drawn->operations[i].number);
            assert_int_equal(event->operation.location,
                             simulated->processes[drawn->operations[i].process].first_location +
                                 drawn->operations[i].thread);
            i++;
        }
    lull_cursor_close(cursor);
    while (i < drawn->n_operations &&
           !is_shown(drawn, simulated, location, &drawn->operations[i], overlap))
        i++;
    assert_int_equal(i, drawn->n_operations);
}

/* The simulated run has the operations where the simulation had them. */
static void check_warp(struct drawn *drawn, bool overlap, struct lull_arena *arena)
{
    struct lull_replay_options options = {
        .devices = true, .pieces = true, .keep_calls = LULL_KEEP_ALL};
    const struct supposed supposed = {.kernel = 1, .copies = overlap, .overlap = overlap};
    const struct lull_device_change change = {.copies = overlap, .overlap = overlap};
    struct times expected[MOST_OPERATIONS];
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result;
    struct lull_error err;
    if (drawn->lag > 0)
        return;
    options.change = &change;
    evaluate(drawn, &supposed, expected);
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(drawn->trace, &options, &program, &err) != LULL_OK, "%s", err.text);
    struct lull_warp *warp = lull_warp_create(program, drawn->trace);
    const struct lull_sim_options wanted = {.network = &network, .sink = lull_warp_sink(warp)};
    fail_if(lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK, "%s", err.text);
    struct lull_trace *simulated = lull_warp_trace(warp, result.runtime);
    for (uint32_t l = 0; l < simulated->n_locations; l++)
        if (simulated->locations[l].kind == LULL_LOCATION_DEVICE)
            check_warped(drawn, simulated, l, expected, overlap);
    lull_trace_close(simulated);
    lull_warp_destroy(warp);
    lull_program_close(program);
}

static void check_window(struct lull_random *random, struct drawn *drawn, struct lull_arena *arena)
{
    const int64_t duration = drawn->trace->duration;
    struct lull_interval window = {below(random, (uint32_t)duration),
                                   below(random, (uint32_t)duration)};
    if (drawn->asks) /* a call of MPI that the window cuts takes no time */
        return;
    if (window.end <= window.begin)
        window = (struct lull_interval){window.end, window.begin + 1};
    struct lull_windows windows = {.n_processes = drawn->n_processes};
    uint32_t counts[PROCESSES] = {1, 1};
    struct lull_interval *intervals[PROCESSES] = {&window, &window};
    windows.counts = counts;
    windows.intervals = intervals;
    const struct lull_replay_options options = {
        .devices = true, .reading = &(const struct lull_reading){.windows = &windows}};
    struct seen seen;
    const int64_t runtime = replay(drawn, &options, &seen, arena);
    fail_if(runtime != window.end - window.begin, "window %lld to %lld: %lld ns",
            (long long)window.begin, (long long)window.end, (long long)runtime);
}

static void test_replays(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(400);
    for (unsigned i = 0; i < rounds; i++) {
        struct drawn *drawn = calloc(1, sizeof *drawn);
        struct lull_arena *arena = lull_arena_create(NULL);
        assert_non_null(drawn);
        draw(&random, drawn);
        check_measured(drawn, arena);
        check_supposed(&random, drawn, arena);
        check_earlier(drawn);
        check_warp(drawn, false, arena);
        check_warp(drawn, true, arena);
        check_window(&random, drawn, arena);
        lull_trace_close(drawn->trace);
        lull_arena_destroy(arena);
        free(drawn);
        branches_next(branches, BRANCHES);
    }
    branches_assert(branches, BRANCHES, rounds);
}

/* What threads submit and wait for, and what streams ran, has nothing to do with each other: the replay ends all the same. */
static void test_nonsense(void **state)
{
    (void)state;
    static const struct memory_trace_options options = {
        .without = LULL_MASK_MESSAGES | LULL_MASK(LULL_EVENT_COLLECTIVE_BEGIN) |
                   LULL_MASK(LULL_EVENT_COLLECTIVE_END) | LULL_MASK(LULL_EVENT_THREAD_CREATE) |
                   LULL_MASK(LULL_EVENT_THREAD_WAIT_BEGIN) | LULL_MASK(LULL_EVENT_THREAD_WAIT_END),
        .without_extremes = true,
        .operations = true};
    enum { STREAMS_TAKE_PART, NONSENSE };
    struct branch nonsense[NONSENSE] = {
        [STREAMS_TAKE_PART] = {.what = "device streams take part", .least = 100}};
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    const unsigned rounds = lull_test_rounds(300);
    for (unsigned i = 0; i < rounds; i++) {
        struct lull_trace *trace = memory_trace_draw(&random, &options);
        struct lull_arena *arena = lull_arena_create(NULL);
        const struct lull_replay_options wanted = {.devices = true};
        struct lull_program *program;
        struct lull_network network;
        struct lull_sim_result result;
        struct lull_error err;
        lull_network_init(&network, lull_network_find("ideal"));
        fail_if(lull_replay_open(trace, &wanted, &program, &err) != LULL_OK, "%s", err.text);
        const struct lull_sim_options simulated = {.network = &network};
        fail_if(lull_simulate(program, &simulated, arena, &result, NULL, &err) != LULL_OK, "%s",
                err.text);
        for (uint32_t s = 0; s < program->n_streams; s++)
            branch_reach(&nonsense[STREAMS_TAKE_PART],
                         trace->locations[lull_replay_location(program, s)].kind ==
                             LULL_LOCATION_DEVICE);
        branches_next(nonsense, NONSENSE);
        lull_program_close(program);
        lull_trace_close(trace);
        lull_arena_destroy(arena);
    }
    branches_assert(nonsense, NONSENSE, rounds);
}

/* A process with more streams than can be replayed: the run is replayed without them, and nothing can be supposed of them. */
static void test_many_streams(void **state)
{
    (void)state;
    enum { MANY = 300, END = 10 * MANY };
    struct lull_trace *trace = memory_trace_create();
    struct lull_arena *arena = lull_arena_create(NULL);
    static const struct lull_device_change change = {.copies = 0};
    struct lull_replay_options options = {.devices = true};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result;
    struct lull_error err;
    trace->n_applications = trace->n_processes = trace->n_devices = 1;
    trace->duration = END;
    trace->n_regions = 1;
    trace->regions = lull_arena_zero(arena, 1, sizeof *trace->regions);
    trace->regions[0] = (struct lull_region){.name = "copy",
                                             .file = "",
                                             .site = "",
                                             .role = LULL_ROLE_DATA_TRANSFER,
                                             .activity = LULL_DEVICE,
                                             .paradigm = LULL_PARADIGM_DEVICE,
                                             .whole = LULL_NONE};
    trace->devices = lull_arena_zero(arena, 1, sizeof *trace->devices);
    trace->devices[0] = (struct lull_device){"one", "CUDA", "pci:1", LULL_NONE};
    trace->processes = lull_arena_zero(arena, 1, sizeof *trace->processes);
    trace->processes[0] = (struct lull_process){
        .name = "process", .node = LULL_NONE, .n_threads = 1, .n_locations = 1 + MANY};
    trace->n_locations = 1 + MANY;
    trace->locations = lull_arena_zero(arena, 1 + MANY, sizeof *trace->locations);
    trace->locations[0] = (struct lull_location){
        .name = "thread", .kind = LULL_LOCATION_THREAD, .role = LULL_THREAD_MASTER};
    for (uint32_t s = 1; s <= MANY; s++) {
        struct lull_event submit = memory_event(s, LULL_EVENT_SUBMIT, LULL_NONE),
                          copy = memory_span(8 * s, LULL_EVENT_CALL, 0, 5),
                          operation = memory_event(8 * s, LULL_EVENT_OPERATION, LULL_NONE);
        trace->locations[s] =
            (struct lull_location){.name = "stream",
                                   .number = s - 1,
                                   .kind = LULL_LOCATION_DEVICE,
                                   .stream = lull_arena_zero(arena, 1, sizeof(struct lull_stream))};
        submit.operation.number = operation.operation.number = s;
        submit.operation.location = s;
        memory_trace_add(trace, 0, &submit);
        memory_trace_add(trace, s, &copy);
        memory_trace_add(trace, s, &operation);
    }
    lull_network_init(&network, lull_network_find("ideal"));
    const struct lull_sim_options simulated = {.network = &network};
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK ||
                lull_simulate(program, &simulated, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(program->n_streams, 1);
    assert_int_equal(result.runtime, END);
    lull_program_close(program);
    options.change = &change;
    assert_int_equal(lull_replay_open(trace, &options, &program, &err), LULL_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "more than 256 threads and device streams"));
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_device_replay)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_replays),
                                       cmocka_unit_test(test_nonsense),
                                       cmocka_unit_test(test_many_streams)};
    return run_cases(tests, NULL, NULL);
}
