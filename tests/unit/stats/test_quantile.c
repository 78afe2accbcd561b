/* Quantiles, and intervals with the coverage that they promise. */
#include "stats/quantile.h"
#include "stats/random.h"
#include "stats/special.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

/* Exact: the sum of the probabilities, each from the one before it. */
static double slow_binomial_cdf(int64_t k, uint64_t n, double p)
{
    double term = pow(1 - p, (double)n), sum = 0;
    for (int64_t i = 0; i <= k; i++) {
        sum += term;
        term *= (double)(n - (uint64_t)i) / (double)(i + 1) * p / (1 - p);
    }
    return sum;
}

static void test_binomial(void **state)
{
    (void)state;
    static const double p[] = {0.05, 0.1, 0.5, 0.93};
    for (uint64_t n = 1; n < 200; n += 7)
        for (size_t i = 0; i < sizeof p / sizeof *p; i++)
            for (int64_t k = 0; k < (int64_t)n; k++)
                assert_near(lull_binomial_cdf(k, n, p[i]), slow_binomial_cdf(k, n, p[i]), 1e-12);
    assert_true(lull_binomial_cdf(-1, 10, 0.5) == 0);
    assert_true(lull_binomial_cdf(10, 10, 0.5) == 1);
    /* Close to the normal distribution: the median of a large sample. */
    assert_near(lull_binomial_cdf(499999, 1000000, 0.5), 0.5, 5e-4);
}

/* Two-sided 95 % and 99 % points as printed in every table of Student's distribution. */
static void test_student(void **state)
{
    (void)state;
    static const struct {
        double p, freedom, t;
    } table[] = {{0.975, 1, 12.706},  {0.975, 2, 4.303},  {0.975, 10, 2.228}, {0.975, 30, 2.042},
                 {0.995, 5, 4.032},   {0.95, 120, 1.658}, {0.9, 4, 1.533},    {0.025, 10, -2.228},
                 {0.975, 1e6, 1.960}, {0.9995, 3, 12.924}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_near(lull_student_quantile(table[i].p, table[i].freedom), table[i].t, 6e-4);
}

static void test_sample_quantiles(void **state)
{
    (void)state;
    double values[] = {5, 1, 4, 2, 3};
    double scratch[5];
    lull_sort(values, 5);
    assert_true(lull_quantile(values, 5, 0) == 1 && lull_quantile(values, 5, 1) == 5);
    assert_near(lull_quantile(values, 5, 0.5), 3, 0);
    assert_near(lull_quantile(values, 5, 0.1), 1.4, 1e-15);
    assert_near(lull_median(values, 4), 2.5, 0);
    assert_near(lull_mad(values, 5, scratch), 1, 0);
    assert_near(lull_quantile(values, 1, 0.3), 1, 0);
}

/* Ranks of 95 % intervals of the median as printed (counted from 1): Conover, and tables of the
 * sign test. */
static void test_ranks_of_tables(void **state)
{
    (void)state;
    static const struct {
        size_t count, low, high;
    } table[] = {{6, 1, 6},   {8, 1, 8},   {9, 2, 8},   {10, 2, 9},
                 {15, 4, 12}, {20, 6, 15}, {30, 10, 21}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t low, high;
        assert_true(lull_quantile_ranks(table[i].count, 0.5, 0.95, &low, &high));
        assert_int_equal(low + 1, table[i].low);
        assert_int_equal(high + 1, table[i].high);
    }
    size_t low, high;
    assert_false(lull_quantile_ranks(5, 0.5, 0.95, &low, &high));
    assert_int_equal(low, 0);
    assert_int_equal(high, 4);
    /* A low quantile: there may be no smaller value to enclose it with. */
    assert_false(lull_quantile_ranks(20, 0.1, 0.95, &low, &high));
    assert_true(lull_quantile_ranks(40, 0.1, 0.95, &low, &high));
}

/* How often the interval contains the true quantile of an exponential distribution. */
static double coverage(size_t count, double q, double confidence, struct lull_random *random)
{
    enum { TRIALS = 20000, MOST = 200 };
    double values[MOST], truth = -log1p(-q);
    size_t hits = 0;
    assert_true(count <= MOST);
    for (size_t trial = 0; trial < TRIALS; trial++) {
        for (size_t i = 0; i < count; i++)
            values[i] = -log1p(-lull_random_uniform(random));
        lull_sort(values, count);
        struct lull_estimate estimate = lull_quantile_estimate(values, count, q, confidence);
        assert_true(estimate.low <= estimate.value && estimate.value <= estimate.high);
        hits += estimate.low <= truth && truth <= estimate.high;
    }
    return (double)hits / TRIALS;
}

static void test_coverage(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double q;
    } cases[] = {{40, 0.1}, {100, 0.05}, {200, 0.1}, {6, 0.5}, {25, 0.5}, {101, 0.9}};
    struct lull_random random;
    lull_random_seed(&random, 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t low, high;
        assert_true(lull_quantile_ranks(cases[i].count, cases[i].q, 0.95, &low, &high));
        /* What the ranks give exactly, by the slow sum. */
        double exact = slow_binomial_cdf((int64_t)high, cases[i].count, cases[i].q) -
                       slow_binomial_cdf((int64_t)low, cases[i].count, cases[i].q);
        double seen = coverage(cases[i].count, cases[i].q, 0.95, &random);
        assert_true(exact >= 0.95);
        assert_near(seen, exact, 5 * sqrt(exact * (1 - exact) / 20000)); /* 5 standard errors */
    }
}

/* The exact probabilities of the textbook, and the frequency with which one more value falls
 * within. */
static void test_prediction(void **state)
{
    (void)state;
    static const struct {
        size_t count, rank; /* from 1 */
        double attained;
    } table[] = {{1, 1, 0},     {2, 1, 1 / 3.0},    {6, 1, 5 / 7.0}, {12, 1, 11 / 13.0},
                 {39, 1, 0.95}, {40, 1, 39 / 41.0}, {79, 2, 0.95},   {100, 2, 97 / 101.0}};
    enum { TRIALS = 20000 };
    double values[101];
    struct lull_random random;
    lull_random_seed(&random, 21);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t count = table[i].count, hits = 0;
        for (size_t trial = 0; trial < TRIALS; trial++) {
            for (size_t k = 0; k <= count; k++)
                values[k] = -log1p(-lull_random_uniform(&random));
            lull_sort(values, count);
            struct lull_prediction later = lull_predict(values, count, 0.95);
            assert_true(later.low == values[table[i].rank - 1]);
            assert_true(later.high == values[count - table[i].rank]);
            assert_near(later.attained, table[i].attained, 1e-12);
            hits += later.low <= values[count] && values[count] <= later.high;
        }
        double p = table[i].attained;
        assert_near((double)hits / TRIALS, p, 5 * sqrt(p * (1 - p) / TRIALS));
    }
}

/* R. G. Newcombe, Two-sided confidence intervals for the single proportion, Stat. Med. 17 (1998) 857,
 * table I, method 3. */
static void test_proportion(void **state)
{
    static const struct {
        double part, of, low, high;
    } published[] = {{81, 263, 0.2553, 0.3662},
                     {15, 148, 0.0624, 0.1605},
                     {0, 20, 0.0000, 0.1611},
                     {1, 29, 0.0061, 0.1718}};
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        double low, high;
        lull_proportion_interval(published[i].part / published[i].of, published[i].of, &low, &high);
        assert_float_equal(low, published[i].low, 5e-5);
        assert_float_equal(high, published[i].high, 5e-5);
    }
}

TEST_GROUP(test_quantile)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proportion),      cmocka_unit_test(test_binomial),
        cmocka_unit_test(test_student),         cmocka_unit_test(test_sample_quantiles),
        cmocka_unit_test(test_ranks_of_tables), cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_prediction),
    };
    return run_cases(tests, NULL, NULL);
}
