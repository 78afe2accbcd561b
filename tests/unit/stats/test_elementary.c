/* Logarithm and exponential with the same bits everywhere. */
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct point {
    double x, y;
};

/* The same operations carried out by another language (Python), whose numbers are IEEE doubles and
 * which never fuses two operations. */
static const struct point log_points[] = {
    {0x1.0000000000000p-53, -0x1.25e4f7b2737fap+5}, {0x1.999999999999ap-4, -0x1.26bb1bbb55515p+1},
    {0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},  {0x1.6a0902de00d1bp-1, -0x1.62e6b3842a25ep-2},
    {0x1.fff2e48e8a71ep-1, -0x1.a3738d2cf1cc2p-14}, {0x1.0000000000000p+0, 0x0.0p+0},
    {0x1.8000000000000p+0, 0x1.9f323ecbf984cp-2},   {0x1.8000000000000p+1, 0x1.193ea7aad030ap+0},
    {0x1.2a05f20000000p+33, 0x1.7069e2aa2aa5bp+4},  {0x1.7e43c8800759cp+996, 0x1.5963447f87fb5p+9},
};
static const struct point exp_points[] = {
    {-0x1.5dc0000000000p+9, 0x1.c89c2e339b392p-1010},
    {-0x1.4400000000000p+4, 0x1.b93de1e27ca3bp-30},
    {-0x1.0000000000000p+0, 0x1.78b56362cef38p-2},
    {-0x1.999999999999ap-4, 0x1.cf46d99d52b3ap-1},
    {0x0.0p+0, 0x1.0000000000000p+0},
    {0x1.12e0be826d695p-30, 0x1.000000044b830p+0},
    {0x1.0000000000000p-1, 0x1.a61298e1e069cp+0},
    {0x1.0000000000000p+0, 0x1.5bf0a8b14576ap+1},
    {0x1.e4ccccccccccdp+4, 0x1.a3d45a3853fc6p+43},
    {0x1.5e00000000000p+9, 0x1.d945df4f8ec8ep+1009},
};

static void has_the_same_bits(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        fail_if(lull_log(log_points[i].x) != log_points[i].y, "log %a: %a, not %a", log_points[i].x,
                lull_log(log_points[i].x), log_points[i].y);
        fail_if(lull_exp(exp_points[i].x) != exp_points[i].y, "exp %a: %a, not %a", exp_points[i].x,
                lull_exp(exp_points[i].x), exp_points[i].y);
    }
    assert_true(lull_exp(-1000) == 0 && isinf(lull_exp(1000)));
}

/* Within one unit of the last place of the truth, which the C library meets to half a unit or so.
 */
static void agrees_with_the_library(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_seed(&random, 17);
    for (unsigned i = 0; i < 200000; i++) {
        double u = 1 - lull_random_uniform(&random), y = log(u);
        assert_true(fabs(lull_log(u) - y) <= 0x1p-52 * fabs(y) * 1.6);
        double x = 1300 * (lull_random_uniform(&random) - 0.5), z = exp(x);
        assert_true(fabs(lull_exp(x) - z) <= 0x1p-52 * z * 1.6);
        assert_true(fabs(lull_log(z) - log(z)) <= 0x1p-52 * fabs(x) * 1.6);
    }
}

/* 709 is the largest power that is taken; the greatest double is just below e^709.8. */
static void the_largest_power(void **state)
{
    (void)state;
    const double greatest = exp(709);
    assert_true(fabs(lull_exp(709) - greatest) <= 0x1p-52 * greatest * 1.6);
    assert_true(isinf(lull_exp(nextafter(709, 710))));
}

TEST_GROUP(test_elementary)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_same_bits),
        cmocka_unit_test(agrees_with_the_library),
        cmocka_unit_test(the_largest_power),
    };
    return run_cases(tests, NULL, NULL);
}
