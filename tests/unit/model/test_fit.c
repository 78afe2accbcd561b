/* Laws against published fits, planted laws without noise, and hand calculations. */
#include "model/fit/fit.h"
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

static struct lull_fit_table *table_of(const double *x, const double *y, size_t count,
                                       const char *metric, struct lull_arena *arena)
{
    static const char *const params[] = {"p"};
    struct lull_fit_table *table = NULL;
    lull_fit_table_create(arena, params, 1, &table, NULL);
    struct lull_fit_series *series = lull_fit_table_series(table, "", metric);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(lull_fit_table_add(table, series, &x[i], y[i], NULL), LULL_OK);
    lull_fit_table_finish(table);
    return table;
}

/* With the law of that name alone, or with all. */
static struct lull_fit *fit_with(const struct lull_fit_table *table, const char *law,
                                 struct lull_arena *arena)
{
    const struct lull_fit_law *laws[2] = {law ? lull_fit_law_find(law) : NULL, NULL};
    const struct lull_fit_options options = {.laws = law ? laws : NULL};
    struct lull_fit *fit = NULL;
    struct lull_error err = {""};
    fail_if(lull_fit_series_fit(&table->series[0], table->params, table->n_params, &options, arena,
                                &fit, &err) != LULL_OK,
            "%s", err.text);
    return fit;
}

static const struct lull_fit_model *best_of(const struct lull_fit *fit)
{
    return &fit->models[fit->best];
}

static void check_near(const char *what, double got, double want, double relative)
{
    fail_if(!(fabs(got - want) <= relative * fabs(want)), "%s: %.10g, expected %.10g", what, got,
            want);
}

static void check_coefficient(const struct lull_fit_model *model, const char *name, double want,
                              double relative)
{
    for (size_t i = 0; i < model->n_coefficients; i++)
        if (strcmp(model->coefficients[i].name, name) == 0) {
            check_near(name, model->coefficients[i].value, want, relative);
            return;
        }
    fail_msg("no coefficient %s", name);
}

/* ---- published ------------------------------------------------------------------------------ */

/* SPEC SDM91, fitted by the R package usl (its README): alpha = 0.0277285, beta = 0.0001044, gamma
 * = 89.995233, of the throughput's squares. */
static void test_usl_published(void **state)
{
    static const double load[] = {1, 18, 36, 72, 108, 144, 216};
    static const double throughput[] = {64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2};
    const struct lull_fit *fit =
        fit_with(table_of(load, throughput, 7, "throughput", *state), "usl", *state);
    check_coefficient(best_of(fit), "alpha", 0.0277285, 1e-4);
    /* Published with four digits: to half of the last one. */
    assert_true(fabs(best_of(fit)->coefficients[2].value - 0.0001044) <= 0.5e-7);
    check_coefficient(best_of(fit), "x1", 89.995233, 1e-4);
}

/* ---- planted, without noise ----------------------------------------------------------------- */

/* x^exponent log2(x)^logs, the published list, once more. */
static const struct {
    double exponent;
    int most_logs;
} published[] = {{0, 2},       {1.0 / 4, 2}, {1.0 / 3, 2}, {1.0 / 2, 2},  {2.0 / 3, 2},
                 {3.0 / 4, 2}, {4.0 / 5, 0}, {1, 2},       {5.0 / 4, 1},  {4.0 / 3, 1},
                 {3.0 / 2, 2}, {5.0 / 3, 0}, {7.0 / 4, 0}, {2, 2},        {9.0 / 4, 0},
                 {7.0 / 3, 0}, {5.0 / 2, 2}, {8.0 / 3, 0}, {11.0 / 4, 0}, {3, 1}};

static void check_term(double exponent, int logs, const char *law, struct lull_arena *arena)
{
    static const double x[] = {2, 4, 8, 16, 32};
    double y[5];
    for (int i = 0; i < 5; i++)
        y[i] = 200 + 10 * pow(x[i], exponent) * pow(log2(x[i]), logs);
    const struct lull_fit *fit = fit_with(table_of(x, y, 5, "time", arena), law, arena);
    const struct lull_fit_model *model = best_of(fit);
    const struct lull_fit_term *term = model->blocks[0].terms[0];
    fail_if(model->n_coefficients != 2 || !term || fabs(term->exponent - exponent) > 1e-12 ||
                term->logs != logs,
            "x^%g log2(x)^%d: found %s", exponent, logs,
            lull_fit_formula(model, (const char *const[]){"x"}, arena));
    check_coefficient(model, "c0", 200, 1e-6);
    check_coefficient(model, "c1", 10, 1e-6);
}

static void test_all_terms(void **state)
{
    int count = 0;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        for (int logs = published[i].exponent == 0; logs <= published[i].most_logs; logs++) {
            check_term(published[i].exponent, logs, "pmnf", *state);
            check_term(published[i].exponent, logs, "pmnf-strong", *state);
            count++;
        }
    assert_int_equal(count, 42);
}

static double plant(const char *law, double p)
{
    if (strcmp(law, "amdahl") == 0)
        return 10 * (0.05 + 0.95 / p);
    if (strcmp(law, "amdahl-log") == 0)
        return 10 * (0.05 + 0.95 / p + 0.01 * log2(p));
    if (strcmp(law, "amdahl-linear") == 0)
        return 10 * (0.05 + 0.95 / p + 0.001 * (p - 1));
    return 10 * p / (0.05 + 0.95 * p); /* gustafson, of times */
}

static void test_laws_without_noise(void **state)
{
    static const char *const laws[] = {"amdahl", "amdahl-log", "amdahl-linear", "gustafson"};
    static const double p[] = {1, 2, 4, 8, 16, 32, 64};
    for (size_t l = 0; l < 4; l++) {
        double y[7];
        for (int i = 0; i < 7; i++)
            y[i] = plant(laws[l], p[i]);
        const struct lull_fit *fit = fit_with(table_of(p, y, 7, "time", *state), NULL, *state);
        assert_string_equal(best_of(fit)->law->name, laws[l]);
        check_coefficient(best_of(fit), "t1", 10, 1e-9);
        check_coefficient(best_of(fit), "s", 0.05, 1e-7);
        double x = 128;
        check_near("prediction", lull_fit_value(best_of(fit), &x), plant(laws[l], 128), 1e-9);
    }
}

/* The same speeds as times, throughputs and efficiencies are one law. */
static void test_kinds_agree(void **state)
{
    static const double p[] = {1, 2, 4, 8, 16};
    double throughput[5], efficiency[5];
    for (int i = 0; i < 5; i++) {
        throughput[i] = 30 / plant("amdahl", p[i]);
        efficiency[i] = 10 / plant("amdahl", p[i]) / p[i];
    }
    const struct lull_fit *rates =
        fit_with(table_of(p, throughput, 5, "throughput", *state), NULL, *state);
    const struct lull_fit *shares =
        fit_with(table_of(p, efficiency, 5, "efficiency", *state), NULL, *state);
    assert_string_equal(best_of(rates)->law->name, "amdahl");
    assert_string_equal(best_of(shares)->law->name, "amdahl");
    check_coefficient(best_of(rates), "x1", 3, 1e-9);
    check_coefficient(best_of(rates), "s", 0.05, 1e-7);
    check_coefficient(best_of(shares), "s", 0.05, 1e-7);
}

/* Strong scaling of work over x^(2/3), which no law of speedup has. */
static void test_falling_term(void **state)
{
    static const double p[] = {1, 2, 4, 8, 16, 32};
    double y[6];
    for (int i = 0; i < 6; i++)
        y[i] = 1 + 50 * pow(p[i], -2.0 / 3);
    const struct lull_fit *fit = fit_with(table_of(p, y, 6, "time", *state), NULL, *state);
    assert_string_equal(best_of(fit)->law->name, "pmnf-strong");
    assert_string_equal(lull_fit_formula(best_of(fit), (const char *const[]){"p"}, *state),
                        "c0 + c1 p^(-2/3)");
}

static void test_constant(void **state)
{
    static const double p[] = {1, 2, 4, 8, 16}, y[] = {7, 7, 7, 7, 7};
    const struct lull_fit *fit = fit_with(table_of(p, y, 5, "time", *state), NULL, *state);
    assert_string_equal(best_of(fit)->law->name, "constant");
    fit = fit_with(table_of(p, y, 5, "time", *state), "pmnf", *state);
    assert_int_equal(best_of(fit)->n_coefficients, 1);
}

/* ---- several parameters --------------------------------------------------------------------- */

static struct lull_fit_table *grid(double (*law)(const double *), size_t n_params,
                                   struct lull_arena *arena)
{
    static const char *const params[] = {"p", "n", "m"};
    struct lull_fit_table *table = NULL;
    lull_fit_table_create(arena, params, n_params, &table, NULL);
    struct lull_fit_series *series = lull_fit_table_series(table, "", "time");
    int last = n_params > 2 ? 5 : 1;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < last; k++) {
                const double x[] = {pow(2, i + 1), 10.0 * (j + 1), 3 * pow(3, k)};
                lull_fit_table_add(table, series, x, law(x), NULL);
            }
    lull_fit_table_finish(table);
    return table;
}

static double sum_of_two(const double *x)
{
    return 20 + 3 * log2(x[0]) + 0.5 * x[1];
}

static double product_of_two(const double *x)
{
    return 20 + 0.5 * log2(x[0]) * pow(x[1], 1.5);
}

static double product_of_three(const double *x)
{
    return 5 + 0.01 * sqrt(x[0]) * x[1] * log2(x[2]);
}

static double sum_with_product(const double *x)
{
    return 5 + 4 * x[0] + 0.01 * x[1] * x[1] * log2(x[2]);
}

static double sum_of_three(const double *x)
{
    return 5 + 4 * x[0] + 2 * x[1] + 3 * log2(x[2]);
}

static double only_one(const double *x)
{
    return 5 + 4 * x[1];
}

static void test_several_parameters(void **state)
{
    static const struct {
        double (*law)(const double *);
        size_t n_params;
        const char *formula;
    } cases[] = {
        {sum_of_two, 2, "c0 + c1 log2(p) + c2 n"},
        {product_of_two, 2, "c0 + c1 log2(p) n^(3/2)"},
        {only_one, 2, "c0 + c1 n"},
        {product_of_three, 3, "c0 + c1 p^(1/2) n log2(m)"},
        {sum_with_product, 3, "c0 + c1 p + c2 n^2 log2(m)"},
        {sum_of_three, 3, "c0 + c1 p + c2 n + c3 log2(m)"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct lull_fit_table *table = grid(cases[c].law, cases[c].n_params, *state);
        const struct lull_fit *fit = fit_with(table, NULL, *state);
        assert_string_equal(lull_fit_formula(best_of(fit), table->params, *state),
                            cases[c].formula);
    }
}

/* ---- what is predicted ---------------------------------------------------------------------- */

/* Student's interval of a mean: 1, 2, 3 with standard deviation 1, t = 4.30265 for two degrees of
 * freedom; a further value lies within t sqrt(1 + 1/3). */
static void test_intervals_by_hand(void **state)
{
    static const double p[] = {1, 2, 4}, y[] = {1, 2, 3};
    const struct lull_fit_table *table = table_of(p, y, 3, "time", *state);
    const struct lull_fit_law *laws[] = {lull_fit_law_find("constant"), NULL};
    const struct lull_fit_options options = {.laws = laws, .errors = LULL_FIT_ABSOLUTE};
    struct lull_fit *fit = NULL;
    assert_int_equal(
        lull_fit_series_fit(&table->series[0], table->params, 1, &options, *state, &fit, NULL),
        LULL_OK);
    check_near("low", best_of(fit)->coefficients[0].low, 2 - 4.302652730 / sqrt(3), 1e-8);
    check_near("high", best_of(fit)->coefficients[0].high, 2 + 4.302652730 / sqrt(3), 1e-8);
    double x = 8;
    struct lull_fit_prediction prediction = lull_fit_predict(best_of(fit), &x);
    check_near("predicted high", prediction.high, 2 + 4.302652730 * sqrt(4.0 / 3), 1e-8);
}

/* Repetitions count once, with their mean. */
static void test_repetitions(void **state)
{
    static const double p[] = {1, 1, 2, 4, 4, 4, 8}, y[] = {10, 12, 6, 3, 4, 5, 2};
    const struct lull_fit_table *table = table_of(p, y, 7, "time", *state);
    assert_int_equal(table->series[0].count, 4);
    check_near("mean", table->series[0].points[0].y, 11, 1e-15);
    check_near("mean", table->series[0].points[2].y, 4, 1e-15);
    check_near("times", table->series[0].points[2].repetitions, 3, 1e-15);
}

/* Measured from 1 to 8: the data bear 64 at most, and not what two laws disagree about. */
static void test_extrapolation(void **state)
{
    static const double p[] = {1, 2, 4, 8};
    double y[4], near = 64, far = 65;
    for (int i = 0; i < 4; i++)
        y[i] = plant("amdahl", p[i]);
    const struct lull_fit *fit = fit_with(table_of(p, y, 4, "time", *state), "amdahl", *state);
    assert_null(lull_fit_not_borne(fit, &near, *state));
    assert_non_null(lull_fit_not_borne(fit, &far, *state));
    check_near("reach", lull_fit_reach(fit, *state), 64, 1e-12);
    static const double off[] = {1.05, 0.95, 1.05, 0.95};
    for (int i = 0; i < 4; i++)
        y[i] *= off[i];
    fit = fit_with(table_of(p, y, 4, "time", *state), NULL, *state);
    assert_non_null(lull_fit_not_borne(fit, &near, *state));
}

/* Amdahl: the efficiency is one half at 1 + 1/s. With a linear term the time is least at
 * sqrt((1 - s)/c). USL throughput peaks at sqrt((1 - alpha)/beta). */
static void test_turning_points(void **state)
{
    static const double p[] = {1, 2, 4, 8, 16, 32, 64};
    double y[7];
    for (int i = 0; i < 7; i++)
        y[i] = plant("amdahl", p[i]);
    struct lull_fit_turning turning =
        lull_fit_turning(fit_with(table_of(p, y, 7, "time", *state), NULL, *state), 1000);
    check_near("half", turning.half, 21, 1e-6);
    assert_true(isnan(turning.peak));
    for (int i = 0; i < 7; i++)
        y[i] = plant("amdahl-linear", p[i]);
    turning = lull_fit_turning(fit_with(table_of(p, y, 7, "time", *state), NULL, *state), 1000);
    check_near("peak", turning.peak, sqrt(0.95 / 0.001), 0.01);
    for (int i = 0; i < 7; i++)
        y[i] = 5 * p[i] / (1 + 0.02 * (p[i] - 1) + 0.0005 * p[i] * (p[i] - 1));
    turning =
        lull_fit_turning(fit_with(table_of(p, y, 7, "throughput", *state), NULL, *state), 1000);
    check_near("peak", turning.peak, sqrt(0.98 / 0.0005), 0.01);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void check_refusal(const double *x, const double *y, size_t count, const char *law,
                          const char *text, struct lull_arena *arena)
{
    const struct lull_fit_table *table = table_of(x, y, count, "time", arena);
    const struct lull_fit_law *laws[] = {lull_fit_law_find(law), NULL};
    const struct lull_fit_options options = {.laws = laws};
    struct lull_fit *fit = NULL;
    struct lull_error err = {""};
    assert_int_equal(
        lull_fit_series_fit(&table->series[0], table->params, 1, &options, arena, &fit, &err),
        LULL_ERR_RANGE);
    assert_string_equal(err.text, text);
}

static void test_refusals(void **state)
{
    static const double x[] = {1, 2, 4, 8}, y[] = {4, 3, 2, 1}, zero[] = {4, 3, 0, 1};
    static const double same[] = {3, 3, 3, 3};
    check_refusal(x, y, 1, "amdahl", "time: all points have p = 1, expected several values",
                  *state);
    check_refusal(x, y, 2, "amdahl", "time: amdahl needs 3 values of p, there are 2", *state);
    check_refusal(x, y, 3, "usl", "time: usl needs 4 values of p, there are 3", *state);
    check_refusal(x, y, 4, "pmnf", "time: pmnf needs 5 values of p, there are 4", *state);
    check_refusal(same, y, 4, "amdahl", "time: all points have p = 3, expected several values",
                  *state);
    check_refusal(x, zero, 4, "amdahl",
                  "time: is 0 at p = 4, expected values above 0 (errors are taken in proportion to "
                  "them)",
                  *state);
    struct lull_fit_table *table = table_of(x, y, 4, "time", *state);
    struct lull_error err;
    double bad = -1;
    assert_int_equal(lull_fit_table_add(table, table->series, &x[0], bad, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "time is -1, expected a number of 0 or more");
    assert_int_equal(lull_fit_table_add(table, table->series, &bad, 1, &err), LULL_ERR_RANGE);
    assert_string_equal(err.text, "p is -1, expected a number above 0");
    assert_int_equal(lull_fit_table_add(table, table->series, &x[0], NAN, &err), LULL_ERR_RANGE);
}

TEST_GROUP(test_fit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_usl_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_terms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_laws_without_noise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_falling_term, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_constant, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_intervals_by_hand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_repetitions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extrapolation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turning_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
