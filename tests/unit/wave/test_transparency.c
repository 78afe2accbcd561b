/* How much of a delay collective operations let pass: of 32 ranks, how many of the other 31 are
 * delayed by one that is late, as a mean over that one, by algorithm and protocol. The numbers are
 * those of another simulator for the textbook algorithms. */
#include "study/wave/wave_study.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { RANKS = 32 };

static double delayed(const char *operation, const char *algorithm, bool rendezvous)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_error err;
    const struct lull_spec **specs = lull_arena_zero(arena, LULL_SIMULATE_SPECS, sizeof *specs);
    const char *texts[2] = {
        lull_arena_printf(arena, "collective:op=%s,ranks=%d,iterations=1,exec=1ms,bytes=1KiB",
                          operation, RANKS),
        lull_arena_printf(arena, "hockney:latency=1us,%salgorithms=%s:%s",
                          rendezvous ? "eager=0," : "", operation, algorithm)};
    for (unsigned s = 0; s < 2; s++) {
        struct lull_spec *spec;
        fail_if(lull_spec_parse(texts[s], arena, &spec, &err) != LULL_OK, "%s: %s", texts[s],
                err.text);
        specs[s] = spec;
    }
    struct lull_delay delay;
    assert_int_equal(lull_delay_read("0@i0:10ms", &delay, &err), LULL_OK);
    struct lull_wave_inputs inputs = {.repeat = 1};
    inputs.simulate.delays = &delay;
    inputs.simulate.n_delays = 1;
    fail_if(lull_sweep_make(specs, LULL_SIMULATE_SPECS, arena, &inputs.simulate.sweep, &err) !=
                LULL_OK,
            "%s", err.text);
    struct lull_wave_case result = {.status = LULL_OK};
    lull_wave_simulate(&inputs, &result, 1, arena);
    fail_if(result.status != LULL_OK, "%s: %s", texts[1], result.err.text);
    assert_true(result.collective_only);
    double mean = result.delayed_mean * (RANKS - 1);
    lull_wave_cases_release(&inputs, &result);
    lull_arena_destroy(arena);
    return mean;
}

static void test_table(void **state)
{
    static const struct {
        const char *operation, *algorithm;
        double eager, rendezvous;
    } rows[] = {
        /* Of the pipeline one number is published, that of eager messages. By rendezvous the rank
         * before the late one waits as well, wherever there is one: 31/32 more on average. */
        {"bcast", "binomial", 2.5, 3.5},    {"reduce", "binomial", 2.5, 3.5},
        {"gather", "linear", 1, 1.9},       {"scatter", "linear", 1, 1.9},
        {"bcast", "pipelined", 15.5, 16.5}, {"barrier", "linear", 31, 31},
        {"barrier", "double-ring", 31, 31}, {"barrier", "dissemination", 31, 31},
        {"alltoall", "linear", 31, 31},
    };
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double eager = delayed(rows[r].operation, rows[r].algorithm, false);
        double rendezvous = delayed(rows[r].operation, rows[r].algorithm, true);
        print_message("%s, %s: %.2f and %.2f\n", rows[r].operation, rows[r].algorithm, eager,
                      rendezvous);
        /* The published numbers have one decimal. */
        assert_true(fabs(eager - rows[r].eager) <= 0.05);
        assert_true(fabs(rendezvous - rows[r].rendezvous) <= 0.05);
    }
}

TEST_GROUP(test_transparency)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return run_cases(tests, NULL, NULL);
}
