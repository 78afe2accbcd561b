/* Synchronous sends on an ideal network, worked out by hand: they are over when their receive has
 * begun. The ideal runtime and the replay on the network `ideal` are one number. */
#include "replay/ideal/ideal.h"
#include "replay/replay.h"
#include "sim/engine/engine.h"
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>

enum { SSEND, ISSEND, SEND, RECV, IRECV, WAIT, FREE, FINALIZE };
static const char *const names[] = {"MPI_Ssend",        "MPI_Issend",   "MPI_Send",
                                    "MPI_Recv",         "MPI_Irecv",    "MPI_Wait",
                                    "MPI_Request_free", "MPI_Finalize", NULL};
enum { LENGTH = 1000, REQUEST = 5 };

/* A call with one operation: what begins is at its begin, what completes at its end. */
static void call(struct lull_trace *trace, uint32_t location, uint32_t region, int64_t begin,
                 int64_t end, unsigned kind, int32_t tag)
{
    const bool opens = kind == LULL_EVENT_SEND || kind == LULL_EVENT_RECV_POST;
    const bool blocks = region == SSEND || region == SEND || region == RECV;
    struct lull_event events[] = {memory_event(begin, LULL_EVENT_ENTER, region),
                                  memory_event(opens ? begin : end, kind, 0),
                                  memory_event(end, LULL_EVENT_LEAVE, region)};
    events[1].message.peer = 1 - (int32_t)location;
    events[1].message.tag = tag;
    events[1].message.bytes = 8;
    events[1].message.request = blocks ? LULL_NO_REQUEST : REQUEST;
    for (int i = 0; i < 3; i++)
        memory_trace_add(trace, location, &events[i]);
}

static struct lull_trace *two_processes(void)
{
    struct lull_trace *trace = memory_trace_simple(2, 1, LENGTH, names);
    memory_trace_world(trace, 2);
    return trace;
}

static int64_t ideal_of(const struct lull_trace *trace, struct lull_arena *arena)
{
    const struct lull_ideal_options options = {.presumes_masters = true};
    struct lull_ideal_result result;
    struct lull_error err = {""};
    fail_if(lull_ideal_runtime(trace, &options, arena, &result, &err) != LULL_OK, "%s", err.text);
    fail_if(result.absent, "%s: %s", result.absent, result.detail);
    return result.runtime;
}

/* Both; closes the trace. Behind its last event a process is in MPI. */
static void check_both(struct lull_trace *trace, int64_t expected)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_replay_options options = {0};
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_options wanted = {.network = &network};
    struct lull_sim_result result;
    struct lull_error err = {""};
    memory_trace_end_in(trace, FINALIZE);
    assert_int_equal(ideal_of(trace, arena), expected);
    lull_network_init(&network, lull_network_find("ideal"));
    fail_if(lull_replay_open(trace, &options, &program, &err) != LULL_OK ||
                lull_simulate(program, &wanted, arena, &result, NULL, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(result.runtime, expected);
    lull_program_close(program);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* Process 0 sends at 10 and goes on for 300 ns; process 1 receives at 200. */
static void a_send_ends_when_its_receive_begins(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes();
    call(trace, 0, SSEND, 10, 210, LULL_EVENT_SEND, 1);
    call(trace, 0, SEND, 510, 520, LULL_EVENT_SEND, 2);
    call(trace, 1, RECV, 200, 220, LULL_EVENT_RECV, 1);
    call(trace, 1, RECV, 230, 530, LULL_EVENT_RECV, 2);
    check_both(trace, 200 + 300);
}

/* The receive of process 1 is posted at 50; before it is waited for, another one waits for what
 * process 0 sends 100 ns behind its synchronous send. 20 ns later all is over. */
static void a_receive_begins_where_it_is_posted(void **state)
{
    (void)state;
    struct lull_trace *trace = two_processes();
    call(trace, 0, SSEND, 10, 60, LULL_EVENT_SEND, 1);
    call(trace, 0, SEND, 160, 170, LULL_EVENT_SEND, 2);
    call(trace, 1, IRECV, 50, 55, LULL_EVENT_RECV_POST, 1);
    call(trace, 1, RECV, 60, 180, LULL_EVENT_RECV, 2);
    call(trace, 1, WAIT, 200, 210, LULL_EVENT_RECV, 1);
    check_both(trace, 50 + 100 + 20);
}

/* What does not block waits where it is waited for, at 40, and 100 ns are left; given back, it
 * waits for nobody, and process 1 is the last. */
static void a_send_that_does_not_block_is_waited_for(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        struct lull_trace *trace = two_processes();
        call(trace, 0, ISSEND, 10, 20, LULL_EVENT_SEND, 1);
        call(trace, 0, waits ? WAIT : FREE, 50, waits ? 220 : 60, LULL_EVENT_SEND_DONE, 1);
        call(trace, 0, SEND, waits ? 320 : 160, 340, LULL_EVENT_SEND, 2);
        call(trace, 1, RECV, 200, 210, LULL_EVENT_RECV, 1);
        call(trace, 1, RECV, 215, 350, LULL_EVENT_RECV, 2);
        check_both(trace, waits ? 200 + 100 : 200 + 5);
    }
}

/* Of which no receive is recorded: nobody knows how long that would take. */
static void a_send_that_nobody_receives_waits_for_nobody(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_trace *trace = two_processes();
    call(trace, 0, SSEND, 10, 210, LULL_EVENT_SEND, 1);
    call(trace, 0, SEND, 510, 520, LULL_EVENT_SEND, 2);
    call(trace, 1, RECV, 230, 530, LULL_EVENT_RECV, 2);
    memory_trace_end_in(trace, FINALIZE);
    assert_int_equal(ideal_of(trace, arena), 10 + 300);
    lull_trace_close(trace);
    lull_arena_destroy(arena);
}

/* Process 1 was killed before it received the second message. Process 0 computes for 110 ns before its first
 * send, and for 380 ns between the two. Where processes came to MPI_Finalize, a send without a receive
 * is an error. */
static void a_receiver_that_was_killed(void **state)
{
    static const unsigned sends[] = {SEND, SSEND};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool was_killed = i < 2;
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_trace *trace = memory_trace_simple(2, 1, 510, names);
        const struct lull_replay_options options = {0};
        struct lull_program *program;
        struct lull_network network;
        struct lull_sim_options wanted = {.network = &network};
        struct lull_sim_result result;
        struct lull_error err = {""};
        memory_trace_world(trace, 2);
        trace->has_main = true;
        for (int p = 0; p < 2; p++) {
            trace->processes[p].main_begin = 5;
            trace->processes[p].main_end = was_killed ? 510 : 505;
        }
        call(trace, 0, SEND, 110, 120, LULL_EVENT_SEND, 1);
        call(trace, 0, sends[i % 2], 500, 510, LULL_EVENT_SEND, 2);
        call(trace, 1, RECV, 50, 130, LULL_EVENT_RECV, 1);
        lull_network_init(&network, lull_network_find("ideal"));
        assert_int_equal(lull_replay_open(trace, &options, &program, &err), LULL_OK);
        const lull_status status = lull_simulate(program, &wanted, arena, &result, NULL, &err);
        if (was_killed) {
            fail_if(status != LULL_OK, "%s", err.text);
            assert_int_equal(result.runtime, 110 + 380);
        } else {
            assert_int_equal(status, LULL_ERR_FORMAT);
        }
        lull_program_close(program);
        lull_trace_close(trace);
        lull_arena_destroy(arena);
    }
}

TEST_GROUP(test_synchronous)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_send_ends_when_its_receive_begins),
        cmocka_unit_test(a_receive_begins_where_it_is_posted),
        cmocka_unit_test(a_send_that_does_not_block_is_waited_for),
        cmocka_unit_test(a_send_that_nobody_receives_waits_for_nobody),
        cmocka_unit_test(a_receiver_that_was_killed),
    };
    return run_cases(tests, NULL, NULL);
}
