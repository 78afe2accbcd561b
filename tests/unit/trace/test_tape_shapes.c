/* Calls that are like the last one of their shape. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

/* The last `slots` that were made, as the number of a shape. */
static uint32_t shape_of_last(const struct tape_maker *tape, unsigned slots)
{
    return lull_tape_shape_of_record(&tape->slots[tape->count - slots]);
}

static void like(struct tape_maker *tape, uint64_t time, uint32_t shape, uint32_t duration)
{
    tape_record(tape, time, LULL_TAPE_CALL_LIKE, 0, shape, duration);
}

static void check_message(const struct same_sequence *events, size_t index, unsigned kind,
                          int64_t time, int32_t peer, int32_t tag, uint64_t bytes)
{
    const struct lull_event *event = &events->events[index];
    check_event(events, index, kind, time);
    assert_int_equal(event->message.peer, peer);
    assert_int_equal(event->message.tag, tag);
    assert_int_equal(event->message.bytes, bytes);
}

static void test_messages(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 0, 1, 5, 2, 7, 0, 40);
    const uint32_t send = shape_of_last(&tape, 2);
    like(&tape, 10, send, 3);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 20, 2, 6, 1, 8, 0, 99);
    const uint32_t receive = shape_of_last(&tape, 2);
    like(&tape, 30, send, 4);
    like(&tape, 40, receive, 5);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 10);
    check_event(&e, 2, LULL_EVENT_CALL, 10);
    assert_int_equal(e.events[2].duration, 3);
    assert_string_equal(run.trace->regions[e.events[2].id].name, "MPI_Send");
    check_message(&e, 3, LULL_EVENT_SEND, 10, 2, 7, 40);
    check_message(&e, 7, LULL_EVENT_SEND, 30, 2, 7, 40);
    assert_string_equal(run.trace->regions[e.events[8].id].name, "MPI_Recv");
    check_message(&e, 9, LULL_EVENT_RECV, 45, 1, 8, 99);
    assert_true(e.events[9].message.request == LULL_NO_REQUEST);
}

/* The receiving half stands in the second slot. */
static void test_exchange(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    union lull_tape_slot *slot = tape_record(&tape, 0, LULL_TAPE_CALL_SENDRECV, 2, 1, 5);
    slot[1] = (union lull_tape_slot){.i32 = {1, 7, 40, 0}};
    slot[2] = (union lull_tape_slot){.i32 = {2, 8, 50, 0}};
    like(&tape, 10, shape_of_last(&tape, 3), 6);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 6);
    check_message(&e, 4, LULL_EVENT_SEND, 10, 1, 7, 40);
    check_message(&e, 5, LULL_EVENT_RECV, 16, 2, 8, 50);
}

/* Requests get the next numbers, whichever form opens them; a long call takes the place, too. */
static void test_requests_and_long_calls(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    union lull_tape_slot *slot = tape_record(&tape, 0, LULL_TAPE_CALL_ISEND, 2, 3, LULL_TAPE_OPEN);
    slot[1] = (union lull_tape_slot){.i32 = {1, 7, 40, 0}};
    slot[2].u64[0] = UINT64_C(1) << 40;
    const uint32_t send = shape_of_last(&tape, 3);
    const uint64_t then = UINT64_C(1) << 41;
    like(&tape, then, send, 1);
    lull_tape_put_collective_call(tape_room(&tape, 2), LULL_TAPE_CALL_ICOLLECTIVE, then + 2, 7, 1,
                                  0, LULL_TAPE_NO_ROOT, 0, 0);
    like(&tape, then + 4, shape_of_last(&tape, 2), 1);
    tape_record(&tape, then + 6, LULL_TAPE_CALL_WAIT, 0, 5, 1);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 13);
    assert_true(e.events[0].duration == INT64_C(1) << 40);
    check_message(&e, 3, LULL_EVENT_SEND, (int64_t)then, 1, 7, 40);
    assert_int_equal(e.events[1].message.request, 0);
    assert_int_equal(e.events[3].message.request, 1);
    check_event(&e, 7, LULL_EVENT_COLLECTIVE_BEGIN, (int64_t)then + 4);
    assert_int_equal(e.events[7].collective.request, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(e.events[9 + i].message.request, i);
        assert_int_equal(e.events[11 + i].collective.request, 2 + i);
    }
}

/* Tags are tried until two calls have one shape: the later one is what a call is like. */
static void test_the_last_one_counts(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 0, 1, 5, 2, 0, 0, 40);
    const uint32_t shape = shape_of_last(&tape, 2);
    int32_t tag = 0;
    do
        tape.slots[1].i32[1] = ++tag;
    while (shape_of_last(&tape, 2) != shape);
    tape.slots[1].i32[1] = 0;
    like(&tape, 10, shape, 5);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 20, 1, 5, 2, tag, 0, 40);
    like(&tape, 30, shape, 5);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 8);
    check_message(&e, 3, LULL_EVENT_SEND, 10, 2, 0, 40);
    check_message(&e, 7, LULL_EVENT_SEND, 30, 2, tag, 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_shapes)
{
    const struct CMUnitTest tests[] = {
        TEST(test_messages),
        TEST(test_exchange),
        TEST(test_requests_and_long_calls),
        TEST(test_the_last_one_counts),
    };
    return run_cases(tests, NULL, NULL);
}
