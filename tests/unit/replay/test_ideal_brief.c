/* The ideal runtime from whole steps and from calls in short, worked out by hand: a wait that
 * completes a send alone, while more receives are open than one step tells. */
#include "replay/ideal/ideal.h"
#include "support/memory_trace.h"
#include "support/test.h"

enum { IRECV, ISEND, WAIT, WAITALL };
static const char *const names[] = {"MPI_Irecv", "MPI_Isend", "MPI_Wait", "MPI_Waitall", NULL};

enum { MESSAGES = 300, SENT = MESSAGES /* the request of process 0's own message */ };

static void call(struct lull_trace *trace, uint32_t process, uint32_t region, int64_t begin,
                 int64_t end)
{
    const struct lull_event event = memory_span(begin, LULL_EVENT_CALL, region, end - begin);
    memory_trace_add(trace, process, &event);
}

static void message(struct lull_trace *trace, uint32_t process, unsigned kind, int64_t time,
                    uint64_t request)
{
    struct lull_event event = memory_event(time, kind, 0);
    event.message.peer = 1 - (int32_t)process;
    event.message.tag = 7;
    event.message.request = request;
    memory_trace_add(trace, process, &event);
}

/* Process 0 computes for 10, 90, 10 and 100 ns, has to wait for what process 1 sends after 450 ns,
 * and computes for 250 ns.
 * `tells_receives`: the tracer records what receives received; else what was sent is taken, at the
 * wait that completes no send. */
static struct lull_trace *exchange(bool tells_receives)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, names);
    memory_trace_world(trace, 2);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        call(trace, 0, IRECV, 10 + (int64_t)i, 11 + (int64_t)i);
        message(trace, 0, LULL_EVENT_RECV_POST, 10 + (int64_t)i, i);
    }
    call(trace, 0, ISEND, 400, 410);
    message(trace, 0, LULL_EVENT_SEND, 400, SENT);
    call(trace, 0, WAIT, 420, 500);
    message(trace, 0, LULL_EVENT_SEND_DONE, 500, SENT);
    call(trace, 0, WAITALL, 600, 750);
    for (uint64_t i = 0; tells_receives && i < MESSAGES; i++)
        message(trace, 0, LULL_EVENT_RECV, 750, i);
    call(trace, 1, ISEND, 450, 1000);
    for (uint64_t i = 0; i <= MESSAGES; i++) /* one is never received */
        message(trace, 1, LULL_EVENT_SEND, 450, i);
    return trace;
}

static void check(bool presumes_masters, bool tells_receives)
{
    struct lull_trace *trace = exchange(tells_receives);
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_ideal_options options = {.presumes_masters = presumes_masters};
    struct lull_ideal_result result;
    struct lull_error err = {""};
    fail_if(lull_ideal_runtime(trace, &options, arena, &result, &err) != LULL_OK, "%s", err.text);
    assert_null(result.absent);
    assert_int_equal(result.runtime, 450 + 250);
    assert_int_equal(result.messages, MESSAGES);
    assert_int_equal(result.unmatched_sends, 2);
    assert_int_equal(result.lost_ns, 0);
    lull_arena_destroy(arena);
    lull_trace_close(trace);
}

static void whole_steps(void **state)
{
    (void)state;
    check(false, true);
    check(false, false);
}

static void calls_in_short(void **state)
{
    (void)state;
    check(true, true);
    check(true, false);
}

/* Nor is one named. */
static void no_call_was_lost(void **state)
{
    struct lull_trace *trace = exchange(true);
    const struct lull_ideal_options options = {0};
    struct lull_ideal_result result;
    struct lull_error err = {""};
    (void)state;
    fail_if(lull_ideal_runtime(trace, &options, trace->arena, &result, &err) != LULL_OK, "%s",
            err.text);
    assert_int_equal(result.lost_ns, 0);
    assert_null(result.lost);
    lull_trace_close(trace);
}

/* Both meet at 100 in a barrier, behind which process 1 sends, after 340 ns: no receive is recorded,
 * but who has been through the barrier can wait for it, and computes for 250 ns then. */
static void a_lost_receive_behind_a_barrier(void **state)
{
    static const char *const regions[] = {"MPI_Irecv",   "MPI_Isend",   "MPI_Wait",
                                          "MPI_Waitall", "MPI_Barrier", NULL};
    struct lull_trace *trace = memory_trace_simple(2, 1, 1000, regions);
    const struct lull_ideal_options options = {0};
    struct lull_ideal_result result;
    struct lull_error err = {""};
    (void)state;
    memory_trace_world(trace, 2);
    for (uint32_t p = 0; p < 2; p++) {
        call(trace, p, WAITALL + 1, 100, 110);
        struct lull_event event = memory_event(110, LULL_EVENT_COLLECTIVE_END, 0);
        event.op = LULL_COLLECTIVE_BARRIER;
        event.collective.request = LULL_NO_REQUEST;
        event.collective.root = LULL_ANY;
        memory_trace_add(trace, p, &event);
    }
    call(trace, 0, IRECV, 200, 201);
    message(trace, 0, LULL_EVENT_RECV_POST, 200, 0);
    call(trace, 0, WAITALL, 210, 750);
    call(trace, 1, ISEND, 450, 1000);
    message(trace, 1, LULL_EVENT_SEND, 450, 0);
    fail_if(lull_ideal_runtime(trace, &options, trace->arena, &result, &err) != LULL_OK, "%s",
            err.text);
    assert_int_equal(result.messages, 1);
    assert_int_equal(result.runtime, 100 + 340 + 250);
    lull_trace_close(trace);
}

TEST_GROUP(test_ideal_brief)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_steps),
        cmocka_unit_test(calls_in_short),
        cmocka_unit_test(no_call_was_lost),
        cmocka_unit_test(a_lost_receive_behind_a_barrier),
    };
    return run_cases(tests, NULL, NULL);
}
