/* Program models against published numbers and hand calculations. */
#include "model/program/closed_form.h"
#include "model/program/program_model.h"
#include "support/model_text.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static void check_near(const char *what, double got, double want, double relative)
{
    fail_if(!(fabs(got - want) <= relative * fabs(want)), "%s: %.12g, expected %.12g", what, got,
            want);
}

static struct lull_term_cost total_of(struct lull_program_model *model,
                                      struct lull_term_cost terms[16])
{
    double values[32];
    struct lull_error err = {""};
    lull_model_values(model, values);
    fail_if(lull_model_evaluate(model, values, terms, &err) != LULL_OK, "%s", err.text);
    return lull_model_total(model, terms);
}

/* The published points of the halo model: us an iteration, 1-D and 2-D. */
static void test_published_points(void **state)
{
    static const struct {
        const char *processes;
        double strips, blocks;
    } points[] = {{"P=4", 12625.2, 12635.2},
                  {"P=16", 3194.150, 3184.150},
                  {"P=64", 836.538, 816.538},
                  {"P=256", 247.284, 222.284}};
    struct lull_program_model model = model_shipped("image.lua", *state);
    struct lull_term_cost terms[16];
    /* Published with three decimals; the formula itself is in the test, digit by digit. */
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        double P = atof(points[i].processes + 2), L = 1000, f = 100e6, T = 5e-6, B = 400e6;
        double common = 5 * L * L / (f * P) + (3 * L * L / (f * P) + 2 * T * log2(P)) / 100;
        model_set(&model, points[i].processes);
        model_set(&model, "decomposition=1-D");
        double strips = total_of(&model, terms).seconds / 100;
        check_near("1-D, formula", strips, common + 2 * (T + 8 * L / B), 1e-12);
        assert_true(fabs(strips * 1e6 - points[i].strips) < 0.0006);
        model_set(&model, "decomposition=2-D");
        double blocks = total_of(&model, terms).seconds / 100;
        check_near("2-D, formula", blocks, common + 4 * (T + 8 * L / (B * sqrt(P))), 1e-12);
        assert_true(fabs(blocks * 1e6 - points[i].blocks) < 0.0006);
    }
    lull_program_model_close(&model);
}

/* On 8 processes: 4 x 2 blocks of 25 x 50 pixels, 4 messages of 400 or 200 bytes each. */
static void test_counts(void **state)
{
    struct lull_program_model model = model_shipped("image.lua", *state);
    struct lull_term_cost terms[16];
    model_set(&model, "P=8");
    model_set(&model, "L=100");
    model_set(&model, "iterations=250");
    model_set(&model, "decomposition=2-D");
    struct lull_term_cost total = total_of(&model, terms);
    assert_true(total.messages == 250 * 8 * 4);
    assert_true(total.bytes == 250 * 8 * 2 * (400 + 200));
    assert_true(total.collectives == 2 * 8); /* after 100 and 200 iterations */
    model_set(&model, "P=1");
    total = total_of(&model, terms);
    assert_true(total.messages == 0 && terms[0].seconds == 0);
    lull_program_model_close(&model);
}

/* Expected maxima against sums and integrals done by other means. */
static void test_expected_maximum(void **state)
{
    (void)state;
    struct lull_distribution d;
    lull_distribution_exponential(2, &d, NULL);
    check_near("H(1)", lull_expected_maximum(&d, 1), 2, 1e-12);
    check_near("H(4)", lull_expected_maximum(&d, 4), 2 * 25.0 / 12, 1e-12);
    double sum = 0;
    for (int k = 1; k <= 10000; k++)
        sum += 1.0 / k;
    check_near("H(10000)", lull_expected_maximum(&d, 10000), 2 * sum, 1e-12);
    lull_distribution_bernoulli(3, 0.01, &d, NULL);
    check_near("Bernoulli", lull_expected_maximum(&d, 100), 3 * (1 - pow(0.99, 100)), 1e-12);
    lull_distribution_uniform(1, 3, &d, NULL);
    check_near("uniform", lull_expected_maximum(&d, 3), 2.5, 1e-12);
    /* gamma with shape 1 is the exponential distribution */
    lull_distribution_gamma(2, 1, &d, NULL);
    check_near("gamma", lull_expected_maximum(&d, 1000), 2 * 7.485470860550345, 1e-5);
    lull_distribution_gamma(2, 0.25, &d, NULL);
    check_near("mean of a steep gamma", lull_expected_maximum(&d, 1), 2, 1e-5);
    /* Tippett 1925: the largest of 100 standard normal draws is 2.50759 on average */
    lull_distribution_normal(10, 1, -INFINITY, INFINITY, &d, NULL);
    check_near("normal", lull_expected_maximum(&d, 100), 12.50759, 1e-5);
    /* so narrow that doubles do not tell it from its mean */
    lull_distribution_normal(1e20, 1, -INFINITY, INFINITY, &d, NULL);
    check_near("narrow", lull_expected_maximum(&d, 100), 1e20, 1e-12);
}

static const char *error_of(const char *text, struct lull_arena *arena)
{
    struct lull_program_model model;
    struct lull_error *err = lull_arena_zero(arena, 1, sizeof *err);
    struct lull_term_cost terms[16];
    double values[32];
    char path[] = "/tmp/lull-model-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    fputs(text, out);
    fclose(out);
    lull_status status = lull_program_model_open(path, arena, &model, err);
    if (status == LULL_OK)
        status = lull_model_check_values(&model, NULL, err);
    if (status == LULL_OK) {
        lull_model_values(&model, values);
        status = lull_model_evaluate(&model, values, terms, err);
    }
    lull_program_model_close(&model);
    remove(path);
    if (status == LULL_OK)
        return "";
    assert_memory_equal(err->text, path, strlen(path));
    return err->text + strlen(path) + 2;
}

#define HEAD \
    "return {title = 't', processes = 'P', parameters = {{name = 'P', unit = '1', default = 4}"
#define TERMS "}, terms = {{name = 'a', time = function(p) return "

static void test_bad_models(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {HEAD TERMS "1 end}}}", ""},
        {"return 3", "returns a number, expected a table"},
        {"return {}", "has no title"},
        {HEAD ", {name = 'L', default = 3}" TERMS "1 end}}}",
         "parameter 'L' has no unit (\"1\" for a plain number)"},
        {HEAD ", {name = 'L', unit = 'm'}" TERMS "1 end}}}",
         "parameter 'L' (m) has no value; --set L=VALUE gives one"},
        {HEAD ", {name = 'P', unit = 'm'}" TERMS "1 end}}}", "parameter 'P' is there twice"},
        {HEAD ", {name = 'L', units = 'm'}" TERMS "1 end}}}", "parameter 'L': there is no 'units'"},
        {HEAD TERMS "p.Q * 2 end}}}",
         "line 1: attempt to perform arithmetic on a nil value (field 'Q')"},
        {HEAD TERMS "-1 end}}}", "term 'a': -1.0 s, expected a finite time of 0 or more"},
        {HEAD TERMS "0/0 end}}}", NULL},
        {HEAD TERMS "'x' end}}}", "term 'a': the function returns a string, expected seconds"},
        {HEAD TERMS "compute{flops = 1} end}}}", "line 1: compute: no rate"},
        {HEAD TERMS "compute{flop = 1} end}}}", "line 1: compute: there is no 'flop'"},
        {HEAD TERMS "message{bytes = 8} end}}}",
         "line 1: message: no latency, here or in the model's network"},
        {HEAD TERMS "halo{bytes = 8, grid = {3}, latency = 1, bandwidth = 1} end}}}",
         "line 1: halo: the grid has 3 places for 4 processes"},
        {HEAD TERMS "allreduce{algorithm = 'fast'} end}}}",
         "line 1: allreduce: there is no algorithm 'fast', known: mpich, binomial, "
         "recursive-doubling, rabenseifner, ring"},
        {HEAD TERMS "tree{bytes = 1, kind = 'oak'} end}}}",
         "line 1: tree: kind is 'oak', expected star, binary, binomial or chain"},
        {HEAD TERMS "tree{bytes = 1} end}}}", "line 1: tree: no kind"},
        {HEAD TERMS "noise{quantiles = {1}} end}}}",
         "line 1: noise: quantiles has 1 numbers, expected 2 to 4096"},
        {HEAD TERMS "noise{quantiles = {1, 0}} end}}}",
         "line 1: noise: quantiles: number 2: expected one not below the one before it"},
        {HEAD TERMS "noise{quantiles = {0, 1}, probabilities = {0, 0.5}} end}}}",
         "line 1: noise: probabilities: expected different ones, from 0 to 1"},
        {HEAD TERMS "noise{quantiles = {0, 1}, probabilities = {0, 0.5, 1}} end}}}",
         "line 1: noise: 3 probabilities for 2 quantiles"},
        {HEAD TERMS "compute{seconds = 1, region = 'a', run = 'b'} end}}}",
         "line 1: compute: expected flops and rate, bytes and bandwidth, seconds, kernel and "
         "sizes, or region and run"},
        {HEAD TERMS "compute{seconds = 1, rate = 1} end}}}", NULL},
        {HEAD TERMS "compute{region = 'a', run = 'b'} end}}}",
         "line 1: compute: recorded runs are not read here"},
        {HEAD TERMS "compute{region = 'a'} end}}}", "line 1: compute: no run"},
        {HEAD TERMS "compute{kernel = 'a.c', sizes = {N = 0}} end}}}",
         "line 1: compute: size N is 0.0, expected 1 to 1e15"},
        {HEAD TERMS "compute{kernel = 'a.c', sizes = {1}} end}}}", NULL},
        {HEAD TERMS "compute{kernel = 'a.c'} end}}}",
         "line 1: compute: a kernel needs a machine; --machine FILE gives one"},
        {HEAD TERMS "noise{distribution = 'gamma', mean = 1} end}}}", NULL},
        {"return {title = 't', parameters = {{name = 'P', unit = '1'}" TERMS "1 end}}}",
         "does not say which parameter counts processes: processes = \"P\""},
        {HEAD "}, terms = {{name = 'a', time = 3}}}",
         "term 'a': time is a number, expected a function"},
        {HEAD TERMS "1 end, every = 0}}}", "term 'a': every is 0.0, expected more than 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *message = error_of(cases[i].text, *state);
        if (cases[i].message)
            assert_string_equal(message, cases[i].message);
        else
            assert_true(strlen(message) > 0);
    }
}

TEST_GROUP(test_program)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_published_points, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expected_maximum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_models, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
