/* Rank tests against published values and against counting all orders. */
#include "stats/hypothesis_test.h"
#include "stats/quantile.h"
#include "stats/random.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static void check(const double *a, size_t n_a, const double *b, size_t n_b, double wanted,
                  double error)
{
    double got = lull_rank_test(a, n_a, b, n_b), turned = lull_rank_test(b, n_b, a, n_a);
    fail_if(fabs(got - wanted) > error || fabs(turned - wanted) > error,
            "%.17g and %.17g, expected %.17g", got, turned, wanted);
}

/* Critical values of U, two-sided 5 %, from the table of Mann and Whitney: for 5 and 5 values U = 2
 * is below 0.05 and 3 is not; for 10 and 10 U = 23 and 24; for 8 and 12 U = 22 and 23. */
static void test_published_critical_values(void **state)
{
    (void)state;
    static const struct {
        size_t n, m, u;
    } table[] = {{5, 5, 2}, {8, 8, 13}, {10, 10, 23}, {8, 12, 22}, {12, 12, 37}, {20, 20, 127}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t more = 0; more < 2; more++) {
            double a[20], b[20];
            size_t u = table[i].u + more; /* pairs in which a value of a is the larger */
            for (size_t k = 0; k < table[i].m; k++)
                b[k] = (double)k;
            for (size_t k = 0; k < table[i].n; k++) {
                size_t above = u < table[i].m ? u : table[i].m;
                a[table[i].n - 1 - k] = (double)above - 0.5 - 1e-3 * (double)k;
                u -= above;
            }
            double p = lull_rank_test(a, table[i].n, b, table[i].m);
            assert_true(more ? p > 0.05 : p <= 0.05);
        }
}

/* The interval of Hodges and Lehmann leaves out as many differences at either end as U may be at
 * most to be significant: the same table. Too few values give none: 3 and 3 have 20 orders. */
static void test_margin(void **state)
{
    (void)state;
    static const size_t table[][3] = {{5, 5, 2},   {8, 8, 13},   {10, 10, 23},
                                      {8, 12, 22}, {12, 12, 37}, {20, 20, 127}};
    size_t margin;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(lull_rank_margin(table[i][0], table[i][1], 0.95, &margin));
        assert_int_equal(margin, table[i][2]);
    }
    assert_false(lull_rank_margin(3, 3, 0.95, &margin));
    assert_false(lull_rank_margin(1, 1, 0.95, &margin));
    /* Beyond the exact ones the normal approximation goes on: 64 and 65 values differ little. */
    size_t next;
    assert_true(lull_rank_margin(64, 64, 0.95, &margin));
    assert_true(lull_rank_margin(65, 64, 0.95, &next));
    assert_true(next > margin && next < margin + 64);
}

/* Two of all C(10, 5) = 252 orders are as uneven as complete separation, four as U <= 1. */
static void test_small_samples(void **state)
{
    (void)state;
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10}, mixed[] = {1, 2, 3, 4, 6},
                 rest[] = {5, 7, 8, 9, 10};
    check(low, 5, high, 5, 2.0 / 252, 1e-15);
    check(mixed, 5, rest, 5, 4.0 / 252, 1e-15);
    check(low, 5, low, 5, 1, 1e-12);
    check(low, 0, low, 5, 1, 0);
}

static double draw_probability(struct lull_random *random, size_t n, size_t m)
{
    double a[100], b[100];
    for (size_t i = 0; i < n; i++)
        a[i] = lull_random_uniform(random);
    for (size_t i = 0; i < m; i++)
        b[i] = lull_random_uniform(random);
    lull_sort(a, n);
    lull_sort(b, m);
    return lull_rank_test(a, n, b, m);
}

/* Of samples of one distribution no more than the level are told apart, and not much less. */
static void test_level(void **state)
{
    (void)state;
    enum { DRAWS = 4000 };
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed());
    static const size_t sizes[][2] = {{12, 12}, {12, 39}, {80, 90}};
    for (size_t s = 0; s < 3; s++) {
        unsigned rejected = 0;
        for (int i = 0; i < DRAWS; i++)
            rejected += draw_probability(&random, sizes[s][0], sizes[s][1]) <= 0.05;
        double share = (double)rejected / DRAWS, error = 5 * sqrt(0.05 * 0.95 / DRAWS);
        assert_true(share < 0.05 + error && share > 0.04 - error);
    }
}

/* The example of Holm's procedure: 0.01, 0.04, 0.03, 0.005 at 5 % reject the first and the last. */
static void test_holm(void **state)
{
    (void)state;
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    bool rejected[4];
    double asked[4];
    lull_holm(p, 4, 0.05, rejected, asked);
    assert_true(rejected[0] && !rejected[1] && !rejected[2] && rejected[3]);
    static const double of_four[] = {0.05 / 3, 0.05, 0.05 / 2, 0.05 / 4};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(asked[i] - (of_four[i])) <= 1e-15);
    lull_holm(p, 1, 0.05, rejected, NULL);
    assert_true(rejected[0]);
}

/* Samples apart from each other have the smallest probability there is: of 5 and 5 values 2 / 252. */
static void test_least(void **state)
{
    (void)state;
    const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
    for (size_t a = 1; a <= 5; a++)
        for (size_t b = 1; b <= 5; b++) {
            const double least = lull_rank_least(a, b), apart = lull_rank_test(low, a, high, b);
            assert_true(fabs(least - apart) <= 1e-12);
        }
    assert_true(fabs(lull_rank_least(5, 5) - (2.0 / 252)) <= 1e-15);
    assert_true(fabs(lull_rank_least(6, 6) - (2.0 / 924)) <= 1e-15);
    assert_true(fabs(lull_rank_least(0, 6) - (1)) <= 0);
}

/* The share of later visits that lie in the interval of the visits before is the one stated. */
static void test_intervals_are_calibrated(void **state)
{
    (void)state;
    enum { DRAWS = 6000 };
    struct lull_random random;
    lull_random_seed(&random, lull_test_seed() + 1);
    static const size_t counts[] = {12, 39, 60};
    for (size_t c = 0; c < 3; c++) {
        unsigned inside = 0;
        double stated = 0;
        for (int i = 0; i < DRAWS; i++) {
            double visits[60];
            for (size_t k = 0; k < counts[c]; k++)
                visits[k] = exp(3 * lull_random_uniform(&random)); /* far from normal */
            lull_sort(visits, counts[c]);
            struct lull_prediction later = lull_predict(visits, counts[c], 0.95);
            double one_more = exp(3 * lull_random_uniform(&random));
            inside += one_more >= later.low && one_more <= later.high;
            stated = later.attained;
        }
        double share = (double)inside / DRAWS;
        assert_true(fabs(share - stated) < 5 * sqrt(stated * (1 - stated) / DRAWS));
    }
}

TEST_GROUP(test_ranks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_critical_values),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_small_samples),
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_intervals_are_calibrated),
    };
    return run_cases(tests, NULL, NULL);
}
