/* Noise of a core, on samples whose noise is known. */
#include "bench/noise.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLES = 10400 };
#define QUANTUM 5e-6

static double samples[SAMPLES], scratch[SAMPLES];

/* A detour of `length` in every `each`-th quantum. */
static void plant(double length, size_t each)
{
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = QUANTUM + (i % each == each - 1 ? length : 0);
}

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 1e-9 * fabs(expected);
}

static void test_comb(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_noise_core core = {0};
    for (int segment = 0; segment < 6; segment++) {
        plant(20e-6, 104);
        lull_noise_core_add(&core, samples, SAMPLES, scratch, arena);
    }
    struct lull_machine_noise noise = lull_noise_core_sum_up(&core, 3, NAN, arena);
    double period = 104 * QUANTUM + 20e-6; /* share d / p, power d^2 / p: stats/noise.h */
    assert_int_equal(noise.core, 3);
    assert_true(near(noise.quantum, QUANTUM));
    assert_true(near(noise.duration, 6 * 100 * period));
    assert_true(near(noise.share.value, 20e-6 / period));
    assert_true(near(noise.power.value, 20e-6 * 20e-6 / period));
    assert_true(near(noise.share.confidence, 5.0 / 7));
    assert_int_equal(noise.share.rounds, 6);
    assert_int_equal(noise.share.samples, 6 * SAMPLES);
    assert_int_equal(noise.share.verdict, LULL_VERDICT_NOISY); /* 3.7 % */
    assert_int_equal(noise.n_detours, 600);
    assert_true(near(noise.detours[1].at - noise.detours[0].at, period));
    assert_true(near(noise.detours[599].length, 20e-6));
    assert_int_equal(noise.n_bins, 1); /* all of one length */
    assert_int_equal(noise.bins[0], 600);
    assert_true(noise.edges[0] <= 20e-6 && 20e-6 < noise.edges[1]);
    lull_arena_destroy(arena);
}

/* A processor that is slower for a while, and one that does not work at all. */
static void test_level(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_noise_core core = {0};
    plant(0, 2);
    for (size_t i = SAMPLES / 2; i < SAMPLES; i++)
        samples[i] = 1.25 * QUANTUM;
    lull_noise_core_add(&core, samples, SAMPLES, scratch, arena);
    struct lull_machine_noise noise = lull_noise_core_sum_up(&core, 0, NAN, arena);
    assert_int_equal(noise.n_detours, 0);
    assert_true(noise.share.value == 0);
    assert_int_equal(noise.n_bins, 0);
    assert_int_equal(noise.n_edges, 0);

    /* Three quarters of the time lost in the second half: that is noise, not a slow clock. */
    plant(0, 2);
    for (size_t i = SAMPLES / 2; i < SAMPLES; i++)
        samples[i] = 4 * QUANTUM;
    core = (struct lull_noise_core){0};
    lull_noise_core_add(&core, samples, SAMPLES, scratch, arena);
    assert_int_equal(lull_noise_core_sum_up(&core, 0, NAN, arena).n_detours, SAMPLES / 2);
    lull_arena_destroy(arena);
}

static void test_verdicts(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_noise_core core = {0};
    for (int segment = 0; segment < 6; segment++) {
        assert_true(segment == 0 || lull_noise_core_sum_up(&core, 0, 0, arena).share.verdict ==
                                        LULL_VERDICT_NOT_CONVERGED);
        plant(1e-6, 104);
        lull_noise_core_add(&core, samples, SAMPLES, scratch, arena);
    }
    assert_int_equal(lull_noise_core_sum_up(&core, 0, 0, arena).share.verdict, LULL_VERDICT_QUIET);
    struct lull_machine_noise noise = lull_noise_core_sum_up(&core, 0, 0.25, arena);
    assert_int_equal(noise.share.verdict, LULL_VERDICT_NOISY);
    assert_string_equal(noise.share.note, "the hypervisor took 25 % of the time");
    lull_arena_destroy(arena);
}

/* The recording ends where there are enough detours, and stays sound. */
static void test_most_detours(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_noise_core core = {0};
    for (int segment = 0; segment < 2 * LULL_NOISE_MOST_DETOURS / (SAMPLES / 4); segment++) {
        plant(1e-6, 4);
        lull_noise_core_add(&core, samples, SAMPLES, scratch, arena);
    }
    struct lull_machine_noise noise = lull_noise_core_sum_up(&core, 0, NAN, arena);
    assert_int_equal(noise.n_detours, LULL_NOISE_MOST_DETOURS);
    const struct lull_detour *last = &noise.detours[noise.n_detours - 1];
    assert_true(last->at + last->length <= noise.duration);
    assert_true(noise.duration < last->at + last->length + 5 * QUANTUM);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_noise)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comb), cmocka_unit_test(test_level),
                                       cmocka_unit_test(test_verdicts),
                                       cmocka_unit_test(test_most_detours)};
    return run_cases(tests, NULL, NULL);
}
