/* Roofs of the published Haswell, against hand calculations. */
#include "model/kernel/predict.h"
#include "support/loops.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool near(double value, double expected)
{
    return fabs(value - expected) <= 1e-9 * fabs(expected);
}

static lull_status predict(unsigned cores, double size, struct lull_arena *arena,
                           struct lull_kernel_prediction *ret_prediction, struct lull_error *err)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    const struct lull_kernel_size sizes[] = {{"N", size}, {"M", size}};
    const struct lull_kernel_source source = {
        .path = lull_arena_printf(arena, "%s/../examples/kernels/jacobi2d.c", tests),
        .sizes = sizes,
        .n_sizes = 2};
    static const struct lull_incore_times times = {6, 4};
    const struct lull_kernel_options options = {.incore = {.given = &times, .n_given = 1},
                                                .cores = cores};
    struct lull_kernel *kernel;
    struct lull_machine *machine;
    lull_status status = lull_kernel_read(&source, arena, &kernel, err);
    if (status == LULL_OK)
        status = lull_machine_read(
            lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod.json", tests), arena,
            &machine, err);
    return status == LULL_OK ? lull_kernel_predict(kernel, machine, &source, &options, NULL, arena,
                                                   ret_prediction, err)
                             : status;
}

/* 8 points of 4 flop in 6 cycles at 2.3 GHz; 3 lines of 64 bytes over 64, 32 and 26.76e9 / 2.3e9
 * bytes per cycle. T = max(6, 4 + 3 + 6 + 192 / 11.635). */
static void one_core(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel_prediction prediction;
    (void)state;
    assert_int_equal(predict(1, 1000, arena, &prediction, NULL), LULL_OK);
    const struct lull_roofline *roofline = &prediction.roofline;
    assert_true(near(roofline->in_core, 8 * 4 * 2.3e9 / 6));
    assert_true(near(roofline->roofs[0].bandwidth, 64 * 2.3e9));
    assert_true(near(roofline->roofs[1].bandwidth, 32 * 2.3e9));
    assert_true(near(roofline->roofs[2].intensity, 32.0 / 192));
    assert_true(near(roofline->performance, 26.76e9 / 6));
    assert_int_equal(roofline->limit, 2);
    assert_true(isnan(roofline->peak));
    assert_true(near(prediction.cycles, 13 + 192 * 2.3 / 26.76));
    assert_int_equal(prediction.saturation, 2); /* 29.5 / 16.5 */
    assert_int_equal(prediction.n_points, 7);
    assert_true(near(prediction.points[6].naive, 26.76e9 / 6));
    assert_true(near(prediction.points[0].latency, prediction.points[0].naive));
    lull_arena_destroy(arena);
}

/* Everything fits into L3 for one core; seven times as much does not. */
static void cores_divide_the_shared_cache(void **state)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel_prediction one, seven;
    (void)state;
    assert_int_equal(predict(1, 500, arena, &one, NULL), LULL_OK);
    assert_int_equal(predict(7, 500, arena, &seven, NULL), LULL_OK);
    assert_true(near(one.cycles, 13));
    assert_int_equal(one.saturation, 0);
    assert_int_equal(one.roofline.limit, LULL_KERNEL_NONE);
    assert_int_equal(seven.roofline.limit, 2);
    assert_true(near(seven.roofline.performance, 26.76e9 / 6));
    assert_true(near(seven.roofline.in_core, 7 * one.roofline.in_core));
    /* The curve over cores knows it, whatever was asked for. */
    assert_true(near(one.points[6].naive, seven.points[6].naive));
    assert_true(near(one.points[1].naive, 2 * one.points[0].naive));
    lull_arena_destroy(arena);
}

TEST_GROUP(test_roofline)
{
    if (!reads_loops())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_core),
                                       cmocka_unit_test(cores_divide_the_shared_cache)};
    return run_cases(tests, NULL, NULL);
}
