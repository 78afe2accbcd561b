/* The engine with the networks loggops-compat and loggops against slow reference simulators, on
 * random programs: the end of every rank, exactly, and whether the program can be carried out at
 * all. LULL_TEST_SEED and LULL_TEST_CASES in the environment choose others. */
#include "sim/engine/engine.h"
#include "sim/goal/goal.h"
#include "support/random_goal.h"
#include "support/seed.h"
#include "support/slow_goal.h"
#include "support/slow_loggops.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;
static unsigned cases = 10000;

static unsigned workers; /* 1 to 8, by turns */

struct peer {
    const char *network;
    void (*run)(const char *text, const struct slow_network *network,
                struct slow_result *ret_result);
};

static const struct peer compat = {"loggops-compat", slow_goal_run};
static const struct peer loggops = {"loggops", slow_loggops_run};

static void set_number(struct lull_network *network, const char *name, int64_t value)
{
    uint32_t parameter = lull_network_parameter(network->class, name);
    assert_true(parameter < network->class->n_parameters);
    lull_network_set(network, parameter, LULL_LEVELS, (double)value);
}

static lull_status simulate(const struct peer *peer, const char *text,
                            const struct slow_network *numbers, struct lull_arena *arena,
                            struct lull_sim_result *ret_result, struct lull_error *err)
{
    struct lull_program *program = NULL;
    struct lull_network network;
    const struct lull_sim_options options = {.network = &network, .workers = workers};
    lull_network_init(&network, lull_network_find(peer->network));
    set_number(&network, "L", numbers->latency);
    set_number(&network, "o", numbers->overhead);
    set_number(&network, "g", numbers->gap);
    set_number(&network, "G", numbers->gap_per_byte);
    set_number(&network, "O", numbers->overhead_per_byte);
    set_number(&network, "S", numbers->eager);
    fail_if(lull_goal_parse("random", text, strlen(text), &program, err) != LULL_OK, "%s",
            err->text);
    lull_status status = lull_simulate(program, &options, arena, ret_result, NULL, err);
    lull_program_close(program);
    return status;
}

static void draw_network(struct lull_random *random, struct slow_network *network)
{
    static const int64_t eager[] = {0, 1, 2, 7, 1000};
    network->latency = (int64_t)lull_random_below(random, 4) * 2;
    network->overhead = (int64_t)lull_random_below(random, 3);
    network->gap = (int64_t)lull_random_below(random, 4);
    network->gap_per_byte = (int64_t)lull_random_below(random, 3);
    network->overhead_per_byte = (int64_t)lull_random_below(random, 3);
    network->eager = eager[lull_random_below(random, 5)];
}

/* Returns whether the program could be carried out. */
static bool compare(const struct peer *peer, const char *text, const struct slow_network *network,
                    unsigned number)
{
    struct lull_arena *arena = lull_arena_create(NULL);
    struct slow_result slow;
    struct lull_sim_result fast;
    struct lull_error err = {""};
    peer->run(text, network, &slow);
    lull_status status = simulate(peer, text, network, arena, &fast, &err);
    unsigned wrong = UINT32_MAX;
    for (unsigned r = 0; r < slow.n_ranks && status == LULL_OK; r++)
        if (fast.ranks[r].end != slow.ends[r])
            wrong = r;
    if (status != (slow.complete ? LULL_OK : LULL_ERR_FORMAT) ||
        (slow.complete && wrong != UINT32_MAX)) {
        print_message("%s\nL=%lld o=%lld g=%lld G=%lld O=%lld S=%lld\n", text,
                      (long long)network->latency, (long long)network->overhead,
                      (long long)network->gap, (long long)network->gap_per_byte,
                      (long long)network->overhead_per_byte, (long long)network->eager);
        for (unsigned r = 0; r < slow.n_ranks; r++)
            print_message("rank %u: engine %lld, slow %lld\n", r,
                          status == LULL_OK ? (long long)fast.ranks[r].end : -1,
                          (long long)slow.ends[r]);
        fail_msg("seed %llu, case %u: engine '%s', slow simulator %s", (unsigned long long)seed,
                 number, status == LULL_OK ? "completes" : err.text,
                 slow.complete ? "completes" : "has something left over");
    }
    bool complete = slow.complete;
    free(slow.ends);
    lull_arena_destroy(arena);
    return complete;
}

static void run(const struct peer *peer, const struct random_goal_options *options, unsigned count)
{
    unsigned complete = 0;
    struct lull_random random;
    for (unsigned i = 0; i < count; i++) {
        struct slow_network network;
        lull_random_seed(&random, seed + i);
        workers = lull_test_picks(i, 8) ? 1 + i / 8 % 8 : 1; /* threads are dear, too */
        draw_network(&random, &network);
        char *text = random_goal(&random, options);
        complete += compare(peer, text, &network, i);
        free(text);
    }
    assert_reached("the program can be carried out", complete, count / 20 + 1, count);
    if (options->wildcards + options->starts > 0)
        assert_reached("something is left over", count - complete, count / 100 + 1, count);
}

static void small_programs(void **state)
{
    run(*state, &(struct random_goal_options){2, 5, 1, 1, 20, 20}, cases);
}

static void one_processor(void **state)
{
    run(*state, &(struct random_goal_options){6, 40, 1, 1, 0, 0}, cases / 2);
}

static void several_units(void **state)
{
    run(*state, &(struct random_goal_options){5, 30, 3, 2, 10, 30}, cases / 2);
}

static void large_programs(void **state)
{
    const unsigned some = lull_test_rounds(100);
    run(*state, &(struct random_goal_options){16, 400, 2, 2, 0, 20}, some);
    run(*state, &(struct random_goal_options){3, 400, 1, 1, 0, 0}, some);
}

TEST_GROUP(test_goal_engine)
{
    seed = lull_test_seed();
    cases = lull_test_rounds(cases) * lull_test_rounds(4) / 4;
    if (getenv("LULL_TEST_CASES"))
        cases = (unsigned)strtoul(getenv("LULL_TEST_CASES"), NULL, 10);
    void *peers[] = {(void *)(uintptr_t)&compat, (void *)(uintptr_t)&loggops};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(small_programs, peers[0]),
        cmocka_unit_test_prestate(one_processor, peers[0]),
        cmocka_unit_test_prestate(several_units, peers[0]),
        cmocka_unit_test_prestate(large_programs, peers[0]),
        cmocka_unit_test_prestate(small_programs, peers[1]),
        cmocka_unit_test_prestate(one_processor, peers[1]),
        cmocka_unit_test_prestate(several_units, peers[1]),
        cmocka_unit_test_prestate(large_programs, peers[1]),
    };
    return run_cases(tests, NULL, NULL);
}
