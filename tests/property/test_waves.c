/* Idle waves in noise: what is put into simulated runs is found in them. */
#include "support/seed.h"
#include "support/test.h"
#include "support/wave_run.h"

#include "stats/random.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#define NOISE "exponential:mean=100us" /* a tenth of an iteration */

static struct lull_random random_numbers;

static uint64_t draw(uint64_t bound)
{
    return lull_random_below(&random_numbers, bound);
}

static void assert_within(const char *what, double value, double expected, double share)
{
    fail_if(!(fabs(value / expected - 1) <= share), "%s: %g, expected %g", what, value, expected);
}

struct found {
    const char *pattern, *noise, *delay;
    uint32_t rank;
    int32_t iteration;
};

/* Runs a pattern with one delay, which must be the one wave that is found. */
static void find_one(const char *pattern, const char *noise, uint32_t rank, int32_t iteration,
                     const char *length, struct wave_run *run)
{
    char delay[64];
    snprintf(delay, sizeof delay, "%u@i%d:%s", rank, iteration, length);
    const struct wave_wish wish = {.pattern = pattern,
                                   .noise = noise,
                                   .delays = delay,
                                   .seed = lull_random_u64(&random_numbers)};
    wave_run_make(&wish, run);
    fail_if(run->waves.count != 1, "%s, %s: %u waves", pattern, delay, run->waves.count);
    fail_if(run->waves.waves[0].rank != rank || run->waves.waves[0].iteration != iteration,
            "%s, %s: the wave comes from rank %u, iteration %d", pattern, delay,
            run->waves.waves[0].rank, run->waves.waves[0].iteration);
}

static void test_long_delay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        static const char *const patterns[] = {"chain:ranks=128,iterations=120",
                                               "chain:ranks=128,iterations=120,boundary=periodic",
                                               "chain:ranks=128,iterations=120,wait=each",
                                               "chain:ranks=128,iterations=120,distances=1+2"};
        static const double speeds[] = {1, 1, 1, 2};
        struct wave_run run;
        find_one(patterns[i % 4], NOISE, 40 + (uint32_t)draw(40), 20 + (int32_t)draw(30), "10ms",
                 &run);
        const struct lull_wave *wave = &run.waves.waves[0];
        assert_within(patterns[i % 4], wave->up.ranks_per_iteration.value, speeds[i % 4], 0.05);
        assert_within(patterns[i % 4], wave->down.ranks_per_iteration.value, speeds[i % 4], 0.05);
        assert_true(wave->up.ranks_per_iteration.low <= speeds[i % 4] &&
                    wave->up.ranks_per_iteration.high >= speeds[i % 4]);
        wave_run_free(&run);
    }
}

static void test_short_delay(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct wave_run run;
        find_one("chain:ranks=100,iterations=100", NOISE, 20 + (uint32_t)draw(60),
                 10 + (int32_t)draw(80), "2ms", &run);
        wave_run_free(&run);
    }
}

static void test_no_delay(void **state)
{
    const unsigned runs = 100;
    const int64_t silent = 100 * INT64_C(1000000);
    unsigned alarms = 0, longer = 0;
    (void)state;
    for (unsigned i = 0; i < runs; i++) {
        const struct wave_wish wish = {.pattern = "chain:ranks=64,iterations=100",
                                       .noise = NOISE,
                                       .seed = lull_random_u64(&random_numbers)};
        struct wave_run run;
        wave_run_make(&wish, &run);
        alarms += run.waves.count > 0;
        longer += run.result.runtime > silent + silent / 10;
        wave_run_free(&run);
    }
    assert_reached("noise makes the run longer", longer, runs, runs);
    fail_if(alarms > 1, "%u of %u runs without a delay have a wave", alarms, runs);
}

static void test_two_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t first = 10 + (uint32_t)draw(30), second = 80 + (uint32_t)draw(30);
        uint32_t begin = 10 + (uint32_t)draw(20), later = begin + (uint32_t)draw(10);
        char delays[128];
        snprintf(delays, sizeof delays, "%u@i%u:10ms %u@i%u:10ms", first, begin, second, later);
        const struct wave_wish wish = {.pattern = "chain:ranks=128,iterations=120",
                                       .noise = NOISE,
                                       .delays = delays,
                                       .seed = lull_random_u64(&random_numbers)};
        struct wave_run run;
        wave_run_make(&wish, &run);
        fail_if(run.waves.count != 2, "%s: %u waves", delays, run.waves.count);
        bool swapped = begin == later && first > second;
        const struct lull_wave *a = &run.waves.waves[swapped], *b = &run.waves.waves[!swapped];
        assert_int_equal(a->rank, first);
        assert_int_equal(b->rank, second);
        assert_int_equal(a->iteration, begin);
        assert_int_equal(b->iteration, later);
        assert_int_equal(a->up.end, LULL_WAVE_END_OTHER);
        assert_int_equal(b->down.end, LULL_WAVE_END_OTHER);
        wave_run_free(&run);
    }
}

/* On grids a rank more in the slowest dimension is a plane of ranks more, and each iteration takes
 * the wave one message further. */
static void test_grids(void **state)
{
    static const struct {
        const char *pattern;
        uint32_t rank;
        double speed;
    } cases[] = {
        {"grid:ranks=12x12,iterations=60,boundary=periodic", 30, 12},
        {"grid:ranks=6x6x10,iterations=60", 6 * 6 * 5 + 2, 36},
    };
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        struct wave_run run;
        find_one(cases[i % 2].pattern, NOISE, cases[i % 2].rank, 10 + (int32_t)draw(30), "10ms",
                 &run);
        const struct lull_wave *wave = &run.waves.waves[0];
        assert_true(run.graph->kappa_up == cases[i % 2].speed);
        assert_within("hops", wave->hops_per_iteration.value, 1, 0.05);
        assert_within(cases[i % 2].pattern, wave->up.ranks_per_iteration.value, cases[i % 2].speed,
                      0.05);
        wave_run_free(&run);
    }
}

TEST_GROUP(test_waves)
{
    lull_random_seed(&random_numbers, lull_test_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_delay), cmocka_unit_test(test_short_delay),
        cmocka_unit_test(test_no_delay),   cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_grids),
    };
    return run_cases(tests, NULL, NULL);
}
