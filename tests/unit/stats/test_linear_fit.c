/* Least squares against the certified values of NIST's Statistical Reference Datasets. */
#include "stats/regression.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

static void check_near(const char *what, double got, double want, double relative)
{
    fail_if(!(fabs(got - want) <= relative * fabs(want)), "%s: %.15g, certified %.15g", what, got,
            want);
}

/* Longley (1967), the classic ill-conditioned problem: certified coefficients and their standard
 * deviations. Source: https://www.itl.nist.gov/div898/strd/lls/data/Longley.shtml */
static void test_longley(void **state)
{
    (void)state;
    enum { N = 16, K = 7 };
    static const double y[N] = {60323, 61122, 60171, 61187, 63221, 63639, 64989, 63761,
                                66019, 67857, 68169, 66513, 68655, 69564, 69331, 70551};
    static const double one[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double deflator[N] = {83.0,  88.5,  88.2,  89.5,  96.2,  98.1,  99.0,  100.0,
                                       101.2, 104.6, 108.4, 110.8, 112.6, 114.2, 115.7, 116.9};
    static const double product[N] = {234289, 259426, 258054, 284599, 328975, 346999,
                                      365385, 363112, 397469, 419180, 442769, 444546,
                                      482704, 502601, 518173, 554894};
    static const double unemployed[N] = {2356, 2325, 3682, 3351, 2099, 1932, 1870, 3578,
                                         2904, 2822, 2936, 4681, 3813, 3931, 4806, 4007};
    static const double forces[N] = {1590, 1456, 1616, 1650, 3099, 3594, 3547, 3350,
                                     3048, 2857, 2798, 2637, 2552, 2514, 2572, 2827};
    static const double people[N] = {107608, 108632, 109773, 110929, 112075, 113270,
                                     115094, 116219, 117388, 118734, 120445, 121950,
                                     123366, 125368, 127852, 130081};
    static const double year[N] = {1947, 1948, 1949, 1950, 1951, 1952, 1953, 1954,
                                   1955, 1956, 1957, 1958, 1959, 1960, 1961, 1962};
    static const double *const columns[K] = {one,    deflator, product, unemployed,
                                             forces, people,   year};
    static const double certified[K] = {-3482258.63459582, 15.0618722713733,  -0.0358191792925910,
                                        -2.02022980381683, -1.03322686717359, -0.0511041056535807,
                                        1829.15146461355};
    static const double deviation[K] = {890420.383607373,  84.9149257747669,  0.0334910077722432,
                                        0.488399681651699, 0.214274163161675, 0.226073200069370,
                                        455.478499142212};
    double work[N * (K + 1)];
    struct lull_linear_fit fit;
    assert_int_equal(lull_fit_linear(columns, K, y, NULL, N, work, &fit, NULL), LULL_OK);
    double residual = sqrt(fit.squares / (N - K));
    check_near("residual", residual, 304.854073561965, 1e-9);
    for (size_t j = 0; j < K; j++) {
        check_near("coefficient", fit.coefficients[j], certified[j], 1e-7);
        check_near("standard deviation", residual * sqrt(fit.inverse[j][j]), deviation[j], 1e-7);
    }
}

/* A weight of 3 is the same as three equal points, and the leverage of a point tells what the fit
 * without it would say of it. */
static void test_weights_and_leverage(void **state)
{
    (void)state;
    enum { N = 5 };
    static const double x[N + 2] = {1, 2, 4, 8, 16, 16, 16}, one[N + 2] = {1, 1, 1, 1, 1, 1, 1};
    static const double y[N + 2] = {3, 1, 4, 1, 5, 5, 5}, weights[N] = {1, 1, 1, 1, 3};
    static const double *const columns[] = {one, x};
    double work[3 * (N + 2)], again[3 * (N + 2)];
    struct lull_linear_fit weighted, repeated, without;
    assert_int_equal(lull_fit_linear(columns, 2, y, weights, N, work, &weighted, NULL), LULL_OK);
    assert_int_equal(lull_fit_linear(columns, 2, y, NULL, N + 2, again, &repeated, NULL), LULL_OK);
    for (int j = 0; j < 2; j++)
        check_near("coefficient", weighted.coefficients[j], repeated.coefficients[j], 1e-13);
    check_near("squares", weighted.squares, repeated.squares, 1e-13);

    lull_fit_linear(columns, 2, y, NULL, N, work, &weighted, NULL);
    lull_fit_linear(columns, 2, y, NULL, N - 1, again, &without, NULL);
    double leverage = work[N - 1] * work[N - 1] + work[2 * N - 1] * work[2 * N - 1];
    double left_out = y[N - 1] - (without.coefficients[0] + without.coefficients[1] * x[N - 1]);
    check_near("left out", work[3 * N - 1] / (1 - leverage), left_out, 1e-12);
}

static void test_refusals(void **state)
{
    (void)state;
    static const double one[3] = {1, 1, 1}, two[3] = {2, 2, 2}, y[3] = {1, 2, 3};
    static const double *const columns[] = {one, two, y, one};
    double work[15];
    struct lull_linear_fit fit;
    assert_int_equal(lull_fit_linear(columns, 2, y, NULL, 3, work, &fit, NULL), LULL_ERR_RANGE);
    assert_int_equal(lull_fit_linear(columns, 4, y, NULL, 3, work, &fit, NULL), LULL_ERR_RANGE);
}

TEST_GROUP(test_linear_fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longley),
        cmocka_unit_test(test_weights_and_leverage),
        cmocka_unit_test(test_refusals),
    };
    return run_cases(tests, NULL, NULL);
}
