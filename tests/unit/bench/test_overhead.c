/* Test minus reference, on rounds whose difference is known. */
#include "bench/openmp.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ROUNDS = 7 };

static struct lull_round round_of(double value, double median, double width)
{
    return (struct lull_round){.value = value,
                               .low = value - width / 2,
                               .high = value + width / 2,
                               .median = median,
                               .blocks = 100,
                               .repetitions = 10,
                               .steal = 0};
}

static void test_difference(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round test[ROUNDS], reference[ROUNDS];
    struct lull_number low, median;
    for (int i = 0; i < ROUNDS; i++) { /* one round of seven is far off */
        test[i] = round_of(i == 2 ? 9e-6 : 0.63e-6, 0.66e-6, 2e-9);
        reference[i] = round_of(0.1e-6, 0.11e-6, 1e-9);
    }
    lull_overhead_of(test, reference, ROUNDS, 0.01, arena, &low, &median);
    assert_true(fabs(low.value - 0.53e-6) < 1e-12);
    assert_true(fabs(median.value - 0.55e-6) < 1e-12);
    assert_string_equal(low.statistic, "p10");
    assert_string_equal(median.statistic, "median");
    assert_null(low.note);
    assert_true(fabs(low.confidence - 6.0 / 8) < 1e-12);
    assert_int_equal(low.samples, 100 * ROUNDS);
    assert_int_equal(median.verdict, LULL_VERDICT_QUIET);
    assert_int_equal(low.verdict, LULL_VERDICT_NOT_CONVERGED); /* its interval reaches far */
    lull_arena_destroy(arena);
}

/* What is less than the noise is not a number below 0, and is said. */
static void test_below_resolution(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round test[ROUNDS], reference[ROUNDS];
    struct lull_number low, median;
    for (int i = 0; i < ROUNDS; i++) {
        test[i] = round_of(1.00e-6, 1.1e-6, 30e-9);
        reference[i] = round_of(1.01e-6, 1.08e-6, 10e-9);
    }
    lull_overhead_of(test, reference, ROUNDS, 0.01, arena, &low, &median);
    assert_true(low.value == 0 && low.low == 0 && low.high == 0);
    assert_string_equal(low.note, "below resolution, 30.00 ns");
    assert_true(fabs(median.value - 20e-9) < 1e-12);
    assert_string_equal(median.note, "below resolution, 30.00 ns");
    lull_arena_destroy(arena);
}

static void test_verdicts(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_round test[ROUNDS], reference[ROUNDS];
    struct lull_number low, median;
    for (int i = 0; i < ROUNDS; i++) {
        test[i] = round_of(2e-6, 2e-6, 1e-9);
        reference[i] = round_of(1e-6, 1e-6, 1e-9);
        reference[i].interrupted = 20;
    }
    lull_overhead_of(test, reference, ROUNDS, 0.01, arena, &low, &median);
    assert_int_equal(low.verdict, LULL_VERDICT_NOISY);
    lull_overhead_of(test, reference, 5, 0.01, arena, &low, &median);
    assert_int_equal(low.verdict, LULL_VERDICT_NOT_CONVERGED);
    assert_true(fabs(low.confidence - 4.0 / 6) < 1e-12);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_overhead)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_difference),
                                       cmocka_unit_test(test_below_resolution),
                                       cmocka_unit_test(test_verdicts)};
    return run_cases(tests, NULL, NULL);
}
