/* Histograms, and noise that was planted. */
#include "stats/histogram.h"
#include "stats/noise.h"
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* A quantum of 100 us; every 1 ms a detour of 25 us: 250 Hz ticks are the like. */
static void test_comb(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    const double quantum = 100e-6, period = 1e-3, length = 25e-6;
    double *samples = malloc(2 * COUNT * sizeof *samples), *scratch = samples + COUNT;
    double at[COUNT], lengths[COUNT], now = 0, next = 0.5e-3;
    size_t detours = 0;
    for (size_t i = 0; i < COUNT; i++) {
        samples[i] = quantum;
        while (next < now + samples[i]) { /* its own length may let the next tick in */
            at[detours] = next;
            lengths[detours++] = length;
            samples[i] += length;
            next += period;
        }
        now += samples[i];
    }
    struct lull_noise_figures noise = lull_noise_measure(samples, COUNT, 1e-6, scratch);
    assert_near(noise.quantum, quantum, 1e-15);
    assert_near(noise.total, now, 1e-9);
    assert_int_equal(noise.detours, detours);
    assert_near(noise.share, length / period, 1e-3 * length / period + length / now);
    assert_near(noise.power, length * length / period, 2e-3 * length * length / period);
    assert_near(noise.rate, 1 / period, 1 / now);
    assert_near(noise.mean, length, 1e-12);
    assert_near(noise.longest, length, 1e-12);
    assert_near(lull_noise_periodicity(at, lengths, detours, 1 / period), 1, 1e-6);
    assert_true(lull_noise_periodicity(at, lengths, detours, 0.37 / period) < 1e-3);
    free(samples);
}

static void test_silence(void **state)
{
    (void)state;
    static const double samples[] = {1e-3, 1e-3, 1.0000001e-3};
    double scratch[3];
    struct lull_noise_figures noise = lull_noise_measure(samples, 3, 1e-6, scratch);
    assert_int_equal(noise.detours, 0);
    assert_true(noise.share == 0 && noise.power == 0 && noise.mean == 0);
}

static void test_random_times_are_not_periodic(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    double at[COUNT], lengths[COUNT];
    struct lull_random random;
    lull_random_seed(&random, 5);
    for (size_t i = 0; i < COUNT; i++) {
        at[i] = 10 * lull_random_uniform(&random);
        lengths[i] = 1e-6;
    }
    assert_true(lull_noise_periodicity(at, lengths, COUNT, 250) < 10.0 / COUNT);
}

static void test_histogram(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_histogram flat = lull_histogram_create(arena, 0, 10, false, 10);
    for (int i = -1; i <= 10; i++)
        lull_histogram_add(&flat, i);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(flat.bins[i], 1);
    assert_int_equal(flat.below, 1);
    assert_int_equal(flat.above, 1);
    lull_histogram_add(&flat, NAN);
    assert_int_equal(flat.above, 2);

    struct lull_histogram decades = lull_histogram_create(arena, 1e-9, 1, true, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_near(lull_histogram_edge(&decades, i) / pow(10, (double)i - 9), 1, 1e-12);
        lull_histogram_add(&decades, lull_histogram_edge(&decades, i)); /* an edge is its bin's */
        lull_histogram_add(&decades, 3 * lull_histogram_edge(&decades, i));
        assert_int_equal(decades.bins[i], 2);
    }
    lull_arena_destroy(arena);
}

TEST_GROUP(test_noise)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comb),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_random_times_are_not_periodic),
        cmocka_unit_test(test_histogram),
    };
    return run_cases(tests, NULL, NULL);
}
