/* What becomes of requests that are not simply started and waited for: none of these programs has
 * ever stood still, so no replay of them may. Lengths are worked out by hand. */
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum {
    SEND,
    RECV,
    ISEND,
    IRECV,
    WAIT,
    WAITALL,
    BSEND,
    IBSEND,
    BARRIER,
    FREE,
    IDUP,
    START,
    TEST,
    TESTANY,
    IPROBE,
    PROBE,
    FINALIZE
};
static const char *const names[] = {
    "MPI_Send",  "MPI_Recv",    "MPI_Isend",   "MPI_Irecv",        "MPI_Wait",      "MPI_Waitall",
    "MPI_Bsend", "MPI_Ibsend",  "MPI_Barrier", "MPI_Request_free", "MPI_Comm_idup", "MPI_Start",
    "MPI_Test",  "MPI_Testany", "MPI_Iprobe",  "MPI_Probe",        "MPI_Barrier",   NULL};
enum { LARGE = 1000000, LATENCY = 10 };

static struct lull_event message(unsigned kind, int32_t peer, int32_t tag, uint64_t bytes,
                                 uint64_t request)
{
    struct lull_event event = memory_event(0, kind, 0);
    event.message.peer = peer;
    event.message.tag = tag;
    event.message.bytes = bytes;
    event.message.request = request;
    return event;
}

/* A call with up to one operation, which happens when the call begins or, what completes, when it
 * ends. */
static void call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                 int64_t end, const struct lull_event *what)
{
    struct lull_event enter = memory_event(begin, LULL_EVENT_ENTER, region);
    struct lull_event leave = memory_event(end, LULL_EVENT_LEAVE, region);
    memory_trace_add(trace, location, &enter);
    if (what) {
        bool opens = what->kind == LULL_EVENT_SEND || what->kind == LULL_EVENT_RECV_POST;
        struct lull_event event = *what;
        event.time = opens ? begin : end;
        memory_trace_add(trace, location, &event);
    }
    memory_trace_add(trace, location, &leave);
}

#define CALL(trace, location, region, begin, end, ...) \
    call(trace, location, region, begin, end, &(struct lull_event[]){message(__VA_ARGS__)}[0])

static void barrier(struct lull_trace *trace, uint32_t location, int64_t begin, int64_t end)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, BARRIER),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, BARRIER)};
    for (int i = 0; i < 4; i++) {
        events[i].op = LULL_COLLECTIVE_BARRIER;
        events[i].collective.request = LULL_NO_REQUEST;
        events[i].collective.root = LULL_ANY;
        memory_trace_add(trace, location, &events[i]);
    }
}

static struct lull_trace *two_processes(uint32_t threads)
{
    struct lull_trace *trace = memory_trace_simple(2, threads, 1000, names);
    memory_trace_world(trace, 2);
    return trace;
}

/* On a network with 10 ns of latency, whose messages of more than 64 KiB wait for their receive;
 * closes the trace. What comes behind the last event of a location is MPI, of which nothing is
 * known. */
static int64_t replay_kept(struct lull_trace *trace, const bool *callers, uint8_t keep)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_network network;
    struct lull_replay_options options = {
        .callers = callers, .keep_calls = keep, .network = &network};
    struct lull_program *program;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err = {""};
    memory_trace_end_in(trace, FINALIZE);
    lull_network_init(&network, lull_network_find("hockney"));
    lull_network_set(&network, lull_network_parameter(network.class, "latency"), LULL_LEVELS,
                     LATENCY);
    lull_network_set(&network, lull_network_parameter(network.class, "bandwidth"), LULL_LEVELS,
                     1e18);
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK ||
                lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
    return result.runtime;
}

static int64_t replay(struct lull_trace *trace, const bool *callers)
{
    return replay_kept(trace, callers, LULL_KEEP_NONE);
}

/* Process 0 waits for a list of no requests while a receive is open; only the wait behind it is for
 * that. The message leaves process 1 at 100, the answer process 0 at 110. */
static void a_wait_for_nothing_leaves_receives_open(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 20, 20, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    call(trace, 0, WAITALL, 20, 20, NULL);
    CALL(trace, 0, WAIT, 20, 300, LULL_EVENT_RECV, 1, 1, 8, 5);
    CALL(trace, 0, SEND, 300, 310, LULL_EVENT_SEND, 1, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, RECV, 110, 400, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 100 + 2 * LATENCY);
}

/* Nor does it wait for a send that a later wait is for: process 1 receives only what process 0
 * sends behind the empty wait. */
static void a_wait_for_nothing_leaves_sends_open(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, ISEND, 20, 20, LULL_EVENT_SEND, 1, 1, LARGE, 5);
    call(trace, 0, WAITALL, 20, 20, NULL);
    CALL(trace, 0, SEND, 50, 60, LULL_EVENT_SEND, 1, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 0, WAIT, 60, 300, LULL_EVENT_SEND_DONE, 1, 1, LARGE, 5);
    CALL(trace, 1, RECV, 0, 100, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, RECV, 100, 300, LULL_EVENT_RECV, 0, 1, LARGE, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 50 + 2 * LATENCY);
}

/* The first message is for the second receive, because the first one is withdrawn. Process 1 leaves
 * the barrier when it comes to it. */
static void a_cancelled_receive_takes_no_message(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    CALL(trace, 0, WAIT, 20, 20, LULL_EVENT_REQUEST_CANCELLED, 1, 1, 8, 5);
    barrier(trace, 0, 20, 100);
    CALL(trace, 0, RECV, 100, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    barrier(trace, 1, 90, 100);
    CALL(trace, 1, SEND, 150, 160, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 90 + 50 + LATENCY);
}

/* The one message received is the second one sent. */
static void a_cancelled_send_sends_nothing(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, ISEND, 10, 10, LULL_EVENT_SEND, 1, 1, LARGE, 5);
    CALL(trace, 0, WAIT, 20, 20, LULL_EVENT_REQUEST_CANCELLED, 1, 1, LARGE, 5);
    CALL(trace, 0, SEND, 70, 200, LULL_EVENT_SEND, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, RECV, 30, 200, LULL_EVENT_RECV, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 70 + LATENCY);
}

/* Whoever withdraws nothing does not hold operations back: the receive completes behind more
 * operations than are read ahead, and the large message has to find it posted. */
static void a_receive_that_completes_late_is_posted_early(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 0, 0, LULL_EVENT_RECV_POST, 1, 1, LARGE, 5);
    for (int i = 0; i < LULL_REPLAY_AHEAD + 10; i++)
        CALL(trace, 0, SEND, 0, 0, LULL_EVENT_SEND, 1, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 0, RECV, 0, 300, LULL_EVENT_RECV, 1, 3, 8, LULL_NO_REQUEST);
    CALL(trace, 0, WAIT, 300, 300, LULL_EVENT_RECV, 1, 1, LARGE, 5);
    CALL(trace, 1, SEND, 50, 200, LULL_EVENT_SEND, 0, 1, LARGE, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 200, 210, LULL_EVENT_SEND, 0, 3, 8, LULL_NO_REQUEST);
    for (int i = 0; i < LULL_REPLAY_AHEAD + 10; i++)
        CALL(trace, 1, RECV, 210, 210, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 50 + 2 * LATENCY);
}

/* Both send first. The copy is made at once, whatever its size. */
static void check_buffered(uint32_t region)
{
    struct lull_trace *trace = two_processes(1);
    for (uint32_t p = 0; p < 2; p++) {
        uint64_t request = region == IBSEND ? 5 : LULL_NO_REQUEST;
        CALL(trace, p, region, 100, 120, LULL_EVENT_SEND, 1 - (int32_t)p, 1, LARGE, request);
        if (region == IBSEND)
            CALL(trace, p, WAIT, 120, 120, LULL_EVENT_SEND_DONE, 1 - (int32_t)p, 1, LARGE, 5);
        CALL(trace, p, RECV, 120, 200, LULL_EVENT_RECV, 1 - (int32_t)p, 1, LARGE, LULL_NO_REQUEST);
    }
    assert_int_equal(replay(trace, NULL), 100 + LATENCY);
}

static void buffered_sends_wait_for_nobody(void **state)
{
    (void)state;
    check_buffered(BSEND);
    check_buffered(IBSEND);
}

/* Where calls keep their length, so do blocking sends that wait for nobody; the message leaves when
 * they begin. A rendezvous takes what the network says. */
static void eager_sends_keep_their_length(void **state)
{
    (void)state;
    static const struct {
        uint32_t region;
        uint64_t bytes;
        int64_t length;
    } rows[] = {{SEND, 8, 40}, {BSEND, LARGE, 40}, {SEND, LARGE, LATENCY}};
    for (int i = 0; i < 3; i++) {
        struct lull_trace *trace = two_processes(1);
        CALL(trace, 0, rows[i].region, 100, 140, LULL_EVENT_SEND, 1, 1, rows[i].bytes,
             LULL_NO_REQUEST);
        CALL(trace, 1, RECV, 50, 160, LULL_EVENT_RECV, 0, 1, rows[i].bytes, LULL_NO_REQUEST);
        assert_int_equal(replay_kept(trace, NULL, LULL_KEEP_ALL), 100 + rows[i].length);
    }
}

/* Freeing the request of a send does not wait for it. */
static void a_freed_send_is_not_waited_for(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, ISEND, 10, 10, LULL_EVENT_SEND, 1, 1, LARGE, 5);
    CALL(trace, 0, FREE, 10, 10, LULL_EVENT_SEND_DONE, 1, 1, LARGE, 5);
    CALL(trace, 0, SEND, 50, 60, LULL_EVENT_SEND, 1, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, RECV, 0, 100, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, RECV, 100, 300, LULL_EVENT_RECV, 0, 1, LARGE, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 50 + 2 * LATENCY);
}

/* Starts an operation at `begin`, and waits for it from `wait` to `end`. */
static void start_and_wait(struct lull_trace *trace, uint32_t location, uint32_t region, uint8_t op,
                           int64_t begin, int64_t wait, int64_t end)
{
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(begin, LULL_EVENT_COLLECTIVE_BEGIN, 0),
                                  memory_event(begin, LULL_EVENT_LEAVE, region),
                                  memory_event(wait, LULL_EVENT_ENTER, WAIT),
                                  memory_event(end, LULL_EVENT_COLLECTIVE_END, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, WAIT)};
    for (int i = 0; i < 6; i++) {
        events[i].op = op;
        events[i].collective.request = 5;
        events[i].collective.root = LULL_ANY;
        memory_trace_add(trace, location, &events[i]);
    }
}

/* Whether a communicator is copied or a persistent operation is started: only the wait is for the
 * other process, which comes at 200. */
static void started_collectives_wait_when_they_are_waited_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t region;
        uint8_t op;
    } rows[] = {{IDUP, LULL_COLLECTIVE_CREATE}, {START, LULL_COLLECTIVE_BARRIER}};
    for (int i = 0; i < 2; i++) {
        struct lull_trace *trace = two_processes(1);
        start_and_wait(trace, 0, rows[i].region, rows[i].op, 10, 150, 300);
        CALL(trace, 0, SEND, 300, 300, LULL_EVENT_SEND, 1, 1, 8, LULL_NO_REQUEST);
        start_and_wait(trace, 1, rows[i].region, rows[i].op, 200, 205, 300);
        CALL(trace, 1, RECV, 300, 400, LULL_EVENT_RECV, 0, 1, 8, LULL_NO_REQUEST);
        assert_int_equal(replay(trace, NULL), 200 + 2 * LATENCY);
    }
}

/* Thread 0 of process 0 posts the receive, thread 1 waits for it: recorders tell of the second a
 * receive that has no request. */
static void a_receive_may_complete_on_another_thread(void **state)
{
    (void)state;
    static const bool callers[] = {false, true, false, false};
    struct lull_trace *trace = two_processes(2);
    CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    barrier(trace, 0, 300, 310);
    CALL(trace, 1, WAIT, 30, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 2, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    barrier(trace, 2, 110, 310);
    assert_int_equal(replay(trace, callers), 300 + LATENCY);
}

/* Process 0 starts a persistent send that is synchronous, waits for it, computes for 100 and sends
 * again; process 1 receives from 300 on. A standard or buffered send of 8 bytes waits for nobody,
 * and process 1 is the last at 300. */
static void started_sends_have_a_mode(void **state)
{
    (void)state;
    static const struct {
        uint8_t mode;
        int64_t end;
    } cases[] = {{LULL_SEND_STANDARD, 300},
                 {LULL_SEND_BUFFERED, 300},
                 {LULL_SEND_SYNCHRONOUS, 300 + LATENCY + 100 + LATENCY}};
    for (int i = 0; i < 3; i++) {
        struct lull_trace *trace = two_processes(1);
        struct lull_event start = message(LULL_EVENT_SEND, 1, 1, 8, 5);
        start.op = cases[i].mode;
        call(trace, 0, START, 10, 20, &start);
        CALL(trace, 0, WAIT, 20, 500, LULL_EVENT_SEND_DONE, 1, 1, 8, 5);
        CALL(trace, 0, SEND, 600, 610, LULL_EVENT_SEND, 1, 2, 8, LULL_NO_REQUEST);
        CALL(trace, 1, RECV, 300, 310, LULL_EVENT_RECV, 0, 1, 8, LULL_NO_REQUEST);
        CALL(trace, 1, RECV, 310, 620, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
        assert_int_equal(replay(trace, NULL), cases[i].end);
    }
}

/* A receive that was given up is waited for by nobody, and takes nothing. */
static void a_receive_that_was_given_up_takes_no_message(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    CALL(trace, 0, FREE, 20, 20, LULL_EVENT_REQUEST_FREED, 1, 1, 8, 5);
    CALL(trace, 0, RECV, 30, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 100 + LATENCY);
}

/* One message more was sent than received: a receive that was given up took it, and the next one
 * takes the next message, which leaves at 150. Whether the receive names its source and tag or
 * takes any makes no difference, nor does a second one that is given up and takes nothing. */
static void a_receive_that_was_given_up_may_take_a_message(void **state)
{
    (void)state;
    for (int any = 0; any < 2; any++) {
        const int source = any ? LULL_ANY : 1, tag = any ? LULL_ANY : 1;
        struct lull_trace *trace = two_processes(1);
        CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, source, tag, 8, 5);
        CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, source, tag, 8, 6);
        CALL(trace, 0, FREE, 20, 20, LULL_EVENT_REQUEST_FREED, 1, 1, 8, 5);
        CALL(trace, 0, FREE, 20, 20, LULL_EVENT_REQUEST_FREED, 1, 1, 8, 6);
        CALL(trace, 0, RECV, 30, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
        CALL(trace, 1, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
        CALL(trace, 1, SEND, 160, 170, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
        assert_int_equal(replay(trace, NULL), 100 + 50 + LATENCY);
    }
}

/* A wait fails, the program forgets a receive that was still pending, and that takes its message:
 * as MPICH has it where another receive of the wait was truncated. The next one takes the next. */
static void a_receive_that_was_forgotten_may_take_a_message(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    CALL(trace, 0, IRECV, 10, 10, LULL_EVENT_RECV_POST, 1, 2, 8, 6);
    CALL(trace, 0, WAITALL, 20, 180, LULL_EVENT_RECV, 1, 2, 8, 6);
    CALL(trace, 0, RECV, 180, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 110, 110, LULL_EVENT_SEND, 0, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 160, 170, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, NULL), 100 + 50 + LATENCY);
}

/* Of two receives that threads of one process give up, too, one has taken the message. */
static void threads_that_give_up_take_a_message_once(void **state)
{
    (void)state;
    static const bool callers[] = {true, true, true, false};
    struct lull_trace *trace = two_processes(2);
    for (uint32_t t = 0; t < 2; t++) {
        CALL(trace, t, IRECV, 10 + t, 10 + t, LULL_EVENT_RECV_POST, 1, 1, 8, 5 + t);
        CALL(trace, t, FREE, 20 + t, 20 + t, LULL_EVENT_REQUEST_FREED, 1, 1, 8, 5 + t);
    }
    CALL(trace, 0, RECV, 30, 200, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 2, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 2, SEND, 160, 170, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay(trace, callers), 100 + 50 + LATENCY);
}

/* Ten queries that find nothing, each with as much work behind it: the message leaves when all of
 * that is done. Where calls take no time, the work alone is left. */
static void polls_between_work_cost_their_time(void **state)
{
    (void)state;
    static const struct {
        uint8_t keep;
        int64_t length;
    } cases[] = {{LULL_KEEP_ALL, 200}, {LULL_KEEP_OTHERS, 200}, {LULL_KEEP_NONE, 100}};
    for (int i = 0; i < 3; i++) {
        struct lull_trace *trace = two_processes(1);
        for (int64_t at = 0; at < 200; at += 20)
            call(trace, 0, at % 40 ? TEST : IPROBE, at, at + 10, NULL);
        CALL(trace, 0, ISEND, 200, 200, LULL_EVENT_SEND, 1, 1, 8, 5);
        CALL(trace, 1, RECV, 0, 300, LULL_EVENT_RECV, 0, 1, 8, LULL_NO_REQUEST);
        assert_int_equal(replay_kept(trace, NULL, cases[i].keep), cases[i].length + LATENCY);
    }
}

/* Tests without work in between are a wait, which ends when the message is there: it leaves at 100,
 * and process 0 has computed for 35 by then. */
static void polls_without_work_are_a_wait(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 20, 20, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    for (int64_t at = 20; at < 155; at += 45)
        call(trace, 0, TEST, at, at + 40, NULL);
    CALL(trace, 0, TEST, 155, 200, LULL_EVENT_RECV, 1, 1, 8, 5);
    CALL(trace, 1, SEND, 100, 110, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay_kept(trace, NULL, LULL_KEEP_OTHERS), 100 + LATENCY);
}

/* A program that looks for messages after each piece of work, for longer than that takes: five
 * times five tests, and each time a send, before one of them finds what it asked for. The last
 * message is no later than its work is done. */
static void polls_in_vain_are_work(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 0, 0, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    int64_t at = 0;
    for (int part = 0; part < 5; part++) {
        for (int i = 0; i < 5; i++, at += 12)
            call(trace, 0, TEST, at, at + 10, NULL);
        CALL(trace, 0, ISEND, at, at, LULL_EVENT_SEND, 1, 2, 8, 6 + (uint64_t)part);
    }
    call(trace, 0, TEST, at, at + 10, NULL);
    CALL(trace, 0, TEST, at + 12, at + 12, LULL_EVENT_RECV, 1, 1, 8, 5);
    for (int64_t sent = 60, before = 0; sent <= at; before = sent + LATENCY, sent += 60)
        CALL(trace, 1, RECV, before, sent + LATENCY, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, at + LATENCY, at + LATENCY, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    assert_int_equal(replay_kept(trace, NULL, LULL_KEEP_OTHERS), at + 2 * LATENCY);
}

/* The same loop while it waits for a send: it asks for both, and the send has its answer. Only the
 * tests before the first that asks for it are work. */
static void polls_in_turns_wait_for_one_of_them(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 0, 0, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    CALL(trace, 0, ISEND, 0, 0, LULL_EVENT_SEND, 1, 2, LARGE, 6);
    for (int64_t at = 0; at < 220; at += 22) {
        call(trace, 0, TEST, at, at + 10, NULL);
        call(trace, 0, TESTANY, at + 11, at + 21, NULL);
    }
    CALL(trace, 0, TESTANY, 220, 230, LULL_EVENT_SEND_DONE, 1, 2, LARGE, 6);
    CALL(trace, 0, WAIT, 230, 500, LULL_EVENT_RECV, 1, 1, 8, 5);
    CALL(trace, 1, RECV, 210, 230, LULL_EVENT_RECV, 0, 2, LARGE, LULL_NO_REQUEST);
    CALL(trace, 1, SEND, 230, 240, LULL_EVENT_SEND, 0, 1, 8, LULL_NO_REQUEST);
    int64_t length = replay_kept(trace, NULL, LULL_KEEP_OTHERS);
    assert_in_range(length, 210 + LATENCY, 210 + 4 * LATENCY);
}

/* A test before something else than a wait is work, however soon that comes. */
static void a_poll_on_the_way_costs_its_time(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    CALL(trace, 0, IRECV, 0, 0, LULL_EVENT_RECV_POST, 1, 1, 8, 5);
    call(trace, 0, TEST, 20, 40, NULL);
    CALL(trace, 0, ISEND, 41, 41, LULL_EVENT_SEND, 1, 2, 8, 6);
    CALL(trace, 0, WAIT, 60, 200, LULL_EVENT_RECV, 1, 1, 8, 5);
    CALL(trace, 1, RECV, 0, 90, LULL_EVENT_RECV, 0, 2, 8, LULL_NO_REQUEST);
    CALL(trace, 1, ISEND, 90, 90, LULL_EVENT_SEND, 0, 1, 8, 5);
    assert_int_equal(replay_kept(trace, NULL, LULL_KEEP_ALL), 41 + 2 * LATENCY);
}

/* A probe waits, and so it takes no time of its own: the message leaves at 50. */
static void a_probe_is_no_work(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes(1);
    call(trace, 0, PROBE, 10, 200, NULL);
    CALL(trace, 0, RECV, 200, 210, LULL_EVENT_RECV, 1, 1, 8, LULL_NO_REQUEST);
    CALL(trace, 1, ISEND, 50, 50, LULL_EVENT_SEND, 0, 1, 8, 5);
    assert_int_equal(replay_kept(trace, NULL, LULL_KEEP_ALL), 50 + LATENCY);
}

TEST_GROUP(test_requests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_nothing_leaves_receives_open),
        cmocka_unit_test(a_wait_for_nothing_leaves_sends_open),
        cmocka_unit_test(a_cancelled_receive_takes_no_message),
        cmocka_unit_test(a_cancelled_send_sends_nothing),
        cmocka_unit_test(a_receive_that_completes_late_is_posted_early),
        cmocka_unit_test(buffered_sends_wait_for_nobody),
        cmocka_unit_test(eager_sends_keep_their_length),
        cmocka_unit_test(a_freed_send_is_not_waited_for),
        cmocka_unit_test(started_collectives_wait_when_they_are_waited_for),
        cmocka_unit_test(a_receive_may_complete_on_another_thread),
        cmocka_unit_test(started_sends_have_a_mode),
        cmocka_unit_test(a_receive_that_was_given_up_takes_no_message),
        cmocka_unit_test(a_receive_that_was_given_up_may_take_a_message),
        cmocka_unit_test(a_receive_that_was_forgotten_may_take_a_message),
        cmocka_unit_test(threads_that_give_up_take_a_message_once),
        cmocka_unit_test(polls_between_work_cost_their_time),
        cmocka_unit_test(polls_without_work_are_a_wait),
        cmocka_unit_test(polls_in_vain_are_work),
        cmocka_unit_test(polls_in_turns_wait_for_one_of_them),
        cmocka_unit_test(a_poll_on_the_way_costs_its_time),
        cmocka_unit_test(a_probe_is_no_work),
    };
    return run_cases(tests, NULL, NULL);
}
