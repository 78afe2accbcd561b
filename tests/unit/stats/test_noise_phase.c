/* How periodic detours are, on sums of two or three terms worked out by hand. */
#include "stats/noise.h"
#include "support/test.h"

#include <math.h>

/* |sum of length * exp(2 pi i f t)|^2 / (sum of length)^2 at f = 1: the times are turns. */
static void check(const double *turns, const double *length, size_t count, double expected)
{
    double got = lull_noise_periodicity(turns, length, count, 1);
    fail_if(fabs(got - expected) > 1e-12, "%.17g, expected %.17g", got, expected);
}

/* One phase, whichever it is, is full periodicity. */
static void test_one_phase(void **state)
{
    (void)state;
    const double length[] = {2, 3};
    for (int quarter = 0; quarter < 4; quarter++)
        check((const double[]){quarter / 4.0, 7 + quarter / 4.0}, length, 2, 1);
}

static void test_two_phases(void **state)
{
    (void)state;
    const double length[] = {1, 1, 1};
    check((const double[]){0, 0.5}, length, 2, 0);                /* 1 - 1 */
    check((const double[]){0, 0.25}, length, 2, 0.5);             /* |1 + i|^2 / 4 */
    check((const double[]){0.25, 0.25, 0}, length, 3, 5.0 / 9);   /* |1 + 2i|^2 / 9 */
    check((const double[]){0.25, 0.75, 0}, length, 3, 1.0 / 9);   /* |1 + i - i|^2 / 9 */
    check((const double[]){0.25, 0.25, 0.5}, length, 3, 5.0 / 9); /* |-1 + 2i|^2 / 9 */
}

static void test_nothing(void **state)
{
    (void)state;
    check(NULL, NULL, 0, 0);
}

TEST_GROUP(test_noise_phase)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_phase),
        cmocka_unit_test(test_two_phases),
        cmocka_unit_test(test_nothing),
    };
    return run_cases(tests, NULL, NULL);
}
