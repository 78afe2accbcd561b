/* How long an iteration takes, told early: a simulation that is stopped because it repeats itself
 * must have the duration that each rank has between iteration 200 and 300 of the whole one. */
#include "study/wave/wave_simulated.h"

#include "sim/pattern/pattern.h"
#include "sim/setup.h"
#include "support/arena_case.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct wish {
    const char *pattern, *network, *placement;
    bool stops; /* all ranks go at one pace in the end */
};

static struct lull_spec *parsed(const char *text)
{
    struct lull_error err;
    struct lull_spec *spec = NULL;
    fail_if(text && lull_spec_parse(text, arena, &spec, &err) != LULL_OK, "%s: %s", text, err.text);
    return spec;
}

/* With a meter, or with none. */
static struct lull_sim_result run(const struct wish *wish, unsigned iterations,
                                  struct lull_wave_cycle **ret_cycle)
{
    struct lull_error err;
    struct lull_program *program;
    struct lull_network network;
    struct lull_sim_result result = {0};
    const char *text = lull_arena_printf(arena, "%s,iterations=%u", wish->pattern, iterations);
    fail_if(lull_pattern_open(parsed(text), &program, &err) != LULL_OK ||
                lull_network_read(parsed(wish->network), parsed(wish->placement), program->n_ranks,
                                  arena, &network, &err) != LULL_OK,
            "%s: %s", text, err.text);
    struct lull_sim_options options = {.network = &network, .workers = 1};
    if (ret_cycle) {
        *ret_cycle = lull_wave_cycle_create(program->n_ranks, lull_pattern_period(program), true);
        options.sink = lull_wave_cycle_sink(*ret_cycle);
    }
    lull_status status = lull_simulate(program, &options, arena, &result, NULL, &err);
    bool stopped = ret_cycle && lull_wave_cycle_stopped(*ret_cycle);
    assert_int_equal(status, stopped ? LULL_ERR_CANCELLED : LULL_OK);
    lull_program_close(program);
    return result;
}

static void test_as_in_the_whole_run(void **state)
{
    static const struct wish wishes[] = {
        {"chain:ranks=40,exec=1ms", "ideal", NULL, true},
        {"chain:ranks=40,exec=1ms,wait=each,distances=1+3", "hockney:latency=5us", NULL, true},
        {"chain:ranks=40,exec=1ms+2ms+1500us", "hockney:latency=5us", NULL, true},
        {"chain:ranks=12,exec=1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+3ms", "ideal", NULL,
         true},
        {"grid:ranks=5x7,exec=1ms", "hockney:latency=5us", NULL, true},
        {"chain:ranks=32,exec=10us,bytes=64KiB",
         "hockney:latency=20us,node.latency=1us,bandwidth=1GB/s,node.bandwidth=9GB/s,eager=0",
         "block:cores-per-node=8", true},
        {"chain:ranks=32,exec=10us,bytes=64KiB,direction=up",
         "hockney:latency=20us,node.latency=1us,bandwidth=1GB/s,node.bandwidth=9GB/s",
         "block:cores-per-node=8", true},
        /* Nobody waits for the last rank, which is slower than all others. */
        {"chain:ranks=12,exec=1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+1ms+3ms,direction=up",
         "ideal", NULL, false},
        /* An operation behind every tenth iteration, which takes time, and one that takes none. */
        {"chain:ranks=12,exec=1ms,collective=allreduce,every=10", "hockney:latency=1ms", NULL,
         false},
        {"chain:ranks=12,exec=1ms,collective=barrier,every=10", "ideal", NULL, true},
    };
    (void)state;
    for (unsigned w = 0; w < sizeof wishes / sizeof *wishes; w++) {
        struct lull_wave_cycle *cycle;
        struct lull_sim_result whole = run(&wishes[w], 300, NULL);
        struct lull_sim_result shorter = run(&wishes[w], 200, NULL);
        struct lull_sim_result metered = run(&wishes[w], 300, &cycle);
        fail_if(lull_wave_cycle_stopped(cycle) != wishes[w].stops, "%s: stopped: %d",
                wishes[w].pattern, !wishes[w].stops);
        double mean = lull_wave_cycle_mean(cycle, &metered), sum = 0;
        for (uint32_t r = 0; r < whole.n_ranks; r++) {
            double span = (double)(whole.ranks[r].end - shorter.ranks[r].end) / 100;
            fail_if(wishes[w].stops && span != mean, "%s: rank %u: %.2f ns, expected %.2f",
                    wishes[w].pattern, r, mean, span);
            sum += span;
        }
        fail_if(fabs(mean - sum / whole.n_ranks) > 1e-6 * mean, "%s: %.2f ns", wishes[w].pattern,
                mean);
        lull_wave_cycle_destroy(cycle);
    }
}

TEST_GROUP(test_wave_cycle)
{
    const struct CMUnitTest tests[] = {ARENA_TEST(test_as_in_the_whole_run)};
    return run_cases(tests, NULL, NULL);
}
