/* What lull info counts. */
#include "study/census.h"

#include "support/tape_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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
    struct lull_census *census;
    assert_int_equal(lull_census_take(run.trace, 1, NULL, NULL, run.arena, &census, &run.err),
                     LULL_OK);
    assert_int_equal(census->sent, 1);
    assert_int_equal(census->sent_bytes, 40);
    assert_int_equal(census->received, 0);
    assert_int_equal(census->received_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_is_no_partner, run_set_up, run_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
