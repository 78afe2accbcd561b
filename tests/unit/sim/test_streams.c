/* Streams of the engine, on small cases whose times are worked out by hand: waits, threads of a
 * rank, delays. */
#include "base/collective.h"
#include "sim/noise/noise.h"
#include "support/engine_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- streams ------------------------------------------------------------------------------- */

static void waits_are_for_what_they_name(void **state)
{
    (void)state;
    struct lull_network network = network_of("hockney", "latency", 10.0, "bandwidth", 1e9, NULL);
    engine_program = stream_program(3, NULL, 1);
    engine_add(0, op_receive(1, 0, 5));
    engine_add(0, op_receive(2, 0, 6));
    engine_add(0, op_wait(6));
    engine_add(0, op_compute(1000));
    engine_add(0, op_wait(5));
    engine_add(1, op_compute(500));
    engine_add(1, op_send(0, 0, 0, 0));
    engine_add(1, op_wait(0));
    engine_add(2, op_compute(200));
    engine_add(2, op_send(0, 0, 0, 0));
    engine_add(2, op_wait(0));
    engine_check_ends(&network, (const int64_t[]){1210, 500, 200});
}

/* A wait copies what has come before it, 20 ns and a byte each ns; for what comes later it has the
 * time. */
static void a_wait_copies_what_is_there(void **state)
{
    (void)state;
    struct lull_network network = network_of("hockney", "latency", 10.0, "bandwidth", 1e9,
                                             "receive", 20.0, "copy", 1e9, NULL);
    engine_program = stream_program(2, NULL, 16);
    for (uint32_t i = 0; i < 3; i++) {
        engine_add(0, op_send(1, i, 100, i));
        engine_add(0, op_wait(i));
        engine_add(0, op_compute(i == 1 ? 5000 : 0));
    }
    engine_add(1, op_receive(0, 0, 0));
    engine_add(1, op_receive(0, 1, 1));
    engine_add(1, op_receive(0, 2, 2));
    engine_add(1, op_compute(1000));
    engine_add(1, op_wait(0)); /* until 1120 */
    engine_add(1, op_wait(1)); /* until 1240 */
    engine_add(1, op_wait(2)); /* 5000 + 10 + 100 */
    engine_check_ends(&network, (const int64_t[]){5000, 5110});
    lull_program_close(engine_program);
    engine_program = stream_program(2, NULL, 16); /* two in one wait */
    for (uint32_t i = 0; i < 2; i++) {
        engine_add(0, op_send(1, i, 100, i));
        engine_add(0, op_wait(i));
    }
    engine_add(1, op_compute(1000));
    engine_add(1, op_receive(0, 0, 0));
    engine_add(1, op_receive(0, 1, 1));
    engine_add(1, op_wait_all());
    engine_check_ends(&network, (const int64_t[]){0, 1240});
}

static void wildcards_take_what_comes_first(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(3, NULL, 16);
    engine_add(0, op_receive(LULL_OP_ANY, LULL_OP_ANY, 0));
    engine_add(0, op_wait_all());
    engine_add(0, op_compute(10));
    engine_add(0, op_receive(1, 4, 0));
    engine_add(0, op_wait_all());
    engine_add(1, op_compute(100));
    engine_add(1, op_send(0, 4, 8, 0));
    engine_add(1, op_wait_all());
    engine_add(2, op_compute(20));
    engine_add(2, op_send(0, 9, 8, 0));
    engine_add(2, op_wait_all());
    engine_check_ends(&network, (const int64_t[]){100, 100, 20});
}

static void threads_of_a_rank_join(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 3};
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(1, first_stream, 16);
    for (uint32_t s = 0; s < 3; s++) {
        engine_add(s, op_compute(100 + 50 * s));
        engine_add(s, op_sync(4, 3));
        engine_add(s, op_compute(10));
    }
    engine_check_ends(&network, (const int64_t[]){210});
}

/* The second thread begins at 100, when the first makes it, and ends after `work`: the first has
 * come to the join at 150 and goes on for 10. The end waits for nobody: 5 ns behind it count from
 * there. */
static int64_t end_of_join(int64_t work)
{
    static const uint32_t first_stream[] = {0, 2};
    enum { BEGIN, JOIN };
    engine_program = stream_program(1, first_stream, 16);
    engine_add(0, op_compute(100));
    engine_add(0, op_sync_part(LULL_SYNC_ARRIVES, BEGIN, 1, 1));
    engine_add(0, op_compute(50));
    engine_add(0, op_sync_part(LULL_SYNC_WAITS, JOIN, 1, 1));
    engine_add(0, op_compute(10));
    engine_add(1, op_sync_part(LULL_SYNC_WAITS, BEGIN, 1, 1));
    engine_add(1, op_compute(work));
    engine_add(1, op_sync_part(LULL_SYNC_ARRIVES, JOIN, 1, 1));
    engine_add(1, op_compute(5));
    struct lull_network network = network_of("ideal", NULL);
    const int64_t end = simulate(engine_program, &network, engine_arena).ranks[0].end;
    lull_program_close(engine_program);
    engine_program = NULL;
    return end;
}

static void threads_are_made_and_joined(void **state)
{
    (void)state;
    assert_int_equal(end_of_join(30), 160);
    assert_int_equal(end_of_join(49), 160);
    assert_int_equal(end_of_join(58), 100 + 58 + 10);
    assert_int_equal(end_of_join(300), 100 + 300 + 10);
}

/* Both come to a barrier, at 100 and 160, are there for 20 and 80 ns at least, and go on for 1. The
 * first leaves with the arrival of the second. */
static void threads_wait_for_those_that_arrive(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 1, 3};
    struct lull_network network = network_of("ideal", NULL);
    engine_program = stream_program(2, first_stream, 16);
    for (uint32_t s = 1; s < 3; s++) {
        engine_add(s, op_compute(s == 1 ? 100 : 160));
        engine_add(s, op_sync_part(LULL_SYNC_ARRIVES, 7, 2, 2));
        engine_add(s, op_compute(s == 1 ? 20 : 80));
        engine_add(s, op_sync_part(LULL_SYNC_WAITS, 7, 2, 2));
        engine_add(s, op_compute(1));
        engine_add(s, op_send(0, s, 8, 0));
        engine_add(s, op_wait_all());
        engine_add(0, op_receive(1, s, 0));
        engine_add(0, op_wait_all());
        engine_add(0, op_compute(s == 1 ? 1000 : 0));
    }
    engine_check_ends(&network, (const int64_t[]){160 + 1 + 1000, 160 + 80 + 1});
}

static void threads_of_a_rank_send_to_each_other(void **state)
{
    (void)state;
    static const uint32_t first_stream[] = {0, 2};
    engine_program = stream_program(1, first_stream, 16);
    engine_add(0, op_send(0, 1, 1, 0));
    engine_add(0, op_wait_all());
    engine_add(1, op_receive(0, 1, 0));
    engine_add(1, op_wait_all());
    engine_check_ends(engine_loggops(0), (const int64_t[]){1200});
}

/* The same program as a graph and as streams, by the written rules: one halo exchange. */
static void streams_and_graphs_agree_with_the_written_rules(void **state)
{
    (void)state;
    struct lull_network network = network_of("loggops-compat", NULL);
    struct lull_sim_result graph, streams;
    engine_parse("num_ranks 2\n"
                 "rank 0 { a: calc 1000 b: recv 9b from 1 c: send 9b to 1 d: calc 70\n"
                 "b requires a c requires a d requires b d requires c }\n"
                 "rank 1 { a: calc 3000 b: recv 9b from 0 c: send 9b to 0 d: calc 70\n"
                 "b requires a c requires a d requires b d requires c }\n");
    graph = simulate(engine_program, &network, engine_arena);
    lull_program_close(engine_program);
    engine_program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++) {
        engine_add(r, op_compute(r ? 3000 : 1000));
        engine_add(r, op_receive(1 - r, 0, 0));
        engine_add(r, op_send(1 - r, 0, 9, 1));
        engine_add(r, op_wait_all());
        engine_add(r, op_compute(70));
    }
    streams = simulate(engine_program, &network, engine_arena);
    for (uint32_t r = 0; r < 2; r++)
        assert_int_equal(graph.ranks[r].end, streams.ranks[r].end);
    assert_int_equal(graph.n_messages, streams.n_messages);
}

static void processor_speed_scales_what_may_be_scaled(void **state)
{
    (void)state;
    struct lull_network network = network_of("ideal", NULL);
    struct lull_op fixed = op_compute(100);
    fixed.flags |= LULL_OP_NOT_SCALED;
    network.cpu_speed = 2;
    engine_program = stream_program(1, NULL, 16);
    engine_add(0, op_compute(1000));
    engine_add(0, fixed);
    engine_check_ends(&network, (const int64_t[]){600});
}

static void delays_hit_once(void **state)
{
    (void)state;
    const struct lull_delay delays[] = {{0, false, 150, 1000}, {1, true, 2, 77}};
    struct lull_network network = network_of("ideal", NULL);
    struct lull_sim_options options = {
        .network = &network, .delays = delays, .n_delays = 2, .path = true};
    struct lull_sim_result result;
    struct lull_error err = {""};
    engine_program = stream_program(2, NULL, 16);
    for (uint32_t r = 0; r < 2; r++)
        for (uint64_t i = 0; i < 4; i++) {
            engine_add(r, op_mark(i));
            engine_add(r, op_compute(100));
        }
    assert_int_equal(lull_simulate(engine_program, &options, engine_arena, &result, NULL, &err),
                     LULL_OK);
    assert_int_equal(result.ranks[0].end, 1400);
    assert_int_equal(result.ranks[1].end, 477);
    assert_int_equal(result.ranks[1].noise, 77);
    assert_int_equal(result.path[LULL_PATH_NOISE], 1000);
    assert_int_equal(result.path[LULL_PATH_COMPUTE], 400);
}

/* The first computation takes 100 ns and 60 of noise; the delay is for the first that begins at 50
 * or later, which is the second. */
static void delays_spare_what_began_before(void **state)
{
    (void)state;
    const struct lull_delay delay = {0, false, 50, 1000};
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("constant"));
    const struct lull_noise *noise;
    struct lull_network network = network_of("ideal", NULL);
    struct lull_sim_result result;
    struct lull_error err = {""};
    spec.values[0] = 60;
    fail_if(lull_noise_create(&spec, engine_arena, &noise, &err) != LULL_OK, "%s", err.text);
    struct lull_sim_options options = {
        .network = &network, .noise = noise, .delays = &delay, .n_delays = 1};
    engine_program = stream_program(2, NULL, 16);
    engine_add(0, op_compute(100));
    engine_add(0, op_send(1, 0, 1, 8));
    engine_add(0, op_compute(100));
    engine_add(1, op_receive(0, 0, 1));
    engine_add(1, op_wait(1));
    assert_int_equal(lull_simulate(engine_program, &options, engine_arena, &result, NULL, &err),
                     LULL_OK);
    assert_int_equal(result.ranks[0].end, 2 * 160 + 1000);
    assert_int_equal(result.ranks[1].end, 160);
}

static void a_delay_that_hits_nothing_is_refused(void **state)
{
    (void)state;
    const struct lull_delay delays[] = {{0, true, 3, 10}, {0, true, 4, 10}, {0, false, 401, 10}};
    struct lull_network network = network_of("ideal", NULL);
    for (int i = 0; i < 3; i++) {
        struct lull_sim_options options = {
            .network = &network, .delays = &delays[i], .n_delays = 1};
        struct lull_sim_result result;
        struct lull_error err = {""};
        engine_program = stream_program(1, NULL, 16);
        for (uint64_t k = 0; k < 4; k++) {
            engine_add(0, op_mark(k));
            engine_add(0, op_compute(100));
        }
        lull_status status =
            lull_simulate(engine_program, &options, engine_arena, &result, NULL, &err);
        assert_int_equal(status, i == 0 ? LULL_OK : LULL_ERR_RANGE);
        assert_true(i == 0 || strstr(err.text, i == 1 ? "iteration 4" : "401 ns"));
        lull_program_close(engine_program);
    }
    engine_program = NULL;
}

TEST_GROUP(test_streams)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(waits_are_for_what_they_name),
        ENGINE_TEST(a_wait_copies_what_is_there),
        ENGINE_TEST(wildcards_take_what_comes_first),
        ENGINE_TEST(threads_of_a_rank_join),
        ENGINE_TEST(threads_are_made_and_joined),
        ENGINE_TEST(threads_wait_for_those_that_arrive),
        ENGINE_TEST(threads_of_a_rank_send_to_each_other),
        ENGINE_TEST(streams_and_graphs_agree_with_the_written_rules),
        ENGINE_TEST(processor_speed_scales_what_may_be_scaled),
        ENGINE_TEST(delays_hit_once),
        ENGINE_TEST(delays_spare_what_began_before),
        ENGINE_TEST(a_delay_that_hits_nothing_is_refused),
    };
    return run_cases(tests, NULL, NULL);
}
