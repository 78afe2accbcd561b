/* The order in which the engine handles events changes nothing in the result: out of order against
 * in order (a simulation with a sink goes by time), on random programs of streams.
 * LULL_TEST_SEED and LULL_TEST_CASES in the environment choose others. */
#include "sim/engine/engine.h"
#include "sim/noise/noise.h"
#include "support/random_streams.h"
#include "support/stream_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 11;
static unsigned cases = 3000;

static const struct lull_noise *draw_noise(struct lull_random *random, struct lull_arena *arena)
{
    const struct lull_noise *noise;
    struct lull_error err;
    struct lull_noise_spec spec = lull_noise_spec_empty(lull_noise_find("exponential"));
    if (lull_random_below(random, 3))
        return NULL;
    spec.values[0] = 50;
    assert_int_equal(lull_noise_create(&spec, arena, &noise, &err), LULL_OK);
    return noise;
}

static void must_be_equal(const struct lull_sim_result *a, const struct lull_sim_result *b,
                          uint64_t number)
{
    const uint64_t counts[][2] = {
        {(uint64_t)a->runtime, (uint64_t)b->runtime},
        {a->path_rank, b->path_rank},
        {a->path_hops, b->path_hops},
        {a->n_sends, b->n_sends},
        {a->n_receives, b->n_receives},
        {a->n_computes, b->n_computes},
        {a->n_messages, b->n_messages},
        {a->n_collectives, b->n_collectives},
    };
    for (uint32_t r = 0; r < a->n_ranks; r++)
        if (memcmp(&a->ranks[r], &b->ranks[r], sizeof *a->ranks) != 0)
            fail_msg("LULL_TEST_SEED=%llu: rank %u ends at %lld and at %lld",
                     (unsigned long long)number, r, (long long)a->ranks[r].end,
                     (long long)b->ranks[r].end);
    for (unsigned i = 0; i < LULL_PATH_PARTS; i++)
        if (a->path[i] != b->path[i])
            fail_msg("LULL_TEST_SEED=%llu: part %u of the longest path is %lld and %lld",
                     (unsigned long long)number, i, (long long)a->path[i], (long long)b->path[i]);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i][0] != counts[i][1])
            fail_msg("LULL_TEST_SEED=%llu: count %u is %llu and %llu", (unsigned long long)number,
                     i, (unsigned long long)counts[i][0], (unsigned long long)counts[i][1]);
}

/* Returns whether the program could be carried out. */
static bool compare(struct lull_program *program, struct lull_sim_options *options, uint64_t number)
{
    static const struct lull_sim_sink told = {.context = NULL};
    struct lull_sim_result results[2];
    lull_status status[2];
    struct lull_error err[2] = {{""}, {""}};
    struct lull_arena *arena = lull_arena_create(NULL);
    for (unsigned i = 0; i < 2; i++) {
        memset(&results[i], 0, sizeof results[i]);
        options->sink = i ? &told : NULL;
        status[i] = lull_simulate(program, options, arena, &results[i], NULL, &err[i]);
    }
    if (status[0] != status[1])
        fail_msg("LULL_TEST_SEED=%llu: '%s' and '%s'", (unsigned long long)number, err[0].text,
                 err[1].text);
    if (status[0] == LULL_OK)
        must_be_equal(&results[0], &results[1], number);
    lull_arena_destroy(arena);
    return status[0] == LULL_OK;
}

static struct lull_network draw_network(struct lull_random *random)
{
    static const double limits[] = {0, 8, 1000, 1e9};
    double eager = limits[lull_random_below(random, 4)];
    double latency = (double)(10 * lull_random_below(random, 3));
    struct lull_network network = network_of("ideal", "eager", eager, NULL);
    if (lull_random_below(random, 2))
        network = network_of("hockney", "latency", latency, "bandwidth", 1e9, "eager", eager, NULL);
    if (lull_random_below(random, 4) == 0)
        network.collectives = LULL_COLLECTIVES_ALGORITHM;
    return network;
}

static void run(const struct random_streams_options *wanted)
{
    unsigned complete = 0;
    for (unsigned i = 0; i < cases; i++) {
        struct lull_random random;
        lull_random_seed(&random, seed + i);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_program *program = random_streams(&random, wanted);
        struct lull_network network = draw_network(&random);
        struct lull_delay delays[] = {
            {.rank = (uint32_t)lull_random_below(&random, program->n_ranks),
             .when = 100,
             .length = 77},
            {.rank = 0, .at_iteration = true, .when = 1, .length = 500},
        };
        struct lull_sim_options options = {.network = &network,
                                           .noise = draw_noise(&random, arena),
                                           .delays = delays,
                                           .n_delays = (uint32_t)lull_random_below(&random, 3),
                                           .seed = seed + i,
                                           .path = lull_random_below(&random, 2)};
        complete += compare(program, &options, seed + i);
        lull_program_close(program);
        lull_arena_destroy(arena);
    }
    print_message("seed %llu: %u cases agree, %u of them to the end\n", (unsigned long long)seed,
                  cases, complete);
    assert_true(complete > cases / 2);
}

static void one_stream_for_each_rank(void **state)
{
    (void)state;
    run(&(struct random_streams_options){8, 1, 12, 0, 100});
}

static void several_streams(void **state)
{
    (void)state;
    run(&(struct random_streams_options){6, 4, 8, 0, 0});
}

static void streams_that_share_channels(void **state)
{
    (void)state;
    run(&(struct random_streams_options){4, 3, 6, 0, 10});
}

static void wildcards(void **state)
{
    (void)state;
    run(&(struct random_streams_options){5, 2, 6, 2, 20});
}

int main(void)
{
    if (getenv("LULL_TEST_SEED"))
        seed = strtoull(getenv("LULL_TEST_SEED"), NULL, 10);
    if (getenv("LULL_TEST_CASES"))
        cases = (unsigned)strtoul(getenv("LULL_TEST_CASES"), NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_for_each_rank),
        cmocka_unit_test(several_streams),
        cmocka_unit_test(streams_that_share_channels),
        cmocka_unit_test(wildcards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
