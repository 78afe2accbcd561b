/* How idle waves decay under noise, against published laws: the exact case of exponential noise,
 * the dependence on the shape of the noise at equal mean, and the formula that ties the decay to
 * the duration of noisy iterations. Numbers of the table: Monte Carlo of another simulator. */
#include "study/wave/wave_study.h"
#include "support/seed.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN 1000.0 /* ns, of the noise: small, so that nothing but it matters */

struct decay {
    double found, predicted; /* ns per rank */
    double error;            /* of their mean, over that of all runs that the test makes usually */
};

/* As many runs as are asked for in the environment instead of one. */
static uint32_t runs_of(uint32_t least)
{
    const char *wanted = getenv("LULL_TEST_WAVE_RUNS");
    int factor = wanted ? atoi(wanted) : 1;
    return least * (uint32_t)(factor > 1 ? factor : 1);
}

/* The decay of a wave, as a mean over runs. `exchange` is a part of a pattern's spec. */
static struct decay simulate(const char *exchange, uint32_t ranks, const char *noise,
                             uint32_t repeat)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    const struct lull_spec **specs = lull_arena_zero(arena, LULL_SIMULATE_SPECS, sizeof *specs);
    const char *pattern = lull_arena_printf(
        arena, "chain:ranks=%u,iterations=200,exec=1ms,boundary=periodic,%s", ranks, exchange);
    const char *texts[LULL_SIMULATE_SPECS] = {[LULL_SIMULATE_PATTERN] = pattern,
                                              [LULL_SIMULATE_NETWORK] = "ideal",
                                              [LULL_SIMULATE_NOISE] = noise};
    for (unsigned s = 0; s < LULL_SIMULATE_SPECS; s++) {
        struct lull_spec *spec = NULL;
        fail_if(texts[s] && lull_spec_parse(texts[s], arena, &spec, &err) != LULL_OK, "%s: %s",
                texts[s], err.text);
        specs[s] = spec;
    }
    const uint32_t runs = lull_test_rounds(repeat);
    struct lull_wave_inputs inputs = {.repeat = runs_of(runs)};
    struct lull_delay delay;
    assert_int_equal(lull_delay_read("5@i80:50ms", &delay, &err), LULL_OK);
    inputs.simulate.delays = &delay;
    inputs.simulate.n_delays = 1;
    inputs.simulate.seed = lull_test_seed();
    fail_if(lull_sweep_make(specs, LULL_SIMULATE_SPECS, arena, &inputs.simulate.sweep, &err) !=
                LULL_OK,
            "%s", err.text);
    struct lull_wave_case result = {.status = LULL_OK};
    lull_wave_simulate(&inputs, &result, 2, arena);
    fail_if(result.status != LULL_OK, "%s: %s", pattern, result.err.text);
    const double error = sqrt((double)repeat / runs);
    struct decay decay = {result.decay.value, result.predicted.decay, error};
    lull_wave_cases_release(&inputs, &result);
    lull_arena_destroy(arena);
    return decay;
}

static void assert_near(const char *what, double value, double expected, double share)
{
    fail_if(!(fabs(value - expected) <= share * expected), "%s: %.4g, expected %.4g within %g %%",
            what, value, expected, 100 * share);
}

static void test_exact_case(void **state)
{
    (void)state;
    struct decay decay = simulate("direction=up", 100, "exponential:mean=1us", 100);
    assert_near("exponential", decay.found, MEAN, 0.05 * decay.error);
}

static const struct {
    const char *noise;
    double one_way, both; /* decay over mean */
} shapes[] = {
    {"constant:mean=1us", 0, 0},
    {"gamma:mean=1us,shape=25", 0.17, 0.24},
    {"gamma:mean=1us,shape=4", 0.47, 0.63},
    {"uniform:min=0,max=2us", 0.51, 0.64},
    {"bernoulli:mean=1us,p=0.5", 0.82, 0.99},
    {"exponential:mean=1us", 0.99, 1.34},
    {"gamma:mean=1us,shape=0.25", 2.1, 2.9},
    {"bernoulli:mean=1us,p=0.1", 2.8, 4.0},
    {"bernoulli:mean=1us,p=0.01", 9.7, 13.4},
};

static void test_shapes_at_equal_mean(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (unsigned both = 0; both < 2; both++) {
            struct decay decay =
                simulate(both ? "direction=both" : "direction=up", 100, shapes[i].noise, 40);
            assert_near(shapes[i].noise, decay.found / MEAN,
                        both ? shapes[i].both : shapes[i].one_way, 0.10 * decay.error);
        }
}

/* Four times the noise, of each shape: four times the decay. */
static void test_linear_in_the_mean(void **state)
{
    static const char *const pairs[][2] = {
        {"gamma:mean=1us,shape=25", "gamma:mean=4us,shape=25"},
        {"gamma:mean=1us,shape=4", "gamma:mean=4us,shape=4"},
        {"uniform:min=0,max=2us", "uniform:min=0,max=8us"},
        {"bernoulli:mean=1us,p=0.5", "bernoulli:mean=4us,p=0.5"},
        {"exponential:mean=1us", "exponential:mean=4us"},
        {"gamma:mean=1us,shape=0.25", "gamma:mean=4us,shape=0.25"},
        {"bernoulli:mean=1us,p=0.1", "bernoulli:mean=4us,p=0.1"},
        {"bernoulli:mean=1us,p=0.01", "bernoulli:mean=4us,p=0.01"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double once = simulate("direction=both", 100, pairs[i][0], 1).found;
        double four_times = simulate("direction=both", 100, pairs[i][1], 1).found;
        assert_near(pairs[i][1], four_times, 4 * once, 0.02);
    }
}

/* beta kappa = T_cyc - T - mu within 10 % for up to six ranks an iteration, as the publication
 * states it. The standard deviation of one run is about a sixth, that of their mean a fortieth. */
static void test_formula(void **state)
{
    static const struct {
        const char *exchange;
        uint32_t ranks;
    } cases[] = {{"direction=both", 100},
                 {"direction=both,wait=each", 100},
                 {"direction=both,distances=1+2", 200},
                 {"direction=both,distances=1+2,wait=distance", 300},
                 {"direction=up,distances=1+3", 300},
                 {"direction=both,distances=1+2+3,wait=distance", 600}};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decay decay =
            simulate(cases[i].exchange, cases[i].ranks, "exponential:mean=1us", 40);
        assert_near(cases[i].exchange, decay.found, decay.predicted, 0.10 * decay.error);
    }
}

TEST_GROUP(test_wave_decay)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_case),
        cmocka_unit_test(test_shapes_at_equal_mean),
        cmocka_unit_test(test_linear_in_the_mean),
        cmocka_unit_test(test_formula),
    };
    return run_cases(tests, NULL, NULL);
}
