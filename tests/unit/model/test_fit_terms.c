/* Each falling term of the normal form, planted without noise, is found; and from how many it was
 * chosen. */
#include "model/fit/fit.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { POINTS = 7 };
static const double at[POINTS] = {2, 4, 8, 16, 32, 64, 128};

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

/* Fits y(x) with one law alone. */
static const struct lull_fit_model *fit(const double *y, const char *law, struct lull_arena *arena)
{
    static const char *const params[] = {"p"};
    const struct lull_fit_law *laws[] = {lull_fit_law_find(law), NULL};
    const struct lull_fit_options options = {.laws = laws};
    struct lull_fit_table *table = NULL;
    struct lull_fit *found = NULL;
    struct lull_error err = {""};
    assert_int_equal(lull_fit_table_create(arena, params, 1, &table, NULL), LULL_OK);
    struct lull_fit_series *series = lull_fit_table_series(table, "", "time");
    for (size_t i = 0; i < POINTS; i++)
        assert_int_equal(lull_fit_table_add(table, series, &at[i], y[i], NULL), LULL_OK);
    lull_fit_table_finish(table);
    fail_if(lull_fit_series_fit(&table->series[0], table->params, 1, &options, arena, &found,
                                &err) != LULL_OK,
            "%s", err.text);
    return &found->models[found->best];
}

/* 100 + 500 x^exponent log2(x)^logs */
static const struct lull_fit_model *planted(double exponent, int logs, const char *law,
                                            struct lull_arena *arena)
{
    double y[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        y[i] = 100 + 500 * pow(at[i], exponent) * pow(log2(at[i]), logs);
    const struct lull_fit_model *model = fit(y, law, arena);
    const struct lull_fit_term *term = model->blocks[0].terms[0];
    fail_if(model->n_coefficients != 2 || !term || fabs(term->exponent - exponent) > 1e-12 ||
                term->logs != logs,
            "x^%g log2(x)^%d: found %s", exponent, logs,
            lull_fit_formula(model, (const char *const[]){"x"}, arena));
    return model;
}

/* Where a quantity may fall: seven exponents, each with up to two logarithms. */
static void test_falling_terms(void **state)
{
    static const double exponents[] = {1.0 / 4, 1.0 / 3, 1.0 / 2, 2.0 / 3, 3.0 / 4, 4.0 / 5, 1};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++)
        for (int logs = 0; logs <= 2; logs++)
            planted(-exponents[i], logs, "pmnf-strong", *state);
}

/* One term of 42 that grow, and with the 21 of above of 63; a constant is no choice. */
static void test_how_many_were_tried(void **state)
{
    assert_int_equal(planted(2, 1, "pmnf", *state)->tried, 42);
    assert_int_equal(planted(2, 1, "pmnf-strong", *state)->tried, 42 + 21);
    const double same[POINTS] = {3, 3, 3, 3, 3, 3, 3};
    assert_int_equal(fit(same, "pmnf", *state)->tried, 1);
}

TEST_GROUP(test_fit_terms)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_falling_terms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_how_many_were_tried, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
