/* Tapes as a recorder writes them, made here record by record. */
#include "support/check_trace.h"
#include "support/folder.h"
#include "support/same_trace.h"
#include "support/tape_maker.h"
#include "trace/format.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct lull_error err;
static char run_path[4400];
static const char *run;
static struct lull_trace *trace;
static struct lull_arena *arena;

static int set_up(void **state)
{
    (void)state;
    folder_make();
    snprintf(run_path, sizeof run_path, "%s", folder_path("run"));
    run = run_path;
    run_begin(run);
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_trace_close(trace);
    trace = NULL;
    lull_arena_destroy(arena);
    folder_remove();
    return 0;
}

static void open_run(const char *path)
{
    struct lull_error broken;
    if (lull_trace_open(path, &trace, &err) != LULL_OK)
        fail_msg("%s", err.text);
    lull_status status = check_trace(trace, 1, &err, &broken);
    if (status != LULL_OK)
        fail_msg("%s%s", broken.text, broken.text[0] ? "" : err.text);
}

/* All events of a location. */
static struct same_sequence events_of(uint32_t location)
{
    struct same_sequence sequence;
    assert_int_equal(collect_by_cursor(trace, location, 0, arena, &sequence, &err), LULL_OK);
    return sequence;
}

static void check_event(const struct same_sequence *sequence, size_t index, unsigned kind,
                        int64_t time)
{
    assert_true(index < sequence->count);
    assert_string_equal(lull_event_kind_name(sequence->events[index].kind),
                        lull_event_kind_name(kind));
    assert_int_equal(sequence->events[index].time, time);
}

/* A process with regions "main" (0), "MPI_Send" (1), "MPI_Recv" (2), "MPI_Isend" (3),
 * "MPI_Irecv" (4), "MPI_Waitall" (5), "MPI_Bcast" (6), "MPI_Ibarrier" (7), and communicator 0 of
 * `size` processes. */
static void define_process(struct definitions_maker *maker, uint32_t process, uint32_t size)
{
    static const char *const names[] = {"main",      "MPI_Send",    "MPI_Recv",  "MPI_Isend",
                                        "MPI_Irecv", "MPI_Waitall", "MPI_Bcast", "MPI_Ibarrier"};
    definitions_begin(maker, process);
    for (uint32_t r = 0; r < sizeof names / sizeof *names; r++)
        define_region(maker, r, names[r]);
    define_comm(maker, 0, 1, size, NULL, UINT32_MAX, "world");
}

/* Processes of which only definitions and an empty tape matter. */
static void empty_processes(uint32_t first, uint32_t end, uint32_t size)
{
    for (uint32_t p = first; p < end; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, size);
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_write(&tape, run, 0);
    }
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Two processes name the same things by different ids. */
static void test_ids_are_unified(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        definitions_begin(&definitions, p);
        define_region(&definitions, p ? 9 : 0, "common");
        define_region(&definitions, p ? 0 : 9, p ? "only 1" : "only 0");
        definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 3 + p, "Uuss", UINT64_C(7), 0u,
                        "PAPI_TOT_INS", "");
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_call(&tape, 10, 0, 1);
        tape_call(&tape, 20, 9, 1);
        union lull_tape_slot *reading = tape_record(&tape, 30, LULL_TAPE_COUNTERS, 1, 0, 0);
        reading[1].u64[0] = 55;
        reading[1].u32[2] = 3 + p;
        tape_write(&tape, run, 0);
    }
    open_run(run);
    assert_int_equal(trace->n_regions, 3);
    assert_int_equal(trace->n_counters, 1);
    assert_int_equal(trace->counters[0].role, LULL_COUNTER_INSTRUCTIONS);
    struct same_sequence a = events_of(0), b = events_of(1);
    assert_string_equal(trace->regions[a.events[0].id].name, "common");
    assert_string_equal(trace->regions[a.events[1].id].name, "only 0");
    assert_string_equal(trace->regions[b.events[0].id].name, "only 1");
    assert_string_equal(trace->regions[b.events[1].id].name, "common");
    assert_int_equal(a.events[2].readings.values[0].counter, 0);
    assert_int_equal(b.events[2].readings.values[0].counter, 0);
}

/* The members of a communicator are listed by one process; the key tells that they are the same. */
static void test_communicators_by_key(void **state)
{
    (void)state;
    static const uint32_t even[] = {4, 0, 2};
    for (uint32_t p = 0; p < 6; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 6);
        if (p % 2 == 0) /* by another id in each process */
            define_comm(&definitions, 10 + p, 77, 3, p == 2 ? even : NULL, UINT32_MAX, "even");
        define_comm(&definitions, 30, 0, 1, &p, UINT32_MAX, "self");
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        if (p % 2 == 0)
            tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 1, 42, 10 + p, 1000);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 5, 0, 43, 30, 2000);
        tape_write(&tape, run, 0);
    }
    open_run(run);
    assert_int_equal(trace->n_comms, 1 + 1 + 6);
    for (uint32_t p = 0; p < 6; p += 2) {
        struct same_sequence events = events_of(p);
        check_event(&events, 0, LULL_EVENT_CALL, 0);
        check_event(&events, 1, LULL_EVENT_SEND, 0);
        const struct lull_comm *comm = &trace->comms[events.events[1].id];
        assert_string_equal(comm->name, "even");
        assert_int_equal(comm->size, 3);
        for (uint32_t r = 0; r < 3; r++)
            assert_int_equal(lull_comm_member(comm, r), even[r]);
        assert_int_equal(events.events[1].message.peer, 0); /* rank 1 there */
        assert_int_equal(events.events[1].message.tag, 42);
        assert_int_equal(events.events[1].message.bytes, 1000);
        check_event(&events, 3, LULL_EVENT_SEND, 10);
        assert_int_equal(events.events[3].message.peer, p); /* rank 0 of its own "self" */
    }
}

static void test_intercommunicator(void **state)
{
    (void)state;
    static const uint32_t left[] = {2, 0}, right[] = {3, 1};
    for (uint32_t p = 0; p < 4; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        bool is_left = p % 2 == 0;
        define_process(&definitions, p, 4);
        /* id 5: the own side, 6: the other */
        define_comm(&definitions, 5, is_left ? 100 : 200, 2, is_left ? left : right, 6, "own");
        define_comm(&definitions, 6, is_left ? 200 : 100, 2, is_left ? right : left, 5, "other");
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 1, 0, 1, 5, 8);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 1, 1, 1, 5, 8);
        tape_write(&tape, run, 0);
    }
    open_run(run);
    for (uint32_t p = 0; p < 4; p++) {
        struct same_sequence events = events_of(p);
        const uint32_t *others = p % 2 == 0 ? right : left;
        assert_int_equal(events.events[1].message.peer, others[0]);
        assert_int_equal(events.events[3].message.peer, others[1]);
        assert_int_equal(trace->comms[trace->comms[events.events[1].id].remote].remote,
                         events.events[1].id);
    }
}

/* The threads of a team are numbers in their process. */
static void test_teams(void **state)
{
    (void)state;
    const uint32_t openmp = LULL_PARADIGM_OPENMP, none = UINT32_MAX;
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        define_process(&definitions, p, 2);
        definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 7, "Uuuuuuuuus", UINT64_C(0), openmp,
                        2u, 0u, none, none, 2u, 2u, 0u, "listed team");
        definitions_add(&definitions, LULL_TAPE_DEFINE_COMM, 8, "Uuuuuuus", UINT64_C(0), openmp, 2u,
                        1u, none, none, 0u, "consecutive team");
        definitions_write(&definitions, run);
        for (uint32_t n = 0; n < 3; n++) {
            struct tape_maker tape;
            tape_begin(&tape, p, n);
            tape_record(&tape, 5, LULL_TAPE_NUMBER, 1, 7, LULL_TAPE_NUMBER_TEAM_BEGIN);
            tape_record(&tape, 6, LULL_TAPE_NUMBER, 1, 8, LULL_TAPE_NUMBER_TEAM_BEGIN);
            tape_write(&tape, run, 0);
        }
    }
    open_run(run);
    for (uint32_t p = 0; p < 2; p++) {
        struct same_sequence events = events_of(3 * p);
        check_event(&events, 0, LULL_EVENT_TEAM_BEGIN, 0);
        const struct lull_comm *listed = &trace->comms[events.events[0].id];
        const struct lull_comm *consecutive = &trace->comms[events.events[1].id];
        assert_int_equal(lull_comm_member(listed, 0), 3 * p + 2);
        assert_int_equal(lull_comm_member(listed, 1), 3 * p);
        assert_int_equal(lull_comm_member(consecutive, 0), 3 * p + 1);
        assert_int_equal(lull_comm_member(consecutive, 1), 3 * p + 2);
    }
}

/* The same node definition under different parents is two nodes. */
static void test_nodes(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < 3; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 3);
        definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 0, "uss", UINT32_MAX,
                        p == 2 ? "partition B" : "partition A", "machine");
        definitions_add(&definitions, LULL_TAPE_DEFINE_NODE, 1, "uss", 0u, "n1", "node");
        definitions_add(&definitions, LULL_TAPE_DEFINE_PROCESS, p, "uuus", 0u, p, 1u, "rank");
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_write(&tape, run, 0);
    }
    open_run(run);
    assert_int_equal(trace->n_nodes, 4);
    assert_int_equal(trace->processes[0].node, trace->processes[1].node);
    assert_int_not_equal(trace->processes[0].node, trace->processes[2].node);
    for (uint32_t p = 0; p < 3; p++) {
        const struct lull_node *node = &trace->nodes[trace->processes[p].node];
        assert_string_equal(node->name, "n1");
        assert_string_equal(trace->nodes[node->parent].name,
                            p == 2 ? "partition B" : "partition A");
    }
}

/* ---- clock ----------------------------------------------------------------------------------- */

struct point {
    uint64_t ticks;
    int64_t ns;
};

static void clock_points(struct definitions_maker *maker, const struct point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        definitions_add(maker, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", points[i].ticks,
                        (uint64_t)points[i].ns, 5.0);
}

/* Exact time of a tick, up to the rounding of long double. */
static long double exact_ns(const struct point *points, size_t count, uint64_t ticks)
{
    size_t s = 0;
    while (s + 2 < count && ticks >= points[s + 1].ticks)
        s++;
    long double slope = (long double)(points[s + 1].ns - points[s].ns) /
                        (long double)(points[s + 1].ticks - points[s].ticks);
    return points[s].ns + ((long double)ticks - (long double)points[s].ticks) * slope;
}

/* A clock of about 2.6 GHz that drifts, as if measured every ten minutes. */
static void test_clock(void **state)
{
    (void)state;
    enum { POINTS = 6, CALLS = 20000 };
    static const double rates[POINTS - 1] = {2.6, 2.6000011, 2.59999, 2.6, 0.7};
    struct point points[POINTS] = {{UINT64_C(123456789012345), INT64_C(5000000000000)}};
    for (size_t i = 1; i < POINTS; i++) {
        points[i].ns = points[i - 1].ns + INT64_C(600000000000) + 17 * (int64_t)i;
        points[i].ticks = points[i - 1].ticks + (uint64_t)(600e9 * rates[i - 1]);
    }
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    clock_points(&definitions, points, POINTS);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    /* from before the first point to behind the last, in irregular steps */
    uint64_t first = points[0].ticks - 1000000, last = points[POINTS - 1].ticks + 100000000;
    uint64_t step = (last - first) / CALLS;
    static uint64_t ticks[CALLS], lengths[CALLS];
    for (uint64_t i = 0; i < CALLS; i++) {
        ticks[i] = first + i * step + i * i % 9973;
        lengths[i] = i % 2 ? step - 20000 : i % 1000;
        tape_call(&tape, ticks[i], 0, lengths[i]);
    }
    tape_write(&tape, run, 0);
    open_run(run);
    assert_true(trace->clock_error == 5.0);
    struct same_sequence events = events_of(0);
    assert_int_equal(events.count, CALLS);
    /* the origin and each time are rounded to a ns */
    long double origin = floorl(exact_ns(points, POINTS, first));
    int64_t previous_end = 0;
    for (size_t i = 0; i < CALLS; i++) {
        const struct lull_event *event = &events.events[i];
        long double begin = exact_ns(points, POINTS, ticks[i]) - origin;
        long double end = exact_ns(points, POINTS, ticks[i] + lengths[i]) - origin;
        if (fabsl(begin - event->time) > 2.0L ||
            fabsl(end - (event->time + event->duration)) > 2.0L)
            fail_msg("call %zu: %" PRId64 " + %" PRId64 ", expected %.3Lf to %.3Lf", i, event->time,
                     event->duration, begin, end);
        assert_true(event->time >= previous_end);
        previous_end = event->time + event->duration;
    }
    assert_int_equal(trace->duration, previous_end);
}

/* Points that lie on times: converted exactly, and one tick is never worth less than nothing. */
static void test_clock_is_monotonic_at_its_points(void **state)
{
    (void)state;
    static const struct point points[] = {{1000, 0}, {4000, 1000}, {7000, 2001}, {10001, 3000}};
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    clock_points(&definitions, points, 4);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    for (uint64_t t = 990; t < 11000; t++)
        tape_record(&tape, t, LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID, LULL_TAPE_NUMBER_JOIN);
    tape_write(&tape, run, 0);
    open_run(run); /* checks the order */
    struct same_sequence events = events_of(0);
    int64_t origin = events.events[10].time; /* of tick 1000 */
    assert_int_equal(events.events[4000 - 990].time - origin, 1000);
    assert_int_equal(events.events[7000 - 990].time - origin, 2001);
    for (size_t i = 0; i < events.count; i++)
        assert_true(fabsl(exact_ns(points, 4, 990 + i) - (events.events[i].time - origin)) <= 1);
}

/* Two processes with clocks of their own meet on one time axis. */
static void test_two_clocks(void **state)
{
    (void)state;
    static const struct point clocks[2][2] = {
        {{0, 1000}, {1000, 2000}}, {{UINT64_C(1) << 63, 1000}, {(UINT64_C(1) << 63) + 4000, 3000}}};
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 2);
        clock_points(&definitions, clocks[p], 2);
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape_call(&tape, clocks[p][0].ticks + (p ? 400 : 100), 0, p ? 80 : 50);
        tape_write(&tape, run, 0);
    }
    open_run(run);
    struct same_sequence a = events_of(0), b = events_of(1);
    assert_int_equal(a.events[0].time, 0); /* 1100 ns is the first of all */
    assert_int_equal(a.events[0].duration, 50);
    assert_int_equal(b.events[0].time, 100); /* 1000 + 400 / 2 ns */
    assert_int_equal(b.events[0].duration, 40);
    assert_int_equal(trace->duration, 140);
}

/* ---- MPI calls ------------------------------------------------------------------------------- */

static void test_blocking_messages(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 3);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 2, 7, 0, (UINT64_C(1) << 40) - 1);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 20, 2, 6, 1, 8, 0, 99);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 30, 1, 1, LULL_PROC_NULL, 8, 0, 0);
    tape_write(&tape, run, 0);
    empty_processes(1, 3, 3);
    open_run(run);
    struct same_sequence events = events_of(0);
    assert_int_equal(events.count, 6);
    check_event(&events, 0, LULL_EVENT_CALL, 0);
    check_event(&events, 1, LULL_EVENT_SEND, 0);
    check_event(&events, 2, LULL_EVENT_CALL, 10);
    check_event(&events, 3, LULL_EVENT_RECV, 16);
    check_event(&events, 5, LULL_EVENT_SEND, 20);
    assert_string_equal(trace->regions[events.events[0].id].name, "MPI_Send");
    assert_int_equal(events.events[0].duration, 5);
    assert_int_equal(events.events[1].message.peer, 2);
    assert_int_equal(events.events[1].message.tag, 7);
    assert_true(events.events[1].message.bytes == (UINT64_C(1) << 40) - 1);
    assert_true(events.events[1].message.request == LULL_NO_REQUEST);
    assert_int_equal(events.events[3].message.peer, 1);
    assert_int_equal(events.events[5].message.peer, LULL_PROC_NULL);
}

static union lull_tape_slot *wait_call(struct tape_maker *tape, uint64_t time, unsigned extra)
{
    return tape_record(tape, time, LULL_TAPE_CALL_WAIT, extra, 5, 4) + 1;
}

static void test_requests(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 3);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 0, 4, 1, LULL_ANY, LULL_ANY, 0, 4096);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 2, 4, 1, 2, 5, 0, 100);
    tape_message_call(&tape, LULL_TAPE_CALL_ISEND, 4, 3, 1, 1, 6, 0, 200);
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_ICOLLECTIVE, 6, 7, 1, 0,
                                  LULL_TAPE_NO_ROOT, 0, 0);
    union lull_tape_slot *done = wait_call(&tape, 10, 3);
    done[0].u32[0] = 2; /* the send as it was posted */
    done[0].u32[1] = 1;
    done[1].u32[0] = 0; /* the wildcard receive with what it matched */
    done[1].i32[1] = 1;
    done[1].i32[2] = 77;
    done[1].u32[3] = LULL_TAPE_MATCHED | LULL_TAPE_LARGE;
    done[2].u64[0] = UINT64_C(5) << 40;
    done = wait_call(&tape, 20, 2);
    done[0].u32[0] = 1;
    done[0].i32[1] = 2;
    done[0].i32[2] = 5;
    done[0].u32[3] = LULL_TAPE_MATCHED | 60;
    done[1].u32[0] = 3;
    done[1].u32[1] = 1;
    tape_write(&tape, run, 0);
    empty_processes(1, 3, 3);
    open_run(run);
    struct same_sequence e = events_of(0);
    assert_int_equal(e.count, 4 * 2 + 2 + 2 + 2);
    check_event(&e, 1, LULL_EVENT_RECV_POST, 0);
    assert_int_equal(e.events[1].message.peer, LULL_ANY);
    assert_int_equal(e.events[1].message.tag, LULL_ANY);
    assert_int_equal(e.events[1].message.request, 0);
    check_event(&e, 5, LULL_EVENT_SEND, 4);
    assert_int_equal(e.events[5].message.request, 2);
    check_event(&e, 7, LULL_EVENT_COLLECTIVE_BEGIN, 6);
    assert_int_equal(e.events[7].op, LULL_COLLECTIVE_BARRIER);
    assert_int_equal(e.events[7].collective.request, 3);
    assert_int_equal(e.events[7].collective.root, LULL_ANY);
    check_event(&e, 8, LULL_EVENT_CALL, 10);
    check_event(&e, 9, LULL_EVENT_SEND_DONE, 14);
    assert_int_equal(e.events[9].message.request, 2);
    check_event(&e, 10, LULL_EVENT_RECV, 14);
    assert_int_equal(e.events[10].message.request, 0);
    assert_int_equal(e.events[10].message.peer, 1);
    assert_int_equal(e.events[10].message.tag, 77);
    assert_true(e.events[10].message.bytes == UINT64_C(5) << 40);
    check_event(&e, 12, LULL_EVENT_RECV, 24);
    assert_int_equal(e.events[12].message.bytes, 60);
    check_event(&e, 13, LULL_EVENT_COLLECTIVE_END, 24);
    assert_int_equal(e.events[13].collective.request, 3);
}

/* More completions than fit into one read, in ranges and one by one. */
static void test_many_completions(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    for (uint64_t i = 0; i < MANY; i++)
        tape_message_call(&tape, LULL_TAPE_CALL_IRECV, i, 4, 0, 0, (int32_t)i, 0, i);
    union lull_tape_slot *done = wait_call(&tape, 2 * MANY, 15);
    done[0].u32[0] = 1000;
    done[0].u32[1] = MANY - 1000;
    for (unsigned i = 1; i < 15; i++) {
        done[i].u32[0] = i;
        done[i].i32[2] = (int32_t)i;
        done[i].u32[3] = LULL_TAPE_MATCHED | i;
    }
    done = wait_call(&tape, 3 * MANY, 2);
    done[0].u32[0] = 15;
    done[0].u32[1] = 985;
    done[1].u32[0] = 0;
    done[1].u32[1] = 1;
    tape_call(&tape, 4 * MANY, 0, 1);
    tape_write(&tape, run, 0);
    open_run(run);
    struct same_sequence e = events_of(0), only;
    static bool seen[MANY];
    size_t received = 0;
    for (size_t i = 0; i < e.count; i++) {
        if (e.events[i].kind != LULL_EVENT_RECV)
            continue;
        uint64_t request = e.events[i].message.request;
        assert_true(request < MANY && !seen[request]);
        seen[request] = true;
        assert_int_equal(e.events[i].message.tag, request);
        assert_int_equal(e.events[i].message.bytes, request);
        assert_int_equal(e.events[i].time,
                         (request >= 1000 || (request > 0 && request < 15) ? 2 * MANY : 3 * MANY) +
                             4);
        received++;
    }
    assert_int_equal(received, MANY);
    assert_int_equal(e.count, 3 * MANY + 3);
    check_event(&e, e.count - 1, LULL_EVENT_CALL, 4 * MANY);
    assert_int_equal(collect_by_cursor(trace, 0, LULL_MASK(LULL_EVENT_RECV), arena, &only, &err),
                     LULL_OK);
    assert_int_equal(only.count, MANY);
    assert_int_equal(collect_by_cursor(trace, 0, LULL_MASK(LULL_EVENT_CALL), arena, &only, &err),
                     LULL_OK);
    assert_int_equal(only.count, MANY + 3);
}

/* A request that stays open while millions come and go takes no memory for those. */
static void test_one_request_outlives_many(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 0, 4, 0, 0, 7, 0, 700);
    for (uint32_t i = 1; i < MANY; i++) {
        tape_message_call(&tape, LULL_TAPE_CALL_ISEND, i, 3, 0, 0, 8, 0, i);
        union lull_tape_slot *done = tape_record(&tape, i, LULL_TAPE_CALL_WAIT, 1, 5, 0) + 1;
        done->u32[0] = i;
        done->u32[1] = 1;
    }
    union lull_tape_slot *done = tape_record(&tape, MANY, LULL_TAPE_CALL_WAIT, 1, 5, 0) + 1;
    done->u32[1] = 1;
    tape_write(&tape, run, 0);
    open_run(run);
    struct same_sequence e;
    const uint64_t mask = LULL_MASK(LULL_EVENT_RECV) | LULL_MASK(LULL_EVENT_SEND_DONE);
    assert_int_equal(collect_by_cursor(trace, 0, mask, arena, &e, &err), LULL_OK);
    assert_int_equal(e.count, MANY);
    for (uint32_t i = 1; i < MANY; i++)
        assert_int_equal(e.events[i - 1].message.request, i);
    check_event(&e, MANY - 1, LULL_EVENT_RECV, MANY);
    assert_int_equal(e.events[MANY - 1].message.request, 0);
    assert_int_equal(e.events[MANY - 1].message.bytes, 700);
}

static void test_collectives(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    static const uint32_t members[] = {2, 1};
    define_process(&definitions, 0, 3);
    define_comm(&definitions, 1, 50, 2, members, UINT32_MAX, "two");
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_COLLECTIVE, 10, 6, 9, 1, 0,
                                  UINT64_C(1) << 39, 17);
    tape_write(&tape, run, 0);
    empty_processes(1, 3, 3);
    open_run(run);
    struct same_sequence e = events_of(0);
    assert_int_equal(e.count, 3);
    check_event(&e, 1, LULL_EVENT_COLLECTIVE_BEGIN, 0);
    check_event(&e, 2, LULL_EVENT_COLLECTIVE_END, 9);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(e.events[i].op, LULL_COLLECTIVE_BCAST);
        assert_int_equal(e.events[i].collective.root, 2);
        assert_true(e.events[i].collective.sent == UINT64_C(1) << 39);
        assert_int_equal(e.events[i].collective.received, 17);
        assert_true(e.events[i].collective.request == LULL_NO_REQUEST);
        assert_string_equal(trace->comms[e.events[i].id].name, "two");
    }
}

static void test_long_calls(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32,
                                       UINT64_C(1) << 50};
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    uint64_t at = 0;
    for (size_t i = 0; i < 4; at += lengths[i++])
        tape_call(&tape, at, 0, lengths[i]);
    tape_write(&tape, run, 0);
    open_run(run);
    struct same_sequence e = events_of(0);
    assert_int_equal(e.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true((uint64_t)e.events[i].duration == lengths[i]);
    assert_true((uint64_t)trace->duration == at);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Records of all sizes, so that chunks end with padding of all sizes. */
static void test_chunks(void **state)
{
    (void)state;
    enum { RECORDS = 30000 };
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_add(&definitions, LULL_TAPE_DEFINE_COUNTER, 0, "Uuss", UINT64_C(1), 0u, "c", "");
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    size_t readings = 0;
    for (uint64_t i = 0; i < RECORDS; i++) {
        unsigned extra = 1 + (unsigned)(i * 7 % 15);
        union lull_tape_slot *slot = tape_record(&tape, i, LULL_TAPE_COUNTERS, extra, 0, 0);
        for (unsigned r = 1; r <= extra; r++)
            slot[r].u64[0] = readings++;
    }
    tape_write(&tape, run, 0);
    open_run(run);
    struct same_sequence e = events_of(0);
    assert_int_equal(e.count, RECORDS);
    size_t expected = 0;
    for (size_t i = 0; i < e.count; i++) {
        assert_int_equal(e.events[i].time, i);
        for (uint32_t r = 0; r < e.events[i].readings.count; r++)
            assert_int_equal(e.events[i].readings.values[r].value, expected++);
    }
    assert_int_equal(expected, readings);
}

static void test_open_call(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 2);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_record(&tape, 0, LULL_TAPE_ENTER, 0, 0, 0);
    tape_call(&tape, 10, 0, 5);
    tape_record(&tape, 50, LULL_TAPE_CALL, 0, 2, LULL_TAPE_OPEN);
    tape_write(&tape, run, 1);
    empty_processes(1, 2, 2);
    open_run(run);
    assert_int_equal(trace->duration, 50);
    struct same_sequence e = events_of(0);
    assert_int_equal(e.count, 5);
    check_event(&e, 2, LULL_EVENT_ENTER, 50);
    assert_string_equal(trace->regions[e.events[2].id].name, "MPI_Recv");
    check_event(&e, 3, LULL_EVENT_LEAVE, 50);
    check_event(&e, 4, LULL_EVENT_LEAVE, 50);
}

/* Behind the committed length stands what is being written just now: anything. */
static void test_garbage_behind_the_committed_length(void **state)
{
    (void)state;
    static const struct lull_tape_record behind[] = {
        {5, LULL_TAPE_CALL | 2 << 10, LULL_TAPE_OPEN},    /* time not written yet */
        {50, LULL_TAPE_CALL | 999 << 10, LULL_TAPE_OPEN}, /* region not known yet */
        {50, LULL_TAPE_CALL | 1 << 6 | 2 << 10, 0},       /* closed, not committed */
        {UINT64_MAX, UINT32_MAX, 7},
        {0, 0, 0},
    };
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, 0, 1);
        definitions_write(&definitions, run);
        tape_begin(&tape, 0, 0);
        tape_call(&tape, 10, 0, 5);
        tape_room(&tape, 1)->record = behind[i];
        tape_write(&tape, run, 1);
        open_run(run);
        struct same_sequence e = events_of(0);
        assert_int_equal(e.count, 1);
        assert_int_equal(trace->duration, 5);
        lull_trace_close(trace);
        trace = NULL;
    }
}

/* A file is extended ahead of what is written. */
static void test_file_larger_than_committed(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run, 0);
    assert_int_equal(truncate(folder_path("run/0/0.0.tape"), 1 << 20), 0);
    open_run(run);
    assert_int_equal(events_of(0).count, 1);
}

/* What is committed after the opening is not seen, and does no harm. */
static void test_growing(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run, 0);
    open_run(run);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    for (uint64_t i = 0; i < 10000; i++)
        tape_call(&tape, 20 + i, 0, 1);
    tape_write(&tape, run, 0);
    assert_int_equal(events_of(0).count, 1);
    struct lull_error broken;
    assert_int_equal(check_trace(trace, 1, &err, &broken), LULL_OK);
    lull_trace_close(trace);
    open_run(run);
    assert_int_equal(events_of(0).count, 10001);
}

/* A call that goes on while messages of it fill the next chunk. */
static void test_length_is_that_of_the_longest_call(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    for (uint64_t i = 0; i < 4095; i++)
        tape_call(&tape, i, 0, 1);
    tape_call(&tape, 5000, 5, 3000); /* the last of its chunk */
    for (uint64_t i = 0; i < 3; i++)
        tape_record(&tape, 5000 + i, LULL_TAPE_MESSAGE, 2, 0, LULL_TAPE_MESSAGE_TEST);
    tape_write(&tape, run, 0);
    open_run(run);
    assert_int_equal(trace->duration, 8000);
}

static void define_run(struct definitions_maker *maker, int64_t duration, int64_t origin)
{
    definitions_add(maker, LULL_TAPE_DEFINE_RUN, 0, "UUUffus", (uint64_t)duration, (uint64_t)origin,
                    UINT64_C(99), 0.4, 25.0, 0u, "lull record");
}

static void test_run_definition(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    definitions_begin(&definitions, LULL_TAPE_WHOLE_RUN);
    define_run(&definitions, 500, 100);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape.header.flags = LULL_TAPE_CLOSED;
    tape_call(&tape, 150, 0, 5);
    tape_write(&tape, run, 0);
    open_run(run);
    assert_int_equal(trace->duration, 500);
    assert_int_equal(trace->start_realtime, 99);
    assert_true(trace->clock_resolution == 0.4 && trace->clock_error == 25.0);
    assert_string_equal(trace->producer, "lull record");
    struct same_sequence e = events_of(0);
    check_event(&e, 0, LULL_EVENT_CALL, 50);
}

/* Process 0 ended and said how long the run was; process 1 went on, and was killed. */
static void test_run_definition_of_a_killed_run(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    for (uint32_t p = 0; p < 2; p++) {
        define_process(&definitions, p, 2);
        define_run(&definitions, 1, 1); /* of a process: says nothing about the run */
        definitions_write(&definitions, run);
        tape_begin(&tape, p, 0);
        tape.header.flags = p == 0 ? LULL_TAPE_CLOSED : 0;
        tape_call(&tape, 150, 0, p == 0 ? 5 : 700);
        tape_write(&tape, run, 0);
    }
    definitions_begin(&definitions, LULL_TAPE_WHOLE_RUN);
    define_run(&definitions, 500, 100);
    definitions_write(&definitions, run);
    open_run(run);
    assert_int_equal(trace->duration, 750);
}

static void test_anchor_as_path(void **state)
{
    (void)state;
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    definitions_write(&definitions, run);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 0, 5);
    tape_write(&tape, run, 0);
    open_run(folder_path("run/lull-tape"));
    assert_int_equal(events_of(0).count, 1);
    lull_trace_close(trace);
    trace = NULL;
    assert_int_equal(chdir(run), 0);
    open_run("lull-tape");
    assert_int_equal(events_of(0).count, 1);
    lull_trace_close(trace);
    trace = NULL;
    open_run(".");
    assert_int_equal(events_of(0).count, 1);
    assert_int_equal(chdir("/"), 0);
}

/* Process numbers need not be dense; folders of a thousand; ranks count among those that are. */
static void test_many_processes(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {0, 7, 999, 1000, 123456};
    for (size_t i = 0; i < 5; i++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        char folder[64];
        snprintf(folder, sizeof folder, "run/%u", numbers[i] / 1000);
        mkdir(folder_path(folder), 0700);
        definitions_begin(&definitions, numbers[i]);
        define_region(&definitions, 0, "main");
        define_comm(&definitions, 0, 1, 5, numbers, UINT32_MAX, "world");
        definitions_write(&definitions, run);
        tape_begin(&tape, numbers[i], 0);
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 0, 5, 4, 0, 0, 1);
        tape_write(&tape, run, 0);
    }
    folder_write(folder_path("run/0/00.0.tape"), "", 0); /* none of ours */
    open_run(run);
    assert_int_equal(trace->n_processes, 5);
    assert_int_equal(events_of(2).events[1].message.peer, 4);
    assert_int_equal(trace->processes[4].rank, 123456);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ids_are_unified),
        TEST(test_communicators_by_key),
        TEST(test_intercommunicator),
        TEST(test_teams),
        TEST(test_nodes),
        TEST(test_clock),
        TEST(test_clock_is_monotonic_at_its_points),
        TEST(test_two_clocks),
        TEST(test_blocking_messages),
        TEST(test_requests),
        TEST(test_many_completions),
        TEST(test_one_request_outlives_many),
        TEST(test_collectives),
        TEST(test_long_calls),
        TEST(test_chunks),
        TEST(test_open_call),
        TEST(test_garbage_behind_the_committed_length),
        TEST(test_file_larger_than_committed),
        TEST(test_growing),
        TEST(test_length_is_that_of_the_longest_call),
        TEST(test_run_definition),
        TEST(test_run_definition_of_a_killed_run),
        TEST(test_anchor_as_path),
        TEST(test_many_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
