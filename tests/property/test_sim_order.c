/* The order in which the engine handles events, and the number of threads, change nothing in the
 * result: in any order (hockney, ideal), and rank by rank in windows on 1 to 8 threads (loggops),
 * against by time, as a simulation with a sink goes; on random programs of streams.
 * LULL_TEST_SEED and LULL_TEST_CASES in the environment choose others. */
#include "sim/engine/engine.h"
#include "sim/noise/noise.h"
#include "sim/pattern/pattern.h"
#include "support/branches.h"
#include "support/random_streams.h"
#include "support/seed.h"
#include "support/stream_program.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;
static unsigned cases = 3000;

enum { COMPLETE, NOISY, DELAYED, MESSAGES, GATHERED, BRANCHES };
static struct branch branches[BRANCHES] = {
    [COMPLETE] = {.what = "the program can be carried out", .least = 500},
    [NOISY] = {.what = "there is noise", .least = 100},
    [DELAYED] = {.what = "a rank is delayed", .least = 300},
    [MESSAGES] = {.what = "there are messages", .least = 500},
    [GATHERED] = {.what = "there are collective operations", .least = 200},
};

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
        fail_if(memcmp(&a->ranks[r], &b->ranks[r], sizeof *a->ranks) != 0,
                "LULL_TEST_SEED=%llu: rank %u ends at %lld and at %lld", (unsigned long long)number,
                r, (long long)a->ranks[r].end, (long long)b->ranks[r].end);
    for (unsigned i = 0; i < LULL_PATH_PARTS; i++)
        fail_if(a->path[i] != b->path[i],
                "LULL_TEST_SEED=%llu: part %u of the longest path is %lld and %lld",
                (unsigned long long)number, i, (long long)a->path[i], (long long)b->path[i]);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        fail_if(counts[i][0] != counts[i][1], "LULL_TEST_SEED=%llu: count %u is %llu and %llu",
                (unsigned long long)number, i, (unsigned long long)counts[i][0],
                (unsigned long long)counts[i][1]);
}

static const struct lull_program_class *by_hand;
static unsigned rewinds;

static lull_status count_rewind(struct lull_program *program, struct lull_error *err)
{
    rewinds++;
    return by_hand->rewind(program, err);
}

/* Returns whether the program could be carried out; `at_once`: by no means has it to be begun again
 * to be handled by time. */
static bool compare(struct lull_program *program, struct lull_sim_options *options, bool at_once,
                    uint64_t number)
{
    static const struct lull_sim_sink told = {.context = NULL};
    struct lull_sim_result by_time, result;
    struct lull_error err = {""};
    struct lull_program_class watched = *program->class;
    struct lull_arena *arena = lull_arena_create(NULL);
    by_hand = program->class;
    watched.rewind = count_rewind;
    program->class = &watched;
    options->sink = &told;
    lull_status expected = lull_simulate(program, options, arena, &by_time, NULL, &err);
    options->sink = NULL;
    for (unsigned i = 0; i < 2; i++) {
        if (i > 0 && !lull_test_picks(number, 4)) /* threads are dear, too */
            continue;
        options->workers = i ? 2 + (unsigned)(number / 4 % 7) : 1;
        rewinds = 0;
        lull_status status = lull_simulate(program, options, arena, &result, NULL, &err);
        fail_if(status != expected, "LULL_TEST_SEED=%llu: '%s'", (unsigned long long)number,
                err.text);
        if (status == LULL_OK)
            must_be_equal(&result, &by_time, number);
        branch_reach(&branches[MESSAGES], status == LULL_OK && result.n_messages > 0);
        branch_reach(&branches[GATHERED], status == LULL_OK && result.n_collectives > 0);
        fail_if(status == LULL_OK && at_once && rewinds != 1,
                "LULL_TEST_SEED=%llu, %u threads: begun %u times", (unsigned long long)number,
                options->workers, rewinds);
    }
    program->class = by_hand;
    lull_arena_destroy(arena);
    return expected == LULL_OK;
}

static double one_of(struct lull_random *random, double a, double b, double c)
{
    uint64_t which = lull_random_below(random, 3);
    return which == 0 ? a : which == 1 ? b : c;
}

static struct lull_network draw_network(struct lull_random *random, bool loggops)
{
    static const double limits[] = {0, 8, 1000, 1e9};
    double eager = limits[lull_random_below(random, 4)];
    double latency = one_of(random, 0, 10, 20);
    if (loggops)
        return network_of("loggops", "L", latency, "o", one_of(random, 0, 1, 5), "g",
                          one_of(random, 0, 1, 7), "G", one_of(random, 0, 1, 1), "O",
                          one_of(random, 0, 0, 1), "S", eager, NULL);
    struct lull_network network = network_of("ideal", "eager", eager, NULL);
    if (lull_random_below(random, 2))
        network = network_of("hockney", "latency", latency, "bandwidth", 1e9, "eager", eager, NULL);
    if (lull_random_below(random, 4) == 0)
        network.collectives = LULL_COLLECTIVES_ALGORITHM;
    return network;
}

static void run(const struct random_streams_options *wanted, bool loggops)
{
    for (unsigned i = 0; i < cases; i++) {
        struct lull_random random;
        lull_random_seed(&random, seed + i);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_program *program = random_streams(&random, wanted);
        struct lull_network network = draw_network(&random, loggops);
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
        bool threads_share =
            program->n_streams > program->n_ranks && (options.noise || options.n_delays);
        bool free = wanted->wildcards + wanted->shared == 0 && !threads_share;
        const bool complete =
            compare(program, &options, wanted->unequal == 0 && (loggops || free), seed + i);
        branch_reach(&branches[COMPLETE], complete);
        branch_reach(&branches[NOISY], complete && options.noise);
        branch_reach(&branches[DELAYED], complete && options.n_delays > 0);
        branches_next(branches, BRANCHES);
        lull_program_close(program);
        lull_arena_destroy(arena);
    }
    branches_assert(branches, BRANCHES, cases);
}

static void one_stream_for_each_rank(void **state)
{
    run(&(struct random_streams_options){8, 1, 12, 0, 100, 0, 0}, *state != NULL);
}

static void several_streams(void **state)
{
    run(&(struct random_streams_options){6, 4, 8, 0, 0, 0, 0}, *state != NULL);
}

static void streams_that_share_channels(void **state)
{
    run(&(struct random_streams_options){4, 3, 6, 0, 10, 0, 0}, *state != NULL);
}

static void wildcards(void **state)
{
    run(&(struct random_streams_options){5, 2, 6, 2, 20, 0, 0}, *state != NULL);
}

static void unequal_collectives(void **state)
{
    run(&(struct random_streams_options){8, 2, 6, 1, 5, 50, 0}, *state != NULL);
}

/* So many ranks that each of two threads has several shards: rendezvous between shards, and a tree,
 * whose ranks differ in what they have to do. */
static void many_ranks(void **state)
{
    (void)state;
    static const char *const all[] = {
        "chain:ranks=300001,bytes=100KiB,distances=75000,exec=1us+2us+5us,iterations=1",
        "collective:op=reduce,ranks=300001,bytes=64,exec=1us,iterations=1"};
    static const char *const fewer[] = {
        /* under sanitizers; one shard for each of two threads */
        "chain:ranks=30001,bytes=100KiB,distances=7500,exec=1us+2us+5us,iterations=1",
        "collective:op=reduce,ranks=30001,bytes=64,exec=1us,iterations=1"};
    const char *const *patterns = lull_test_rounds(2) == 2 ? all : fewer;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_network network = network_of("loggops", NULL);
        struct lull_sim_options options = {.network = &network};
        struct lull_program *program;
        struct lull_spec *spec;
        struct lull_error err;
        assert_int_equal(lull_spec_parse(patterns[i], arena, &spec, &err), LULL_OK);
        assert_int_equal(lull_pattern_open(spec, &program, &err), LULL_OK);
        assert_true(compare(program, &options, true, 0));
        lull_program_close(program);
        lull_arena_destroy(arena);
    }
}

TEST_GROUP(test_sim_order)
{
    seed = lull_test_seed();
    cases = lull_test_rounds(cases) * lull_test_rounds(3) / 3;
    if (getenv("LULL_TEST_CASES"))
        cases = (unsigned)strtoul(getenv("LULL_TEST_CASES"), NULL, 10);
    static bool loggops = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_for_each_rank),
        cmocka_unit_test(several_streams),
        cmocka_unit_test(streams_that_share_channels),
        cmocka_unit_test(wildcards),
        cmocka_unit_test(unequal_collectives),
        cmocka_unit_test(many_ranks),
        cmocka_unit_test_prestate(one_stream_for_each_rank, &loggops),
        cmocka_unit_test_prestate(several_streams, &loggops),
        cmocka_unit_test_prestate(streams_that_share_channels, &loggops),
        cmocka_unit_test_prestate(wildcards, &loggops),
        cmocka_unit_test_prestate(unequal_collectives, &loggops),
    };
    return run_cases(tests, NULL, NULL);
}
