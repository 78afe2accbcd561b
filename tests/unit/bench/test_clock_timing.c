/* What blocks say of times: bounds that hold unless others have the machine. */
#include "bench/kernel.h"
#include "bench/timing.h"

#include "lull_features.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if LULL_HAVE_HWLOC

extern const struct lull_bench_kernel lull_kernel_clock;

/* Sleeps for *context nanoseconds each time; 0: not at all. */
static void sleep_body(void *context, unsigned thread, uint64_t repetitions)
{
    const long *ns = context;
    (void)thread;
    for (uint64_t i = 0; *ns && i < repetitions; i++)
        nanosleep(&(struct timespec){0, *ns}, NULL);
}

static struct lull_topology *open_host(struct lull_arena *arena)
{
    struct lull_topology *topology = NULL;
    struct lull_error err;
    assert_int_equal(lull_topology_open(arena, &topology, &err), LULL_OK);
    return topology;
}

static void test_order(void **state)
{
    (void)state;
    static const unsigned counts[] = {1, 2, 3, 8};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        static long no_time = 0;
        const struct lull_timing timing = {.body = sleep_body,
                                           .context = &no_time,
                                           .threads = counts[i],
                                           .repetitions = 3,
                                           .seconds = 0.01,
                                           .quantile = 0.1};
        struct lull_round round;
        assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
        assert_true(round.value > 0 && round.low <= round.value && round.value <= round.high);
        assert_true(round.value <= round.median);
        assert_true(round.interrupted == round.blocks ? isnan(round.mean) : round.mean > 0);
    }
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

/* The clock is measured beside the block where that is asked for, and not known otherwise. What it
 * is, is the machine's business; what its kernel does, bench.kernels checks. */
static void clock_body(void *context, unsigned thread, uint64_t repetitions)
{
    (void)context, (void)thread;
    lull_keep(lull_kernel_clock.compute[LULL_SIMD_SCALAR](repetitions));
}

static void test_clock(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    struct lull_timing timing = {
        .body = clock_body, .threads = 1, .seconds = 0.05, .quantile = 0.1, .clock = true};
    struct lull_round round;
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_true(isfinite(round.cycle) && round.cycle > 0);
    assert_true(isfinite(lull_bench_cycle()) && lull_bench_cycle() > 0);
    timing.clock = false;
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_true(isnan(round.cycle));
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

/* A sleep takes as long as it says or longer, so no quantile is below it. */
static void test_time_is_at_least_the_work(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    static long sleep_ns = 200000;
    const struct lull_timing timing = {.body = sleep_body,
                                       .context = &sleep_ns,
                                       .threads = 2,
                                       .repetitions = 2,
                                       .seconds = 0.05,
                                       .quantile = 0.1};
    struct lull_round round;
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_true(round.value >= 200e-6);
    assert_true(round.interrupted == round.blocks || round.mean >= 200e-6);
    assert_true(round.lost > 0.2 && round.lost <= 1); /* who sleeps does not run */
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

/* Calibration ends with blocks that are worth timing. */
static void test_calibration(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_topology *topology = open_host(arena);
    static long no_time = 0;
    const struct lull_timing timing = {
        .body = sleep_body, .context = &no_time, .threads = 1, .seconds = 0.02, .quantile = 0.1};
    struct lull_round round;
    assert_int_equal(lull_time_blocks(topology, &timing, &round, NULL), LULL_OK);
    assert_true(round.repetitions > 1); /* this body takes nanoseconds, however much is asked */
    lull_topology_close(topology);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_clock_timing)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_time_is_at_least_the_work),
        cmocka_unit_test(test_calibration),
    };
    return run_cases(tests, NULL, NULL);
}

#else

TEST_GROUP(test_clock_timing)
{
    puts("skipped: built without hwloc");
    return TEST_SKIPPED;
}

#endif
