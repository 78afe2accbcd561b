/* Distributions: draws against moments and cumulative distributions in closed form. */
#include "stats/distribution.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 40000 };

#define MAKE(kind, ...)                    \
    struct lull_distribution distribution; \
    assert_int_equal(lull_distribution_##kind(__VA_ARGS__, &distribution, NULL), LULL_OK)

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov with its 0.1 % point, mean within 4 standard errors, variance within a tenth;
 * the seeds are fixed, so that the test always gives the same. */
static void check(const struct lull_distribution *distribution, double mean, double variance,
                  double (*cdf)(double x))
{
    double *draws = malloc(DRAWS * sizeof *draws), sum = 0, squares = 0, distance = 0;
    struct lull_random random;
    lull_random_seed(&random, 4711);
    for (unsigned i = 0; i < DRAWS; i++) {
        draws[i] = lull_distribution_sample(distribution, &random);
        sum += draws[i];
        squares += (draws[i] - mean) * (draws[i] - mean);
    }
    assert_true(fabs(lull_distribution_mean(distribution) - mean) <= 1e-9 * (1 + fabs(mean)));
    assert_true(fabs(lull_distribution_variance(distribution) - variance) <= 1e-9 * (1 + variance));
    assert_true(fabs(sum / DRAWS - mean) <= 4 * sqrt(variance / DRAWS) + 1e-12);
    assert_true(fabs(squares / DRAWS - variance) <= 0.1 * variance);
    qsort(draws, DRAWS, sizeof *draws, compare);
    for (unsigned i = 0; i < DRAWS && cdf; i++) {
        double want = cdf(draws[i]), got = lull_distribution_cdf(distribution, draws[i]);
        fail_if(fabs(got - want) > 1e-12, "cdf of %g: %.17g, expected %.17g", draws[i], got, want);
        distance = fmax(distance, fmax(want - (double)i / DRAWS, (i + 1.0) / DRAWS - want));
    }
    fail_if(distance * sqrt(DRAWS) > 1.95, "distance %g from the distribution",
            distance * sqrt(DRAWS));
    free(draws);
}

static double exponential_of_3(double x)
{
    return 1 - exp(-x / 3);
}

static void exponential(void **state)
{
    (void)state;
    MAKE(exponential, 3);
    check(&distribution, 3, 9, exponential_of_3);
}

static double uniform_1_to_5(double x)
{
    return (x - 1) / 4;
}

static void uniform(void **state)
{
    (void)state;
    MAKE(uniform, 1, 5);
    check(&distribution, 3, 16.0 / 12, uniform_1_to_5);
}

/* Shape 4, an integer: Erlang's distribution is a sum of four terms. */
static double erlang_4_of_8(double x)
{
    double y = x / 2;
    return 1 - exp(-y) * (1 + y + y * y / 2 + y * y * y / 6);
}

/* Shape 1/2: the square of a normal number. */
static double gamma_half_of_5(double x)
{
    return erf(sqrt(x / 10));
}

static void gamma_of_two_shapes(void **state)
{
    (void)state;
    MAKE(gamma, 8, 4);
    check(&distribution, 8, 16, erlang_4_of_8);
    assert_int_equal(lull_distribution_gamma(5, 0.5, &distribution, NULL), LULL_OK);
    check(&distribution, 5, 50, gamma_half_of_5);
}

static double normal_10_by_2(double x)
{
    return 0.5 * erfc((10 - x) / 2 / sqrt(2));
}

static double half_normal_of_2(double x)
{
    return erf(x / 2 / sqrt(2));
}

static double narrow_normal(double x)
{
    return erf(x / sqrt(2)) / erf(0.5 / sqrt(2));
}

static void normal(void **state)
{
    (void)state;
    MAKE(normal, 10, 2, -INFINITY, INFINITY);
    check(&distribution, 10, 4, normal_10_by_2);
    /* Cut at its mean: the half-normal distribution, mean sd sqrt(2/pi). */
    assert_int_equal(lull_distribution_normal(0, 2, 0, INFINITY, &distribution, NULL), LULL_OK);
    check(&distribution, 2 * sqrt(2 / acos(-1)), 4 * (1 - 2 / acos(-1)), half_normal_of_2);
    /* Bounds nearer than the deviation: mean (phi(0) - phi(1/2)) / mass, variance from
     * 1 - (1/2) phi(1/2) / mass - mean^2. */
    double phi = 1 / sqrt(2 * acos(-1)), at_half = phi * exp(-0.125);
    double mass = erf(0.5 / sqrt(2)) / 2, mean = (phi - at_half) / mass;
    assert_int_equal(lull_distribution_normal(0, 1, 0, 0.5, &distribution, NULL), LULL_OK);
    check(&distribution, mean, 1 - 0.5 * at_half / mass - mean * mean, narrow_normal);
    assert_int_equal(lull_distribution_normal(7, 0, 0, 9, &distribution, NULL), LULL_OK);
    check(&distribution, 7, 0, NULL);
}

static void in_steps(void **state)
{
    (void)state;
    MAKE(bernoulli, 100, 0.1);
    check(&distribution, 10, 900, NULL);
    assert_true(lull_distribution_cdf(&distribution, -1) == 0);
    assert_true(lull_distribution_cdf(&distribution, 0) == 0.9);
    assert_true(lull_distribution_cdf(&distribution, 100) == 1);
    assert_int_equal(lull_distribution_constant(5, &distribution, NULL), LULL_OK);
    check(&distribution, 5, 0, NULL);
    assert_true(lull_distribution_cdf(&distribution, 4.9) == 0);
    assert_true(lull_distribution_cdf(&distribution, 5) == 1);
}

/* A draw depends on the state of the generator alone. */
static void repeats(void **state)
{
    (void)state;
    MAKE(gamma, 8, 0.25);
    struct lull_random a, b;
    lull_random_seed(&a, 3);
    for (unsigned i = 0; i < 1000; i++) {
        b = a;
        assert_true(lull_distribution_sample(&distribution, &a) ==
                    lull_distribution_sample(&distribution, &b));
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void refuses_nonsense(void **state)
{
    (void)state;
    struct lull_distribution d;
    struct lull_error err;
    assert_int_equal(lull_distribution_constant(NAN, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_exponential(-1, &d, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "mean is -1, expected 0 or more");
    assert_int_equal(lull_distribution_exponential(INFINITY, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_uniform(2, 1, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_gamma(1, 0, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_bernoulli(1, 0, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_bernoulli(1, 1.1, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_normal(1, -1, 0, 2, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_normal(-1, 1, 0, 2, &d, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_distribution_normal(3, 1, 0, 2, &d, &err), LULL_ERR_RANGE);
}

TEST_GROUP(test_distribution)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential),
        cmocka_unit_test(uniform),
        cmocka_unit_test(gamma_of_two_shapes),
        cmocka_unit_test(normal),
        cmocka_unit_test(in_steps),
        cmocka_unit_test(repeats),
        cmocka_unit_test(refuses_nonsense),
    };
    return run_cases(tests, NULL, NULL);
}
