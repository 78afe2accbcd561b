/* Processes that share cores: closed form and simulation against numbers by hand. */
#include "model/program/simulate.h"
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

#define MODEL(cores, terms)                                                                    \
    "return {title = 't', processes = 'P', network = {latency = 'T', bandwidth = 'B'}, cores " \
    "= " cores                                                                                 \
    ", parameters = {{name = 'P', unit = '1', default = 8}, {name = 'cores', unit = '1', "     \
    "default = 2, run = 'cores'}, {name = 'T', unit = 's', default = 1e-6}, {name = 'B', "     \
    "unit = 'B/s', default = 1e9}}, terms = {" terms "}}"
#define WORK "{name = 'work', time = function(p) return compute{seconds = 1e-3} end}"
#define ONE  "{name = 'one', uneven = true, time = function(p) return compute{seconds = 7e-4} end}"
#define SWAP "{name = 'swap', time = function(p) return message{bytes = 1000} end}"

static void check_times(struct lull_program_model *model, const char *setting, double want,
                        double want_waiting, struct lull_arena *arena)
{
    double values[8];
    struct lull_error err = {""};
    struct lull_term_cost terms[8];
    struct lull_model_simulation simulated;
    const struct lull_model_engine engine = {.seed = 1};
    model_set(model, setting);
    lull_model_values(model, values);
    fail_if(lull_model_evaluate(model, values, terms, &err) != LULL_OK ||
                lull_model_simulate(model, values, &engine, arena, &simulated, &err) != LULL_OK,
            "%s", err.text);
    struct lull_term_cost total = lull_model_total(model, terms);
    fail_if(!(fabs(total.seconds - want) <= 1e-12) ||
                !(fabs(total.parts[LULL_RESOURCE_CORES] - want_waiting) <= 1e-12),
            "%s: %.9g s, of which %.9g s for a core, expected %.9g and %.9g s", setting,
            total.seconds, total.parts[LULL_RESOURCE_CORES], want, want_waiting);
    fail_if(!(fabs(simulated.seconds - want) <= 1e-6 * want),
            "%s: simulated %.9g s, expected %.9g s", setting, simulated.seconds, want);
}

static void test_share(void **state)
{
    struct lull_program_model model = model_of_text(MODEL("'cores'", WORK), *state);
    check_times(&model, "cores=2", 4e-3, 3e-3, *state);
    check_times(&model, "cores=3", 3e-3, 2e-3, *state); /* two of them have three processes */
    check_times(&model, "cores=7", 2e-3, 1e-3, *state); /* one of them has two */
    check_times(&model, "cores=8", 1e-3, 0, *state);
    check_times(&model, "cores=100", 1e-3, 0, *state);
    check_times(&model, "cores=0", 1e-3, 0, *state);
    lull_program_model_close(&model);
}

/* Half a core for each of two threads. */
static void test_threads(void **state)
{
    struct lull_program_model model =
        model_of_text(MODEL("function(p) return p.cores / 2 end", WORK), *state);
    check_times(&model, "cores=8", 2e-3, 1e-3, *state);
    lull_program_model_close(&model);
}

/* Seven have 0.7 ms less together, 0.1 ms each. When they are done, which takes 4 * 0.9 ms, the
 * last has 0.8 ms left and a core for itself. */
static void test_uneven(void **state)
{
    struct lull_program_model model = model_of_text(MODEL("'cores'", ONE "," WORK), *state);
    check_times(&model, "cores=2", 4.4e-3, 2.7e-3, *state);
    check_times(&model, "cores=0", 1.7e-3, 0, *state);
    lull_program_model_close(&model);
}

/* 2 us for each message of 1000 bytes, with a quarter of a core 8 us. */
static void test_messages(void **state)
{
    struct lull_program_model model = model_of_text(MODEL("'cores'", WORK "," SWAP), *state);
    check_times(&model, "cores=2", 4.008e-3, 3.006e-3, *state);
    lull_program_model_close(&model);
}

/* A network that depends on the parameters: a message has a latency of 1 us, and 4 us more where
 * there are fewer cores than processes; four on a core take four times as long. */
static void test_network(void **state)
{
    struct lull_program_model model = model_of_text(
        "return {title = 't', processes = 'P', cores = 'cores', network = {bandwidth = 'B', "
        "latency = function(p) return p.cores > 0 and p.cores < p.P and 5e-6 or 1e-6 end}, "
        "parameters = {{name = 'P', unit = '1', default = 8}, {name = 'cores', unit = '1', default "
        "= 2}, {name = 'B', unit = 'B/s', default = 1e9}}, terms = {" WORK "," SWAP "}}",
        *state);
    check_times(&model, "cores=2", 4.024e-3, 3.018e-3, *state);
    check_times(&model, "cores=0", 1.002e-3, 0, *state);
    lull_program_model_close(&model);
}

static void test_bad(void **state)
{
    struct lull_program_model model =
        model_of_text(MODEL("function(p) return -1 end, uncertainty = -1", WORK), *state);
    double values[8], uncertainty;
    struct lull_error err = {""};
    struct lull_term_cost terms[8];
    lull_model_values(&model, values);
    assert_int_equal(lull_model_evaluate(&model, values, terms, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "cores is -1"));
    assert_int_equal(lull_model_uncertainty(&model, values, &uncertainty, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "uncertainty is -1"));
    lull_program_model_close(&model);
}

TEST_GROUP(test_program_cores)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uneven, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_network, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad, set_up, tear_down),
    };
    return run_cases(tests, NULL, NULL);
}
