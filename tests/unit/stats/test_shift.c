/* Shifts between samples and in series: exact probabilities, the definition of the energy statistic
 * term by term, a published series, and how often both err. */
#include "stats/hypothesis_test.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/series.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* Of seven fair coins all fall alike with 1/128 on one side; of ten eight or more with 56/1024. */
static void test_signs(void **state)
{
    (void)state;
    const double seven[] = {1, 2, 3, 4, 5, 6, 7};
    const double ten[] = {1, 1, -1, 1, 1, 1, 1, -1, 1, 1};
    struct lull_shift shift = lull_sign_test(seven, 7, 0.5);
    assert_near(shift.higher, 1.0 / 128, 1e-15);
    assert_near(shift.lower, 1, 1e-12);
    assert_int_equal(lull_sign_more(&shift, 7, true, 0.01), 0);
    shift = lull_sign_test(ten, 10, 0);
    assert_near(shift.higher, 56.0 / 1024, 1e-12);
    assert_near(shift.effect, 0.8, 1e-15);
    /* One value: six more of the same kind make 1/128. */
    shift = lull_sign_test(seven, 1, 0.5);
    assert_int_equal(lull_sign_more(&shift, 1, true, 0.01), 6);
    /* Values at the limit say nothing. */
    shift = lull_sign_test(ten, 0, 0);
    assert_near(shift.higher, 1, 0);
}

/* Five values above five others: one order of 252 for independent values, and never less. */
static void test_no_less_than_exact(void **state)
{
    (void)state;
    const double low[] = {3, 1, 5, 2, 4}, high[] = {8, 6, 9, 10, 7};
    const struct lull_shift up = lull_shift_test(low, 5, high, 5);
    const struct lull_shift down = lull_shift_test(high, 5, low, 5);
    assert_true(up.higher > 0.999 / 252 && up.higher < 0.5);
    assert_near(up.effect, 1, 1e-15);
    assert_near(up.higher, down.lower, 1e-12);
    assert_near(up.lower, 1, 0);
    assert_near(lull_shift_test(low, 5, low, 0).higher, 1, 0);
    assert_near(lull_shift_test(low, 5, low, 5).effect, 0.5, 1e-15);
}

/* As many more as said, drawn from the same two levels, decide. */
static void test_more(void **state)
{
    (void)state;
    double before[30], after[60];
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int i = 0; i < 30; i++)
        before[i] = lull_random_uniform(&random);
    for (int i = 0; i < 60; i++)
        after[i] = 2 + lull_random_uniform(&random);
    const struct lull_shift shift = lull_shift_test(before, 30, after, 1);
    const size_t more = lull_shift_more(&shift, 30, 1, true, 0.01);
    assert_true(more >= 1 && more < 40);
    assert_true(lull_shift_test(before, 30, after, 1 + more + 3).higher <= 0.01);
    assert_int_equal(lull_shift_more(&shift, 30, 1, false, 0.01), LULL_SHIFT_NEVER);
    assert_int_equal(lull_shift_more(&shift, 0, 1, true, 0.01), LULL_SHIFT_NEVER);
}

/* Q(X, Y) = nm / (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|), each mean taken anew. */
static double slow_statistic(const double *values, size_t n, size_t count)
{
    double across = 0, first = 0, last = 0;
    const double m = (double)(count - n), nn = (double)n;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const double distance = fabs(values[i] - values[k]);
            if (i < n && k >= n)
                across += distance;
            else if (i < n && k < n)
                first += distance;
            else if (i >= n && k >= n)
                last += distance;
        }
    first = n > 1 ? first / (nn * (nn - 1)) : 0;
    last = m > 1 ? last / (m * (m - 1)) : 0;
    return nn * m / (nn + m) * (2 * across / (nn * m) - first - last);
}

static void test_division(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int round = 0; round < 200; round++) {
        double values[40], most = -INFINITY, got;
        const size_t count = 2 + lull_random_below(&random, 39);
        size_t best = 0;
        for (size_t i = 0; i < count; i++)
            values[i] = (double)lull_random_below(&random, 50) / 7 + (i > 12 ? 4 : 0);
        const size_t place = lull_divide(values, count, &got);
        for (size_t n = 1; n < count; n++)
            if (slow_statistic(values, n, count) > most + 1e-9) {
                most = slow_statistic(values, n, count);
                best = n;
            }
        assert_near(got, most, 1e-9);
        /* Equal statistics may be told apart by rounding alone. */
        assert_true(place == best || fabs(slow_statistic(values, place, count) - most) < 1e-9);
    }
}

/* The yearly flow of the Nile at Aswan, 1871 to 1970, in 10^8 m^3: it fell after 1898. Source:
 * Cobb, Biometrika 65 (1978), 243, who finds the change between 1898 and 1899. */
static void test_nile(void **state)
{
    (void)state;
    static const double flow[] = {
        1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
        960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
        874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
        1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
        781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
        1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
        1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};
    size_t places[100];
    assert_int_equal(lull_change_points(flow, 100, 0.01, places), 1);
    assert_int_equal(1871 + places[0], 1899);
}

/* Steps far above the noise are found where they are, and nothing else. */
static void test_steps(void **state)
{
    (void)state;
    double values[90];
    size_t places[90];
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (size_t i = 0; i < 90; i++)
        values[i] = (i < 30 ? 10 : i < 60 ? 20 : 12) + lull_random_uniform(&random);
    assert_int_equal(lull_change_points(values, 90, 0.01, places), 2);
    assert_int_equal(places[0], 30);
    assert_int_equal(places[1], 60);
    assert_int_equal(lull_change_points(values, 3, 0.01, places), 0);
    assert_int_equal(lull_change_points(values, 0, 0.01, places), 0);
}

/* Of 1,000 series without a change no more than 1 in 100 has one, whatever the noise. */
static void test_level(void **state)
{
    (void)state;
    enum { SERIES = 1000, LENGTH = 40 };
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    for (int kind = 0; kind < NOISE_KINDS; kind++) {
        unsigned claimed = 0;
        for (int i = 0; i < SERIES; i++) {
            double values[LENGTH];
            size_t places[LENGTH];
            noise_draw(&random, (enum noise_kind)kind, LENGTH, values);
            claimed += lull_change_points(values, LENGTH, 0.01, places) > 0;
        }
        fail_if(claimed > SERIES / 100, "%u of %d series of noise %d have a change", claimed,
                SERIES, kind);
    }
}

TEST_GROUP(test_shift)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs), cmocka_unit_test(test_no_less_than_exact),
        cmocka_unit_test(test_more),  cmocka_unit_test(test_division),
        cmocka_unit_test(test_nile),  cmocka_unit_test(test_steps),
        cmocka_unit_test(test_level),
    };
    return run_cases(tests, NULL, NULL);
}
