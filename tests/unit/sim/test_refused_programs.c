/* Programs that the engine refuses, and what it says of them. */
#include "base/collective.h"
#include "sim/noise/noise.h"
#include "support/engine_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- what is wrong ------------------------------------------------------------------------- */

static const char *const *problems;

static const char *failure(const struct lull_network *network)
{
    static struct lull_error err;
    struct lull_sim_options options = {.network = network};
    struct lull_sim_result result;
    problems = NULL;
    assert_int_not_equal(
        lull_simulate(engine_program, &options, engine_arena, &result, &problems, &err), LULL_OK);
    return err.text;
}

static void circles_are_named(void **state)
{
    (void)state;
    engine_parse("num_ranks 3\n"
                 "rank 0 { a: recv 1b from 1 b: send 1b to 2\n b requires a }\n"
                 "rank 1 { a: recv 1b from 2 b: send 1b to 0\n b requires a }\n"
                 "rank 2 { a: recv 1b from 0 b: send 1b to 1\n b requires a }\n");
    const char *text = failure(engine_loggops(0));
    assert_non_null(strstr(text, "deadlock: rank 0 (line 2"));
    assert_non_null(strstr(text, "waits for rank 1 (line 4"));
    assert_non_null(strstr(text, "waits for rank 2 (line 6"));
}

static void partners_that_are_missing_are_named(void **state)
{
    (void)state;
    engine_parse("num_ranks 2\n"
                 "rank 0 { a: recv 1b from 1 tag 7 b: send 5b to 1 tag 8 }\n"
                 "rank 1 { a: calc 5 }\n");
    const char *text = failure(engine_loggops(0));
    assert_non_null(strstr(text, "1 receives and 1 sends have no partner"));
    assert_non_null(strstr(problems[0], "line 2"));
    assert_non_null(strstr(problems[0], "receive from rank 1, tag 7"));
    assert_non_null(strstr(problems[1], "send of 5 bytes to rank 1, tag 8"));
    assert_null(problems[2]);
}

static void places_of_streams_are_found_by_a_second_run(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, op_compute(5));
    engine_add(0, op_receive(1, 3, 0));
    engine_add(0, op_wait_all());
    const char *text = failure(&network);
    assert_non_null(strstr(text, "operation 2: receive from rank 1, tag 3"));
}

static void collectives_that_differ_are_named(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, op_collective(LULL_COLLECTIVE_BCAST, 0, 8, LULL_OP_NO_REQUEST));
    engine_add(1, op_collective(LULL_COLLECTIVE_BCAST, 1, 8, LULL_OP_NO_REQUEST));
    const char *text = failure(&network);
    assert_non_null(strstr(text, "rank 0 calls bcast with root 0"));
    assert_non_null(strstr(text, "rank 1 calls bcast with root 1"));
}

static void collective_that_lacks_a_rank_is_named(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(3, NULL, 16);
    engine_add(0, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
    engine_add(2, op_collective(LULL_COLLECTIVE_BARRIER, LULL_OP_ANY, 0, LULL_OP_NO_REQUEST));
    assert_non_null(strstr(failure(&network), "barrier"));
}

static void time_has_an_end(void **state)
{
    (void)state;
    engine_parse("num_ranks 1 rank 0 { a: calc 4000000000000000000 b: calc 4000000000000000000\n"
                 "b requires a }");
    assert_non_null(strstr(failure(engine_loggops(0)), "2^60"));
}

/* Such a message takes longer than can be told, on every network whose bytes cost something. */
static void a_message_without_end_is_refused(void **state)
{
    (void)state;
    struct lull_network slow = network_of("hockney", "bandwidth", 1.0, NULL);
    engine_parse("num_ranks 2 rank 0 { send 4611686018427387904b to 1 tag 1 }\n"
                 "rank 1 { recv 4611686018427387904b from 0 tag 1 }");
    assert_non_null(strstr(failure(engine_loggops(0)), "2^60"));
    assert_non_null(strstr(failure(&slow), "2^60"));
}

static void unknown_requests_and_ranks_are_refused(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(1, NULL, 16);
    engine_add(0, op_wait(4));
    assert_non_null(strstr(failure(&network), "request 4"));
    lull_program_close(engine_program);
    engine_program = stream_program(1, NULL, 16);
    engine_add(0, op_send(1, 0, 0, 0));
    assert_non_null(strstr(failure(&network), "rank 1 does not exist"));
}

static void empty_programs_end_at_once(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops-compat", NULL);
    engine_program = stream_program(3, NULL, 16);
    engine_check_ends(&network, (const int64_t[]){0, 0, 0});
}

static void absurd_numbers_are_refused(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops", "L", -1.0, NULL);
    struct lull_error err;
    assert_int_equal(lull_network_check(&network, 1, &err), LULL_ERR_RANGE);
    assert_non_null(strstr(err.text, "L=-1"));
    network = network_of("loggops", NULL);
    network.collectives = LULL_COLLECTIVES_CLOSED;
    assert_int_equal(lull_network_check(&network, 1, &err), LULL_ERR_RANGE);
    assert_null(lull_network_find("infiniband"));
}

TEST_GROUP(test_refused_programs)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_message_without_end_is_refused),
        ENGINE_TEST(circles_are_named),
        ENGINE_TEST(partners_that_are_missing_are_named),
        ENGINE_TEST(places_of_streams_are_found_by_a_second_run),
        ENGINE_TEST(collectives_that_differ_are_named),
        ENGINE_TEST(collective_that_lacks_a_rank_is_named),
        ENGINE_TEST(time_has_an_end),
        ENGINE_TEST(unknown_requests_and_ranks_are_refused),
        ENGINE_TEST(empty_programs_end_at_once),
        ENGINE_TEST(absurd_numbers_are_refused),
    };
    return run_cases(tests, NULL, NULL);
}
