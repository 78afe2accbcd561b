/* Closed forms against the simulator where their assumptions hold, and the expected maximum of
 * noise against the simulator's own noise. */
#include "model/program/closed_form.h"
#include "model/program/simulate.h"
#include "sim/engine/engine.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "support/model_text.h"
#include "support/seed.h"
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

/* The simulated time is that of the closed form. Terms are less near: ranks leave a tree one after
 * the other, and wait in the term behind it. */
static void check_agrees(struct lull_program_model *model, struct lull_arena *arena)
{
    double values[32];
    struct lull_error err = {""};
    struct lull_term_cost terms[16];
    struct lull_model_simulation simulated;
    const struct lull_model_engine engine = {.seed = 1};
    lull_model_values(model, values);
    fail_if(lull_model_evaluate(model, values, terms, &err) != LULL_OK ||
                lull_model_simulate(model, values, &engine, arena, &simulated, &err) != LULL_OK,
            "%s", err.text);
    double whole = lull_model_total(model, terms).seconds;
    fail_if(!(fabs(simulated.seconds - whole) <= 1e-6 * whole),
            "simulated %.9g s, closed form %.9g s", simulated.seconds, whole);
    for (uint32_t t = 0; t < model->n_terms; t++)
        fail_if(!(fabs(simulated.terms[t] - terms[t].seconds) <= 0.1 * terms[t].seconds),
                "term %s: simulated %.9g s, closed form %.9g s", model->terms[t].name,
                simulated.terms[t], terms[t].seconds);
}

static void test_image(void **state)
{
    struct lull_program_model model = model_shipped("image.lua", *state);
    static const char *const processes[] = {"P=1", "P=2", "P=4", "P=16", "P=64"};
    model_set(&model, "D=10");
    for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
        model_set(&model, processes[i]);
        model_set(&model, "decomposition=1-D");
        check_agrees(&model, *state);
        model_set(&model, "decomposition=2-D");
        check_agrees(&model, *state);
    }
    lull_program_model_close(&model);
}

#define HEAD                                                                                      \
    "return {title = 't', processes = 'P', network = {latency = 'T', bandwidth = 'B'},"           \
    "parameters = {{name = 'P', unit = '1', default = 16}, {name = 'T', unit = 's', default = "   \
    "1e-6}, {name = 'B', unit = 'B/s', default = 1e9}}, terms = {{name = 'a', time = function(p)" \
    " return "
#define TAIL " end}}}"

/* Every primitive by every algorithm, and what is repeated. */
static void test_primitives(void **state)
{
    static const char *const texts[] = {
        HEAD "compute{flops = 1e6, rate = 1e9}" TAIL,
        HEAD "parallel{seconds = 1e-3, threads = 4, overhead = 1e-6, imbalance = 0.1}" TAIL,
        HEAD "message{bytes = 5000, count = 7}" TAIL,
        HEAD "halo{grid = grid(p.P, 3), bytes = {100, 200, 3000}, periodic = true}" TAIL,
        HEAD "halo{grid = {4, 4}, bytes = 1000}" TAIL,
        HEAD "barrier{}" TAIL,
        HEAD "barrier{algorithm = 'binomial'}" TAIL,
        HEAD "broadcast{bytes = 1e5}" TAIL,
        HEAD "reduce{bytes = 1e5}" TAIL,
        HEAD "allreduce{bytes = 1e5}" TAIL,
        HEAD "allreduce{bytes = 1e5, algorithm = 'recursive-doubling'}" TAIL,
        HEAD "allreduce{bytes = 1e5, algorithm = 'rabenseifner'}" TAIL,
        HEAD "allreduce{bytes = 1e5, algorithm = 'ring'}" TAIL,
        HEAD "allgather{bytes = 1e5}" TAIL,
        HEAD "allgather{bytes = 1e5, algorithm = 'recursive-doubling'}" TAIL,
        HEAD "allgather{bytes = 1e5, algorithm = 'bruck'}" TAIL,
        HEAD "alltoall{bytes = 1e5}" TAIL,
        HEAD "alltoall{bytes = 1e5, algorithm = 'linear'}" TAIL,
        HEAD "alltoall{bytes = 1e5, algorithm = 'bruck'}" TAIL,
        HEAD "broadcast{bytes = 1e5, algorithm = 'scatter-doubling'}" TAIL,
        HEAD "broadcast{bytes = 1e5, algorithm = 'scatter-allgather'}" TAIL,
        HEAD "reduce{bytes = 1e5, algorithm = 'rabenseifner'}" TAIL,
        HEAD "gather{bytes = 1e5}" TAIL,
        HEAD "gather{bytes = 1e5, algorithm = 'linear'}" TAIL,
        HEAD "scatter{bytes = 1e5}" TAIL,
        HEAD "scatter{bytes = 1e5, algorithm = 'linear'}" TAIL,
        HEAD "scan{bytes = 1e5}" TAIL,
        HEAD "reduce_scatter{bytes = 1e5}" TAIL,
        HEAD "reduce_scatter{bytes = 1e5, algorithm = 'pairwise'}" TAIL,
        HEAD "tree{kind = 'star', bytes = 1e5, count = 1}" TAIL,
        HEAD "tree{kind = 'binary', bytes = 1e5, direction = 'up'}" TAIL,
        HEAD "tree{kind = 'binomial', bytes = 1e5, direction = 'both'}" TAIL,
        HEAD "tree{kind = 'chain', bytes = 1e5}" TAIL,
        HEAD "2 * allreduce{bytes = 8} + 1e-3" TAIL, /* becomes a computation */
        HEAD "1e-3" TAIL,
    };
    double values[8];
    struct lull_error err = {""};
    struct lull_term_cost cost;
    struct lull_model_simulation simulated;
    const struct lull_model_engine engine = {.seed = 1};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lull_program_model model = model_of_text(texts[i], *state);
        lull_model_values(&model, values);
        fail_if(lull_model_evaluate(&model, values, &cost, &err) != LULL_OK ||
                    lull_model_simulate(&model, values, &engine, *state, &simulated, &err) !=
                        LULL_OK,
                "%s", err.text);
        /* the assumption does not hold at the ends of an open grid, where ranks wait less */
        fail_if(!(fabs(simulated.seconds - cost.seconds) <= 0.02 * cost.seconds),
                "%s: simulated %.9g s, closed form %.9g s", strstr(texts[i], "return "),
                simulated.seconds, cost.seconds);
        assert_int_equal(simulated.as_computation[0], i >= sizeof texts / sizeof *texts - 2);
        lull_program_model_close(&model);
    }
}

/* Numbers that are powers of two, and others of which many ranks fold: where few do, they overlap
 * with what the others do, which the formula leaves out. What is presumed
 * is left to the simulator, whose own choice must be the one that the formula took. */
static void test_sizes(void **state)
{
    static const char *const calls[] = {
        "tree{kind = 'star', bytes = 1e5}",
        "tree{kind = 'binary', bytes = 1e5, direction = 'both'}",
        "tree{kind = 'binomial', bytes = 1e5}",
        "tree{kind = 'chain', bytes = 1e5, direction = 'up'}",
        "allreduce{bytes = 8, algorithm = 'mpich'}",
        "allreduce{bytes = 1e6, algorithm = 'mpich'}",
        "reduce{bytes = 1e6, algorithm = 'mpich'}",
        "allgather{bytes = 10, algorithm = 'mpich'}",
        "allgather{bytes = 1e6, algorithm = 'mpich'}",
        "alltoall{bytes = 10, algorithm = 'mpich'}",
        "alltoall{bytes = 1e4, algorithm = 'mpich'}",
        "alltoall{bytes = 1e6, algorithm = 'mpich'}",
        "barrier{algorithm = 'mpich'}",
        "scan{bytes = 1e4, algorithm = 'mpich'}",
        "reduce_scatter{bytes = 1e5, algorithm = 'mpich'}",
    };
    static const char *const processes[] = {"P=1",  "P=2",  "P=4", "P=7", "P=16",
                                            "P=31", "P=12", "P=3", "P=33"};
    enum { FOLDED = 6 }; /* numbers that operations which fold are compared at */
    double values[8];
    struct lull_error err = {""};
    struct lull_term_cost cost;
    struct lull_model_simulation simulated;
    const struct lull_model_engine engine = {.seed = 1};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct lull_program_model model =
            model_of_text(lull_arena_printf(*state, "%s%s%s", HEAD, calls[i], TAIL), *state);
        bool folds = strstr(calls[i], "reduce");
        for (size_t p = 0; p < (folds ? FOLDED : sizeof processes / sizeof *processes); p++) {
            model_set(&model, processes[p]);
            lull_model_values(&model, values);
            fail_if(lull_model_evaluate(&model, values, &cost, &err) != LULL_OK ||
                        lull_model_simulate(&model, values, &engine, *state, &simulated, &err) !=
                            LULL_OK,
                    "%s", err.text);
            fail_if(!(fabs(simulated.seconds - cost.seconds) <= 0.02 * cost.seconds),
                    "%s, %s: simulated %.9g s, closed form %.9g s", calls[i], processes[p],
                    simulated.seconds, cost.seconds);
        }
        lull_program_model_close(&model);
    }
}

/* The mean of the largest of so many draws, as the simulator sees it: what a barrier without cost
 * adds to computations with noise. */
static double simulated_maximum(const char *noise, uint32_t ranks, uint32_t iterations,
                                struct lull_arena *arena)
{
    struct lull_error err = {""};
    struct lull_spec *pattern = NULL, *network_spec = NULL, *noise_spec = NULL;
    struct lull_network network;
    struct lull_program *program = NULL;
    const struct lull_noise *made = NULL;
    struct lull_sim_result result;
    const char *text = lull_arena_printf(
        arena, "collective:op=barrier,exec=1us,ranks=%u,iterations=%u", ranks, iterations);
    fail_if(lull_spec_parse(text, arena, &pattern, &err) != LULL_OK ||
                lull_pattern_open(pattern, &program, &err) != LULL_OK ||
                lull_spec_parse("ideal", arena, &network_spec, &err) != LULL_OK ||
                lull_network_read(network_spec, NULL, ranks, arena, &network, &err) != LULL_OK ||
                lull_spec_parse(noise, arena, &noise_spec, &err) != LULL_OK ||
                lull_noise_read(noise_spec, ranks, arena, &made, &err) != LULL_OK,
            "%s", err.text);
    const struct lull_sim_options options = {.network = &network, .noise = made, .seed = 7};
    fail_if(lull_simulate(program, &options, arena, &result, NULL, &err) != LULL_OK, "%s",
            err.text);
    lull_program_close(program);
    return (double)result.runtime / iterations - 1000;
}

static void check_maximum(const char *noise, const struct lull_distribution *distribution,
                          uint32_t ranks, struct lull_arena *arena)
{
    const uint32_t all = ranks >= 10000 ? 500 : ranks >= 1000 ? 1000 : 8000;
    const uint32_t iterations = lull_test_rounds(all);
    const double within = 0.02 * sqrt((double)all / iterations);
    double got = simulated_maximum(noise, ranks, iterations, arena);
    double want = lull_expected_maximum(distribution, ranks);
    fail_if(!(fabs(got - want) <= within * want), "%s, %u ranks: simulated %g ns, expected %g ns",
            noise, ranks, got, want);
}

/* The standard error of the simulated means is about 1 % or less, and of fewer iterations larger by
 * the root of their share; the seed is fixed. */
static void test_noise(void **state)
{
    static const uint32_t ranks[] = {2, 10, 100, 1000, 10000};
    struct lull_distribution exponential, bernoulli;
    lull_distribution_exponential(50000, &exponential, NULL);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        check_maximum("exponential:mean=50us", &exponential, ranks[i], *state);
        double probability = fmin(0.5, 3.0 / ranks[i]);
        lull_distribution_bernoulli(50000, probability, &bernoulli, NULL);
        check_maximum(lull_arena_printf(*state, "bernoulli:mean=%.17gns,p=%.17g",
                                        50000 * probability, probability),
                      &bernoulli, ranks[i], *state);
    }
}

/* Quantiles that are those of a uniform distribution about 0, whose expected maximum is known
 * exactly; and the model with them carried out, where what is below 0 must count, too. */
static void test_quantiles(void **state)
{
    static const double ranks[] = {1, 2, 10, 1000};
    static const double values[] = {-2e-4, -1e-4, 0, 1e-4, 2e-4};
    static const double some[] = {-2e-4, 1e-4, 2e-4}, probabilities[] = {0, 0.75, 1};
    const struct lull_quantiles all = {values, NULL, 5}, few = {some, probabilities, 3};
    struct lull_program_model model = model_of_text(
        "return {title = 't', processes = 'P', iterations = 'n', parameters = {{name = 'P', unit = "
        "'1', default = 1}, {name = 'n', unit = '1', default = 4000}}, terms = {{name = 'noise', "
        "time = function(p) return noise{quantiles = {-2e-4, -1e-4, 0, 1e-4, 2e-4}} end}, {name = "
        "'work', time = function(p) return compute{seconds = 1e-3} end}, {name = 'barrier', time = "
        "function(p) return barrier{latency = 0, bandwidth = 1e9} end}}}",
        *state);
    const struct lull_model_engine engine = {.seed = 1, .network = "ideal"};
    struct lull_error err = {""};
    const unsigned iterations = lull_test_rounds(4000);
    const double within = 0.02 * sqrt(4000.0 / iterations);
    struct lull_model_simulation simulated;
    struct lull_term_cost terms[3];
    double point[2];
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        double n = ranks[i], want = -2e-4 + 4e-4 * n / (n + 1);
        double got = lull_expected_maximum_of_quantiles(&all, n);
        assert_true(fabs(lull_expected_maximum_of_quantiles(&few, n) - want) <= 1e-12);
        fail_if(!(fabs(got - want) <= 1e-12), "%g draws: expected maximum %.15g, uniform %.15g", n,
                got, want);
        model_set(&model, lull_arena_printf(*state, "P=%g", n));
        model_set(&model, lull_arena_printf(*state, "n=%u", iterations));
        lull_model_values(&model, point);
        fail_if(lull_model_evaluate(&model, point, terms, &err) != LULL_OK ||
                    lull_model_simulate(&model, point, &engine, *state, &simulated, &err) !=
                        LULL_OK,
                "%s", err.text);
        assert_true(fabs(terms[0].seconds - iterations * want) < 1e-9);
        /* what 4000 iterations add to 4 s, within 2 % of the largest that it can be */
        const double more = simulated.seconds - iterations * 1e-3;
        fail_if(!(fabs(more - iterations * want) <= within * iterations * 2e-4),
                "%g ranks: simulated %g s more, expected %g s", n, more, iterations * want);
    }
    lull_program_model_close(&model);
}

/* What cannot be counted is refused; a cost that is no number leaves what the term returns. */
static void test_extremes(void **state)
{
    static const char *const large[] = {
        HEAD "message{bytes = 1e300, bandwidth = 1e300}" TAIL,
        HEAD "alltoall{bytes = 1e18, bandwidth = 1e300}" TAIL,
        HEAD "tree{kind = 'chain', bytes = 1e30, bandwidth = 1e300}" TAIL,
    };
    const struct lull_model_engine engine = {.seed = 1};
    struct lull_model_simulation simulated;
    struct lull_error err = {""};
    double values[32];
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct lull_program_model model = model_of_text(large[i], *state);
        lull_model_values(&model, values);
        assert_int_equal(lull_model_simulate(&model, values, &engine, *state, &simulated, &err),
                         LULL_ERR_RANGE);
        assert_non_null(strstr(err.text, "bytes cannot be simulated"));
        lull_program_model_close(&model);
    }
    struct lull_program_model model =
        model_of_text(HEAD "(function() noise{distribution = 'uniform', least = 0, most = 1, draws "
                           "= 1 / 0} return 3 end)()" TAIL,
                      *state);
    lull_model_values(&model, values);
    assert_int_equal(lull_model_simulate(&model, values, &engine, *state, &simulated, &err),
                     LULL_OK);
    assert_true(fabs(simulated.seconds - 3) < 1e-9);
    lull_program_model_close(&model);
}

TEST_GROUP(test_program_simulated)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_image, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_primitives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_noise, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quantiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extremes, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
