/* The points of a sweep of simulations. */
#include "study/simulated.h"
#include "support/test.h"

#include <stddef.h>
#include <string.h>

static struct lull_arena *arena;
static struct lull_error err;

static int set_up(void **state)
{
    (void)state;
    arena = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lull_arena_destroy(arena);
    return 0;
}

static struct lull_simulate_inputs inputs_of(const char *pattern, const char *network,
                                             const char *noise)
{
    const char *const texts[LULL_SIMULATE_SPECS] = {[LULL_SIMULATE_PATTERN] = pattern,
                                                    [LULL_SIMULATE_NETWORK] = network,
                                                    [LULL_SIMULATE_NOISE] = noise};
    const struct lull_spec **specs = lull_arena_zero(arena, LULL_SIMULATE_SPECS, sizeof *specs);
    struct lull_simulate_inputs inputs = {.seed = 7};
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++) {
        struct lull_spec *spec = NULL;
        fail_if(texts[s] && lull_spec_parse(texts[s], arena, &spec, &err) != LULL_OK, "%s",
                err.text);
        specs[s] = spec;
    }
    fail_if(lull_sweep_make(specs, LULL_SIMULATE_SPECS, arena, &inputs.sweep, &err) != LULL_OK,
            "%s", err.text);
    return inputs;
}

static struct lull_simulate_point *run(struct lull_simulate_inputs *inputs, unsigned workers)
{
    struct lull_simulate_point *points =
        lull_arena_zero(arena, inputs->sweep->n_points, sizeof *points);
    lull_simulate_run(inputs, points, workers);
    return points;
}

/* Each point by one worker or any other, in whatever order: the same to the last bit. */
static void test_workers_do_not_matter(void **state)
{
    (void)state;
    struct lull_simulate_inputs inputs =
        inputs_of("chain:ranks=4/6/8,exec=100us,iterations=20", "hockney:latency=1us/5us/20us",
                  "exponential:mean=10us");
    assert_int_equal(inputs.sweep->n_points, 9);
    struct lull_simulate_point *one = run(&inputs, 1);
    for (unsigned workers = 2; workers <= 12; workers += 5) {
        struct lull_simulate_point *many = run(&inputs, workers);
        for (uint64_t p = 0; p < inputs.sweep->n_points; p++) {
            const struct lull_sim_result *a = &one[p].result, *b = &many[p].result;
            fail_if(one[p].status != LULL_OK, "%s", one[p].err.text);
            assert_int_equal(many[p].status, LULL_OK);
            assert_int_equal(a->runtime, b->runtime);
            assert_int_equal(a->n_ranks, b->n_ranks);
            assert_memory_equal(one[p].ends, many[p].ends, a->n_ranks * sizeof *one[p].ends);
            assert_int_equal(lull_simulate_events(a), lull_simulate_events(b));
            assert_true(!many[p].arena && !many[p].program && !b->ranks); /* numbers alone */
        }
        lull_simulate_release(&inputs, many);
    }
    assert_true(one[0].result.runtime != one[8].result.runtime);
    lull_simulate_release(&inputs, one);
}

/* A point of a sweep ends as it does alone. */
static void test_points_are_those_alone(void **state)
{
    (void)state;
    static const char *const alone[] = {"hockney:latency=1us", "hockney:latency=20us"};
    struct lull_simulate_inputs inputs =
        inputs_of("chain:ranks=6,exec=100us,iterations=3", "hockney:latency=1us/20us", NULL);
    struct lull_simulate_point *points = run(&inputs, 2);
    for (int p = 0; p < 2; p++) {
        struct lull_simulate_inputs single =
            inputs_of("chain:ranks=6,exec=100us,iterations=3", alone[p], NULL);
        struct lull_simulate_point *point = run(&single, 1);
        assert_int_equal(point[0].status, LULL_OK);
        for (uint32_t r = 0; r < 6; r++) {
            assert_int_equal(point[0].result.ranks[r].end, point[0].ends[r]);
            assert_int_equal(points[p].ends[r], point[0].ends[r]);
        }
        lull_simulate_release(&single, point);
    }
    lull_simulate_release(&inputs, points);
}

/* Computation alone takes what it says. */
static void test_computation(void **state)
{
    (void)state;
    struct lull_simulate_inputs inputs =
        inputs_of("chain:ranks=1,exec=3ms,iterations=5", "ideal", NULL);
    struct lull_simulate_point *points = run(&inputs, 3);
    assert_int_equal(points[0].status, LULL_OK);
    assert_int_equal(points[0].result.runtime, 15000000);
    assert_null(points[0].texts[LULL_SIMULATE_NOISE]);
    lull_simulate_release(&inputs, points);
}

/* A point that fails says why, and whether the user has to type something else; the others run. */
static void test_failures(void **state)
{
    (void)state;
    struct lull_simulate_inputs inputs =
        inputs_of("chain:ranks=2/4/8,exec=1us,iterations=2", "ideal", NULL);
    const struct lull_delay delay = {.rank = 3, .length = 1000};
    inputs.delays = &delay;
    inputs.n_delays = 1;
    struct lull_simulate_point *points = run(&inputs, 2);
    assert_int_equal(points[0].status, LULL_ERR_RANGE);
    assert_true(points[0].usage);
    assert_string_equal(points[0].err.text, "--delay: rank 3 of 2 ranks");
    assert_int_equal(points[1].status, LULL_OK);
    assert_int_equal(points[2].status, LULL_OK);
    lull_simulate_release(&inputs, points);
}

static void test_failure_of_the_tape(void **state)
{
    (void)state;
    struct lull_simulate_inputs inputs =
        inputs_of("chain:ranks=2,exec=1us,iterations=2", "ideal", NULL);
    inputs.tape = "/nowhere/at/all/run.tape";
    struct lull_simulate_point *points = run(&inputs, 1);
    assert_int_equal(points[0].status, LULL_ERR_IO);
    assert_false(points[0].usage);
    lull_simulate_release(&inputs, points);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

TEST_GROUP(test_simulated)
{
    const struct CMUnitTest tests[] = {
        TEST(test_workers_do_not_matter), TEST(test_points_are_those_alone),
        TEST(test_computation),           TEST(test_failures),
        TEST(test_failure_of_the_tape),
    };
    return run_cases(tests, NULL, NULL);
}
