/* Which calls end a computation that a disturbance lengthens, whatever a tracer adds to their
 * names. */
#include "replay/program/disturb.h"
#include "support/test.h"

#include <stddef.h>

enum { COMPUTED = 1000000, DELAY = 5000000 }; /* ns */

/* What is added in front of a call of a function that comes after a computation: a delay of 5 ms,
 * or 0. */
static int64_t added_before(const char *function, uint8_t collective)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_disturbance disturbance = lull_disturbance_none(arena, 1);
    struct lull_error err;
    struct lull_region region = {
        .name = function, .paradigm = LULL_PARADIGM_MPI, .collective = collective};
    const struct lull_trace trace = {.regions = &region, .n_regions = 1};
    struct lull_disturbed disturbed;
    fail_if(lull_disturbance_add(&disturbance, "0@0ms:5ms", &err) != LULL_OK, "%s", err.text);
    assert_true(lull_disturbed_open(&disturbed, &trace, &disturbance, 0, 0));
    const struct lull_step call = {.time = COMPUTED,
                                   .kind = LULL_STEP_CALL_BEGIN,
                                   .op = (uint8_t)lull_call_of_region(&region)};
    const int64_t added = lull_disturbed_add(&disturbed, &call);
    lull_disturbed_close(&disturbed);
    lull_arena_destroy(arena);
    return added;
}

static void test_calls_that_send_receive_or_wait(void **state)
{
    static const char *const functions[] = {
        "MPI_Send",          "MPI_Start",   "mpi_start_", "MPI_Startall",
        "mpi_isendrecv_f08", "MPI_Waitall", "MPI_Probe",  "PMPI_Isendrecv_replace"};
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        fail_if(added_before(functions[i], LULL_COLLECTIVE_UNKNOWN) != DELAY,
                "%s: no delay in front of it", functions[i]);
    assert_int_equal(added_before("MPI_Ibarrier", LULL_COLLECTIVE_BARRIER), DELAY);
}

static void test_other_calls(void **state)
{
    static const char *const functions[] = {"MPI_Comm_rank", "MPI_Test", "MPI_Iprobe",
                                            "MPI_Request_free", "MPI_Send_init"};
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        fail_if(added_before(functions[i], LULL_COLLECTIVE_UNKNOWN) != 0,
                "%s: a delay in front of it", functions[i]);
    assert_int_equal(added_before("MPI_Comm_dup", LULL_COLLECTIVE_CREATE), 0);
    assert_int_equal(added_before("MPI_Bcast_init", LULL_COLLECTIVE_BCAST), 0);
}

TEST_GROUP(test_disturb)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_that_send_receive_or_wait),
        cmocka_unit_test(test_other_calls),
    };
    return run_cases(tests, NULL, NULL);
}
