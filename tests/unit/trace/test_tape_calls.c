/* MPI calls of a tape: messages, requests and what completes them, collectives. */
#include "metrics/breakdown.h"
#include "study/census.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <stddef.h>
#include <string.h>

static void test_blocking_messages(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 2, 7, 0, (UINT64_C(1) << 40) - 1);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 20, 2, 6, 1, 8, 0, 99);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 30, 1, 1, LULL_PROC_NULL, 8, 0, 0);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence events = run_events(0);
    assert_int_equal(events.count, 6);
    check_event(&events, 0, LULL_EVENT_CALL, 0);
    check_event(&events, 1, LULL_EVENT_SEND, 0);
    check_event(&events, 2, LULL_EVENT_CALL, 10);
    check_event(&events, 3, LULL_EVENT_RECV, 16);
    check_event(&events, 5, LULL_EVENT_SEND, 20);
    assert_string_equal(run.trace->regions[events.events[0].id].name, "MPI_Send");
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
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
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
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
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
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
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
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    struct same_sequence e = run_events(0), only;
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
    assert_int_equal(
        collect_by_cursor(run.trace, 0, LULL_MASK(LULL_EVENT_RECV), run.arena, &only, &run.err),
        LULL_OK);
    assert_int_equal(only.count, MANY);
    assert_int_equal(
        collect_by_cursor(run.trace, 0, LULL_MASK(LULL_EVENT_CALL), run.arena, &only, &run.err),
        LULL_OK);
    assert_int_equal(only.count, MANY + 3);
}

/* A request that stays open while millions come and go takes no memory for those. */
static void test_one_request_outlives_many(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 0, 4, 0, 0, 7, 0, 700);
    for (uint32_t i = 1; i < MANY; i++) {
        tape_message_call(&tape, LULL_TAPE_CALL_ISEND, i, 3, 0, 0, 8, 0, i);
        union lull_tape_slot *done = tape_record(&tape, i, LULL_TAPE_CALL_WAIT, 1, 5, 0) + 1;
        done->u32[0] = i;
        done->u32[1] = 1;
    }
    union lull_tape_slot *done = tape_record(&tape, MANY, LULL_TAPE_CALL_WAIT, 1, 5, 0) + 1;
    done->u32[1] = 1;
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    struct same_sequence e;
    const uint64_t mask = LULL_MASK(LULL_EVENT_RECV) | LULL_MASK(LULL_EVENT_SEND_DONE);
    assert_int_equal(collect_by_cursor(run.trace, 0, mask, run.arena, &e, &run.err), LULL_OK);
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
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_COLLECTIVE, 10, 6, 9, 1, 0,
                                  UINT64_C(1) << 39, 17);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 3);
    check_event(&e, 1, LULL_EVENT_COLLECTIVE_BEGIN, 0);
    check_event(&e, 2, LULL_EVENT_COLLECTIVE_END, 9);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(e.events[i].op, LULL_COLLECTIVE_BCAST);
        assert_int_equal(e.events[i].collective.root, 2);
        assert_true(e.events[i].collective.sent == UINT64_C(1) << 39);
        assert_int_equal(e.events[i].collective.received, 17);
        assert_true(e.events[i].collective.request == LULL_NO_REQUEST);
        assert_string_equal(run.trace->comms[e.events[i].id].name, "two");
    }
}

static void test_long_calls(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32,
                                       UINT64_C(1) << 50};
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    uint64_t at = 0;
    for (size_t i = 0; i < 4; at += lengths[i++])
        tape_call(&tape, at, 0, lengths[i]);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true((uint64_t)e.events[i].duration == lengths[i]);
    assert_true((uint64_t)run.trace->duration == at);
}

/* One record of a hundred queries that found nothing, and one query by itself. */
static void test_merged_calls(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    lull_tape_put_calls(tape_room(&tape, 2), 10, 1, 40, 99);
    tape_call(&tape, 60, 1, 5);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 2);
    assert_int_equal(lull_calls_of(&e.events[0]), 100);
    assert_int_equal(e.events[0].duration, 40);
    assert_int_equal(lull_calls_of(&e.events[1]), 1);

    const struct lull_reading whole = {.application = LULL_NONE, .workers = 1};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err), LULL_OK);
    assert_int_equal(census->events[LULL_EVENT_CALL], 101);
    const struct lull_breakdown_options options = {.regions = true};
    struct lull_breakdown *breakdown;
    assert_int_equal(lull_breakdown_compute(run.trace, &options, run.arena, &breakdown, &run.err),
                     LULL_OK);
    assert_int_equal(breakdown->n_regions, 1);
    assert_int_equal(breakdown->regions[0].visits, 101);
    assert_int_equal(breakdown->regions[0].exclusive_ns, 45);
}

/* A copy says the same. */
static void test_merged_calls_are_copied(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    lull_tape_put_calls(tape_room(&tape, 2), 10, 1, 40, 99);
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    const char *copy = folder_path("copy");
    assert_int_equal(lull_convert(run.trace, copy, &lull_format_tape, false, NULL, NULL, &run.err),
                     LULL_OK);
    run_close();
    run_open(copy);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 1);
    assert_int_equal(lull_calls_of(&e.events[0]), 100);
    assert_int_equal(e.events[0].duration, 40);
}

static void test_too_many_merged_calls(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    lull_tape_put_calls(tape_room(&tape, 2), 10, 1, 40, UINT64_MAX);
    tape_write(&tape, run.path, 0);
    assert_int_equal(lull_trace_open(run.path, &run.trace, &run.err), LULL_OK);
    const struct lull_reading whole = {.application = LULL_NONE, .workers = 1};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err),
                     LULL_ERR_FORMAT);
    assert_non_null(strstr(run.err.text, "stands for too many calls"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_calls)
{
    const struct CMUnitTest tests[] = {
        TEST(test_blocking_messages),     TEST(test_requests),
        TEST(test_many_completions),      TEST(test_one_request_outlives_many),
        TEST(test_collectives),           TEST(test_long_calls),
        TEST(test_merged_calls),          TEST(test_merged_calls_are_copied),
        TEST(test_too_many_merged_calls),
    };
    return run_cases(tests, NULL, NULL);
}
