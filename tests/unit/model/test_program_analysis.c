/* Sweeps against hand calculations, and calibration against planted parameters. */
#include "model/program/calibrate.h"
#include "model/program/sweep.h"
#include "stats/distribution.h"
#include "support/model_text.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    *state = lull_arena_create(NULL);
    return 0;
}

static int tear_down(void **state)
{
    lull_arena_destroy(*state);
    return 0;
}

/* W / P seconds of computation, and messages of T + 1000 / B: at P = 1000 they are equal for T. */
static const char text[] =
    "return {title = 't', processes = 'P', network = {latency = 'T', bandwidth = 'B'}, parameters "
    "= {"
    "{name = 'P', unit = '1', default = 1}, {name = 'W', unit = 's', default = 1},"
    "{name = 'T', unit = 's', default = 1e-3}, {name = 'B', unit = 'B/s', default = 1e9},"
    "{name = 'way', choices = {'cheap', 'dear'}}}, terms = {"
    "{name = 'work', time = function(p) return compute{seconds = p.W / p.P} end},"
    "{name = 'talk', time = function(p)"
    "  return message{bytes = 1000, latency = p.way == 'dear' and p.P * p.T / 1000 or p.T} end}}}";

static struct lull_model_axis axis_of(struct lull_program_model *model, const char *words,
                                      struct lull_arena *arena)
{
    struct lull_model_axis axis;
    struct lull_error err = {""};
    fail_if(lull_model_axis_read(model, words, arena, &axis, &err) != LULL_OK, "%s", err.text);
    return axis;
}

static void test_axes(void **state)
{
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_error err;
    struct lull_model_axis axis = axis_of(&model, "P=1:4096:x2", *state);
    assert_int_equal(axis.n_values, 13);
    assert_true(axis.values[12] == 4096);
    axis = axis_of(&model, "W=0.1:0.5:+0.1", *state);
    assert_int_equal(axis.n_values, 5);
    axis = axis_of(&model, "way=dear,cheap", *state);
    assert_true(axis.n_values == 2 && axis.values[0] == 1 && axis.values[1] == 0);
    static const char *const bad[] = {"P=1:4", "P=4:1:x2", "P=0:4:x2", "P=1:4:x1", "P=1:4:+0",
                                      "P=",    "Q=1",      "P",        "P=1,a",    "way=none"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lull_model_axis_read(&model, bad[i], *state, &axis, &err), LULL_ERR_RANGE);
    lull_program_model_close(&model);
}

static void test_sweep(void **state)
{
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_error err = {""};
    struct lull_model_sweep sweep;
    const struct lull_model_axis axis = axis_of(&model, "P=1:4096:x4", *state);
    fail_if(lull_model_sweep_run(&model, &axis, 1, *state, &sweep, &err) != LULL_OK, "%s",
            err.text);
    assert_int_equal(sweep.n_variants, 2);
    assert_string_equal(sweep.variants[1].name, "dear");
    /* 1 / (1/64 + 1e-3 + 1e-6) */
    assert_true(fabs(sweep.points[0][3].speedup - 1 / (1.0 / 64 + 1.001e-3)) < 1e-9);
    assert_true(fabs(sweep.points[0][3].efficiency * 64 - sweep.points[0][3].speedup) < 1e-9);
    /* cheap: 1/P < 1e-3 from P = 1001 on. dear: 1/P < P 1e-6 likewise. At P = 1000 both cost the
     * same, below it the dear way is the cheaper one. */
    assert_int_equal(sweep.n_changes, 4);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sweep.changes[i].from, LULL_RESOURCE_COMPUTATION);
        assert_int_equal(sweep.changes[i].to, LULL_RESOURCE_LATENCY);
        assert_true(fabs(sweep.changes[i].at - 1001) <= 1);
    }
    assert_true(sweep.changes[2].is_best && sweep.changes[2].at == 2);
    assert_true(sweep.changes[3].is_best && fabs(sweep.changes[3].at - 1001) <= 1);
    lull_program_model_close(&model);
}

static void test_sensitivity(void **state)
{
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_error err = {""};
    struct lull_model_sensitivity *list;
    size_t count;
    double values[8];
    lull_model_set(&model, "P=100", LULL_PARAMETER_SET, &err);
    lull_model_values(&model, values);
    assert_int_equal(lull_model_sensitivities(&model, values, *state, &list, &count, &err),
                     LULL_OK);
    assert_int_equal(count, 4);
    double whole = 0.01 + 1e-3 + 1e-6;
    assert_string_equal(model.parameters[list[0].parameter].name, "P"); /* halved: nearly doubled */
    assert_true(fabs(list[0].halved - (0.02 + 1.001e-3) / whole) < 1e-12);
    assert_true(fabs(list[1].doubled - (0.02 + 1.001e-3) / whole) < 1e-12);
    assert_string_equal(model.parameters[list[2].parameter].name, "T");
    assert_true(fabs(list[2].doubled - (0.01 + 2.001e-3) / whole) < 1e-12);
    lull_program_model_close(&model);
}

/* Times of both terms at several P with W = 3 s, T = 2 ms and relative errors of `noise`. */
static lull_status calibrate(struct lull_program_model *model, size_t n_points, double noise,
                             struct lull_random *random, struct lull_arena *arena,
                             struct lull_calibration *calibration, struct lull_error *err)
{
    enum { MOST = 8 };
    const uint32_t free[] = {1, 2};
    double values[MOST][5];
    struct lull_measured_term measured[2 * MOST];
    struct lull_distribution normal;
    lull_distribution_normal(1, noise, -INFINITY, INFINITY, &normal, NULL);
    for (size_t i = 0; i < n_points; i++) {
        double P = (double)(2 << i), error[2];
        const double point[] = {P, NAN, NAN, 1e9, 0};
        memcpy(values[i], point, sizeof point);
        for (int t = 0; t < 2; t++)
            error[t] = noise > 0 ? lull_distribution_sample(&normal, random) : 1;
        measured[2 * i] = (struct lull_measured_term){values[i], 0, 3 / P * error[0]};
        measured[2 * i + 1] = (struct lull_measured_term){values[i], 1, 2.001e-3 * error[1]};
    }
    return lull_model_calibrate(model, free, 2, measured, 2 * n_points, 0.95, arena, calibration,
                                err);
}

static void test_exact(void **state)
{
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_error err = {""};
    struct lull_calibration calibration;
    fail_if(calibrate(&model, 3, 0, NULL, *state, &calibration, &err) != LULL_OK, "%s", err.text);
    assert_true(fabs(model.parameters[1].value - 3) < 1e-8);
    assert_true(fabs(model.parameters[2].value - 2e-3) < 1e-11);
    assert_int_equal(calibration.n_points, 6);
    lull_program_model_close(&model);
}

/* Intervals of 95 % hold what was planted in 90 to 99 % of the trials. */
static void test_intervals(void **state)
{
    enum { TRIALS = 200 };
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_random random;
    struct lull_error err = {""};
    struct lull_calibration calibration;
    unsigned held[2] = {0};
    lull_random_seed(&random, lull_test_seed());
    for (int trial = 0; trial < TRIALS; trial++) {
        fail_if(calibrate(&model, 6, 0.05, &random, *state, &calibration, &err) != LULL_OK, "%s",
                err.text);
        held[0] += model.parameters[1].low <= 3 && 3 <= model.parameters[1].high;
        held[1] += model.parameters[2].low <= 2e-3 && 2e-3 <= model.parameters[2].high;
    }
    for (int i = 0; i < 2; i++)
        fail_if(held[i] < 0.90 * TRIALS || held[i] > 0.99 * TRIALS,
                "parameter %d: %u of %d intervals hold", i, held[i], TRIALS);
    lull_program_model_close(&model);
}

static void test_refusals(void **state)
{
    struct lull_program_model model = model_of_text(text, *state);
    struct lull_error err = {""};
    struct lull_calibration calibration;
    const double values[] = {4, NAN, NAN, 1e9, 0};
    const struct lull_measured_term measured[] = {{values, 0, 1}, {values, 0, 1.1}, {values, 1, 1}};
    assert_int_equal(lull_model_calibrate(&model, (const uint32_t[]){1, 2}, 2, measured, 1, 0.95,
                                          *state, &calibration, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text,
                        "1 measured times of terms for 2 free parameters, expected as many "
                        "or more");
    assert_int_equal(lull_model_calibrate(&model, (const uint32_t[]){1, 2}, 2, measured, 2, 0.95,
                                          *state, &calibration, &err),
                     LULL_ERR_RANGE);
    assert_string_equal(err.text, "parameter 'T' has no effect on what was measured");
    lull_program_model_close(&model);
}

TEST_GROUP(test_program_analysis)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_axes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sweep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sensitivity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
