/* What tapes tell beside regions and calls: how threads wait for each other, the main part of a process, the
 * mode of a send, receives that were given up. */
#include "activity/pass.h"
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"
#include "trace/convert.h"
#include "trace/format.h"

#include <stddef.h>
#include <string.h>

static void number(struct tape_maker *tape, uint64_t time, unsigned what, uint64_t value)
{
    tape_record(tape, time, LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID, what)[1].u64[0] = value;
}

static void wait_for(struct tape_maker *tape, uint64_t time, unsigned what, uint64_t value,
                     uint32_t location, uint32_t threads)
{
    union lull_tape_slot *slot =
        tape_record(tape, time, LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID, what);
    slot[1].u64[0] = value;
    slot[1].u32[2] = location;
    slot[1].u32[3] = threads;
}

/* A thread makes another one, meets it at a barrier, and waits for its end; so in process 1, whose
 * locations come behind those of process 0. */
static void write_threads(void)
{
    struct tape_maker tape;
    run_empty_processes(0, 1, 2);
    begin_process(&tape, 1, 2);
    number(&tape, 10, LULL_TAPE_NUMBER_THREAD_CREATE, 7);
    wait_for(&tape, 20, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, 5, LULL_TAPE_NO_LOCATION, 2);
    wait_for(&tape, 30, LULL_TAPE_NUMBER_THREAD_WAIT_END, 5, LULL_TAPE_NO_LOCATION, 2);
    wait_for(&tape, 40, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, 7, 1, 0);
    wait_for(&tape, 60, LULL_TAPE_NUMBER_THREAD_WAIT_END, 7, 1, 0);
    wait_for(&tape, 70, LULL_TAPE_NUMBER_THREAD_WAIT_END, 8, 3, 0); /* it has no tape */
    tape_write(&tape, run.path, 0);
    tape_begin(&tape, 1, 1);
    number(&tape, 15, LULL_TAPE_NUMBER_THREAD_BEGIN, 7);
    wait_for(&tape, 30, LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN, 5, LULL_TAPE_NO_LOCATION, 2);
    wait_for(&tape, 30, LULL_TAPE_NUMBER_THREAD_WAIT_END, 5, LULL_TAPE_NO_LOCATION, 2);
    number(&tape, 50, LULL_TAPE_NUMBER_THREAD_END, 7);
    tape_write(&tape, run.path, 0);
}

static void check_meeting(const struct lull_event *event, unsigned op, uint64_t meeting,
                          uint32_t location, uint32_t threads)
{
    assert_int_equal(event->op, op);
    assert_int_equal(event->meeting.number, meeting);
    assert_int_equal(event->meeting.location, location);
    assert_int_equal(event->meeting.threads, threads);
}

/* Times of a run begin with its first record, at 10. */
static void check_threads(void)
{
    struct same_sequence e = run_events(1);
    assert_int_equal(e.count, 6);
    check_event(&e, 0, LULL_EVENT_THREAD_CREATE, 0);
    assert_int_equal(e.events[0].number, 7);
    check_event(&e, 1, LULL_EVENT_THREAD_WAIT_BEGIN, 10);
    check_meeting(&e.events[1], LULL_THREAD_WAIT_BARRIER, 5, LULL_NONE, 2);
    check_event(&e, 2, LULL_EVENT_THREAD_WAIT_END, 20);
    check_meeting(&e.events[2], LULL_THREAD_WAIT_BARRIER, 5, LULL_NONE, 2);
    check_event(&e, 3, LULL_EVENT_THREAD_WAIT_BEGIN, 30);
    check_meeting(&e.events[3], LULL_THREAD_WAIT_JOIN, 7, 2, 0);
    check_event(&e, 4, LULL_EVENT_THREAD_WAIT_END, 50);
    check_meeting(&e.events[4], LULL_THREAD_WAIT_JOIN, 7, 2, 0);
    check_meeting(&e.events[5], LULL_THREAD_WAIT_JOIN, 8, LULL_NONE, 0);
    e = run_events(2);
    assert_int_equal(e.count, 4);
    check_event(&e, 0, LULL_EVENT_THREAD_BEGIN, 5);
    assert_int_equal(e.events[0].number, 7);
    check_event(&e, 3, LULL_EVENT_THREAD_END, 40);
    assert_int_equal(e.events[3].number, 7);
}

static void open_copy(void)
{
    const char *copy = folder_path("copy");
    assert_int_equal(lull_convert(run.trace, copy, &lull_format_tape, false, NULL, NULL, &run.err),
                     LULL_OK);
    run_close();
    run_open(copy);
}

static void test_waits(void **state)
{
    (void)state;
    write_threads();
    run_open(run.path);
    check_threads();
    open_copy();
    check_threads();
}

/* The steps of one kind and another, in one line each. */
static uint32_t steps_of(uint32_t location, uint64_t wants, struct lull_step *found, uint32_t most)
{
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}};
    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    uint32_t n = 0;
    assert_int_equal(lull_step_cursor_open(run.trace, location, wants, &options, &cursor, &run.err),
                     LULL_OK);
    do {
        assert_int_equal(lull_step_cursor_next(cursor, &steps, &run.err), LULL_OK);
        for (uint32_t i = 0; i < steps.count && n < most; i++)
            found[n++] = steps.steps[i];
    } while (steps.count > 0);
    lull_step_cursor_close(cursor);
    return n;
}

static void test_steps_of_threads(void **state)
{
    (void)state;
    struct lull_step found[8];
    const uint64_t wants =
        LULL_STEP_MASK(LULL_STEP_THREAD_CREATE) | LULL_STEP_MASK(LULL_STEP_THREAD_BEGIN) |
        LULL_STEP_MASK(LULL_STEP_THREAD_END) | LULL_STEP_MASK(LULL_STEP_THREAD_WAIT_BEGIN) |
        LULL_STEP_MASK(LULL_STEP_THREAD_WAIT_END);
    write_threads();
    run_open(run.path);
    assert_int_equal(steps_of(1, wants, found, 8), 6);
    assert_int_equal(found[0].kind, LULL_STEP_THREAD_CREATE);
    assert_int_equal(found[0].number, 7);
    assert_int_equal(found[3].kind, LULL_STEP_THREAD_WAIT_BEGIN);
    assert_int_equal(found[3].time, 30);
    assert_int_equal(found[4].kind, LULL_STEP_THREAD_WAIT_END);
    assert_int_equal(found[4].op, LULL_THREAD_WAIT_JOIN);
    assert_int_equal(found[4].meeting.number, 7);
    assert_int_equal(found[4].meeting.location, 2);
    assert_int_equal(steps_of(2, wants, found, 8), 4);
    assert_int_equal(found[0].kind, LULL_STEP_THREAD_BEGIN);
    assert_int_equal(found[0].number, 7);
    assert_int_equal(found[1].meeting.threads, 2);
    assert_int_equal(found[3].kind, LULL_STEP_THREAD_END);
    assert_int_equal(found[3].time, 40);
}

/* ---- the main part ----------------------------------------------------------------------------
 */

enum { ENDS = 1000 };

static void write_main(uint64_t begin, uint64_t end)
{
    struct tape_maker tape;
    begin_process(&tape, 0, 1);
    tape_record(&tape, 1, LULL_TAPE_ENTER, 0, 0, 0);
    tape_record(&tape, ENDS + 1, LULL_TAPE_LEAVE, 0, 0, 0);
    tape_write(&tape, run.path, 0);
    tape_begin(&tape, 0, 1); /* any thread may call MPI_Init */
    tape.header.main_begin = begin;
    tape.header.main_end = end;
    tape_write(&tape, run.path, 0);
}

static void check_main(bool has, int64_t begin, int64_t end)
{
    assert_int_equal(run.trace->has_main, has);
    assert_int_equal(run.trace->processes[0].main_begin, begin);
    assert_int_equal(run.trace->processes[0].main_end, end);
}

static void test_main_part(void **state)
{
    (void)state;
    write_main(101, 901);
    run_open(run.path);
    check_main(true, 100, 900);
    open_copy();
    check_main(true, 100, 900);
}

static void test_killed_before_finalize(void **state)
{
    (void)state;
    write_main(101, 0);
    run_open(run.path);
    check_main(true, 100, ENDS);
}

static void test_damaged_main_part(void **state)
{
    (void)state;
    write_main(901, 101);
    run_open(run.path);
    check_main(true, 900, ENDS);
    run_close();
    write_main(UINT64_MAX, UINT64_MAX);
    run_open(run.path);
    check_main(false, 0, ENDS);
}

/* ---- messages ---------------------------------------------------------------------------------
 */

static void write_messages(void)
{
    static const unsigned modes[] = {LULL_TAPE_MODE_STANDARD, LULL_TAPE_MODE_BUFFERED,
                                     LULL_TAPE_MODE_SYNCHRONOUS, 77};
    struct tape_maker tape;
    begin_process(&tape, 0, 2);
    for (unsigned i = 0; i < 4; i++) {
        union lull_tape_slot *slot =
            tape_record(&tape, 10, LULL_TAPE_MESSAGE, 2, 0, LULL_TAPE_MESSAGE_SEND);
        slot[1].u64[0] = 8;
        slot[1].u64[1] = LULL_TAPE_NEXT_REQUEST;
        slot[2].i32[0] = 1;
        slot[2].u32[2] = modes[i];
    }
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 20, 4, 1, 1, 5, 0, 100);
    union lull_tape_slot *freed = tape_record(&tape, 30, LULL_TAPE_CALL_WAIT, 1, 5, 4) + 1;
    freed->u32[0] = 4;
    freed->u32[3] = LULL_TAPE_FREED;
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 2, 2);
}

static void check_messages(void)
{
    static const uint8_t modes[] = {LULL_SEND_STANDARD, LULL_SEND_BUFFERED, LULL_SEND_SYNCHRONOUS,
                                    LULL_SEND_STANDARD};
    struct same_sequence e = run_events(0);
    assert_int_equal(e.count, 4 + 2 + 2);
    for (unsigned i = 0; i < 4; i++) {
        check_event(&e, i, LULL_EVENT_SEND, 0);
        assert_int_equal(e.events[i].op, modes[i]);
    }
    check_event(&e, 5, LULL_EVENT_RECV_POST, 10);
    check_event(&e, 7, LULL_EVENT_REQUEST_FREED, 24);
    assert_int_equal(e.events[7].message.request, e.events[5].message.request);
}

static void test_messages(void **state)
{
    (void)state;
    write_messages();
    run_open(run.path);
    check_messages();
    open_copy();
    check_messages();
}

static void test_steps_of_messages(void **state)
{
    (void)state;
    struct lull_step found[8];
    write_messages();
    run_open(run.path);
    assert_int_equal(steps_of(0,
                              LULL_STEP_MASK(LULL_STEP_SEND) | LULL_STEP_MASK(LULL_STEP_FREE) |
                                  LULL_STEP_MASK(LULL_STEP_CANCEL),
                              found, 8),
                     5);
    assert_int_equal(found[1].op, LULL_SEND_BUFFERED);
    assert_int_equal(found[2].op, LULL_SEND_SYNCHRONOUS);
    assert_int_equal(found[4].kind, LULL_STEP_FREE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_threads)
{
    const struct CMUnitTest tests[] = {
        TEST(test_waits),
        TEST(test_steps_of_threads),
        TEST(test_main_part),
        TEST(test_killed_before_finalize),
        TEST(test_damaged_main_part),
        TEST(test_messages),
        TEST(test_steps_of_messages),
    };
    return run_cases(tests, NULL, NULL);
}
