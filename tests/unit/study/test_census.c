/* What lull info counts. */
#include "study/census.h"

#include "activity/pass.h"
#include "support/tape_run.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

/* The ends of a chain send to and receive from nobody, by blocking and other calls. */
static void test_nobody_is_no_partner(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 3);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10, 1, 5, 1, 7, 0, 40);
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 20, 2, 5, LULL_PROC_NULL, 7, 0, 0);
    tape_message_call(&tape, LULL_TAPE_CALL_SEND, 30, 1, 5, LULL_PROC_NULL, 7, 0, 40);
    tape_message_call(&tape, LULL_TAPE_CALL_ISEND, 40, 3, 1, LULL_PROC_NULL, 7, 0, 40);
    tape_message_call(&tape, LULL_TAPE_CALL_IRECV, 42, 4, 1, LULL_PROC_NULL, 7, 0, 40);
    tape_record(&tape, 50, LULL_TAPE_CALL_WAIT, 0, 5, 4);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 3, 3);
    run_open(run.path);
    const struct lull_reading whole = {.application = LULL_NONE, .workers = 1};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err), LULL_OK);
    assert_int_equal(census->sent, 1);
    assert_int_equal(census->sent_bytes, 40);
    assert_int_equal(census->received, 0);
    assert_int_equal(census->received_bytes, 0);
}

/* A tracer that did not learn how much was received wrote 1.8 EiB. */
static void test_impossible_size(void **state)
{
    (void)state;
    struct tape_maker tape;
    begin_process(&tape, 0, 2);
    union lull_tape_slot *slots =
        tape_record(&tape, 10, LULL_TAPE_MESSAGE, 2, 0, LULL_TAPE_MESSAGE_RECV) + 1;
    slots[0].u64[0] = UINT64_C(0x1999999999999999);
    slots[0].u64[1] = LULL_NO_REQUEST;
    slots[1].i32[0] = 1;
    tape_message_call(&tape, LULL_TAPE_CALL_RECV, 20, 2, 5, 1, 7, 0, 100);
    tape_write(&tape, run.path, 0);
    run_empty_processes(1, 2, 2);
    run_open(run.path);
    const struct lull_reading whole = {.application = LULL_NONE, .workers = 1};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err), LULL_OK);
    assert_int_equal(census->received, 2);
    assert_int_equal(census->received_bytes, 100);
    struct lull_quirk *quirks;
    assert_int_equal(lull_trace_quirks(run.trace, run.arena, &quirks), 1);
    assert_int_equal(quirks[0].count, 1);
    assert_non_null(strstr(quirks[0].kind, "beyond 1 PiB"));

    struct lull_step_cursor *cursor;
    struct lull_steps steps;
    const struct lull_pass_options options = {
        .reading = &(const struct lull_reading){.application = LULL_NONE}};
    assert_int_equal(lull_step_cursor_open(run.trace, 0, LULL_STEP_MASK(LULL_STEP_RECV), &options,
                                           &cursor, &run.err),
                     LULL_OK);
    assert_int_equal(lull_step_cursor_next(cursor, &steps, &run.err), LULL_OK);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < steps.count; i++)
        sum += steps.steps[i].kind == LULL_STEP_RECV ? steps.steps[i].message.bytes : 0;
    assert_int_equal(sum, 100);
    lull_step_cursor_close(cursor);
}

/* Process 0 sends `sent` messages of 40 bytes to process 1, which receives `received` of them; the
 * last receive tells 382 TiB. */
static const struct lull_census *count_sizes(int sent, int received)
{
    struct tape_maker tape;
    begin_process(&tape, 0, 2);
    for (int i = 0; i < sent; i++)
        tape_message_call(&tape, LULL_TAPE_CALL_SEND, 10 + 10 * i, 1, 5, 1, 7, 0, 40);
    tape_write(&tape, run.path, 0);
    begin_process(&tape, 1, 2);
    for (int i = 0; i + 1 < received; i++)
        tape_message_call(&tape, LULL_TAPE_CALL_RECV, 15 + 10 * i, 2, 5, 0, 7, 0, 40);
    union lull_tape_slot *slots =
        tape_record(&tape, 500, LULL_TAPE_MESSAGE, 2, 0, LULL_TAPE_MESSAGE_RECV) + 1;
    slots[0].u64[0] = UINT64_C(382) << 40;
    slots[0].u64[1] = LULL_NO_REQUEST;
    slots[1].i32[0] = 0;
    slots[1].i32[1] = 7;
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    const struct lull_reading whole = {.application = LULL_NONE, .workers = 1};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err), LULL_OK);
    assert_int_equal(census->sent_bytes, 40 * sent);
    assert_int_equal(census->received, received);
    struct lull_quirk *quirks;
    const uint32_t n = lull_trace_quirks(run.trace, run.arena, &quirks);
    assert_int_equal(n, received <= sent);
    assert_true(n == 0 || strstr(quirks[0].kind, "larger messages than any that was sent"));
    return census;
}

/* What is received is as large as what was sent. */
static void test_size_of_receives(void **state)
{
    (void)state;
    assert_int_equal(count_sizes(3, 3)->received_bytes, 120);
}

static void test_size_of_some_receives(void **state)
{
    (void)state;
    assert_true(count_sizes(3, 2)->received_bytes == LULL_UNKNOWN_BYTES);
}

/* Where sends are missing, a large one may be among them. */
static void test_size_without_sends(void **state)
{
    (void)state;
    assert_true(count_sizes(1, 2)->received_bytes == (UINT64_C(382) << 40) + 40);
}

/* A stream ran two kernels and a copy, and one has run nothing. */
static void test_streams(void **state)
{
    (void)state;
    struct definitions_maker maker;
    struct tape_maker tape;
    define_process(&maker, 0, 1);
    definitions_add(&maker, LULL_TAPE_DEFINE_REGION, 8, "uuuuss", LULL_TAPE_PARADIGM_DEVICE,
                    LULL_TAPE_ROLE_KERNEL, 0, 0, "axpy", "");
    definitions_add(&maker, LULL_TAPE_DEFINE_REGION, 9, "uuuuss", LULL_TAPE_PARADIGM_DEVICE,
                    LULL_TAPE_ROLE_DATA_TRANSFER, 0, 0, "copy to device", "");
    definitions_write(&maker, run.path);
    tape_begin(&tape, 0, 0);
    tape_call(&tape, 10, 1, 100);
    tape_write(&tape, run.path, 0);
    for (uint32_t s = 0; s < 2; s++) {
        tape_begin(&tape, 0, LULL_TAPE_FIRST_STREAM + s);
        tape.header.kind = 1;
        for (uint32_t i = 0; s == 0 && i < 3; i++) {
            tape_call(&tape, 20 + 20 * i, i == 1 ? 9 : 8, 10 + i);
            tape_record(&tape, 20 + 20 * i, LULL_TAPE_OPERATION, 1, 1, 0)[1].u64[1] =
                i == 1 ? 4096 : 0;
        }
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    const struct lull_reading whole = {.application = LULL_NONE, .workers = 2};
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, &whole, run.arena, &census, &run.err), LULL_OK);
    assert_int_equal(census->n_streams, 2);
    assert_int_equal(census->streams[0].kernels, 2);
    assert_int_equal(census->streams[0].kernel_ns, 22);
    assert_int_equal(census->streams[0].moves, 1);
    assert_int_equal(census->streams[0].move_ns, 11);
    assert_int_equal(census->streams[0].bytes, 4096);
    assert_int_equal(census->streams_end[0], 62); /* the run begins at 10 */
    assert_int_equal(census->streams[1].kernels, 0);
    assert_int_equal(census->streams_end[1], 0);
    assert_int_equal(census->events[LULL_EVENT_OPERATION], 3);
}

TEST_GROUP(test_census)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_impossible_size, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_is_no_partner, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_size_of_receives, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_size_of_some_receives, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_size_without_sends, run_set_up, run_tear_down),
        cmocka_unit_test_setup_teardown(test_streams, run_set_up, run_tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
