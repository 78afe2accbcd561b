/* What if a rank were at the median of its peers, in simulated runs: where one rank alone differs,
 * the replay takes to the nanosecond as long as the run simulated without that. */
#include "stats/random.h"
#include "support/folder.h"
#include "support/replay_case.h"
#include "support/seed.h"
#include "support/test.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static struct replay_case replay;
static struct lull_random generator;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)lull_random_below(&generator, bound);
}

/* A pattern of as many ranks: an open or periodic chain or grid, with or without a collective
 * operation behind iterations. */
static uint32_t draw_pattern(char *text, size_t size)
{
    static const char *const operations[] = {"none", "allreduce", "barrier", "bcast", "alltoall"};
    const bool grid = below(2) == 1;
    const uint32_t ranks = grid ? 3 * (2 + below(3)) : 4 + below(6);
    char extent[16];
    if (grid)
        snprintf(extent, sizeof extent, "3x%u", ranks / 3);
    else
        snprintf(extent, sizeof extent, "%u", ranks);
    snprintf(text, size,
             "%s:ranks=%s,boundary=%s,exec=%uus,iterations=%u,collective=%s,every=%u,bytes=%u",
             grid ? "grid" : "chain", extent, below(2) ? "open" : "periodic", 50 + below(500),
             3 + below(30), operations[below(5)], 1 + below(4), 8 + below(4096));
    return ranks;
}

static struct lull_what_if_options cut_of(uint32_t rank)
{
    return (struct lull_what_if_options){.n_cuts = 1, .cuts = {{.rank = rank}}};
}

/* Whether the fault makes the run longer. */
static bool check_exact(const struct replay_case_wish *faulty, uint32_t rank, const char *path)
{
    const struct replay_case_wish quiet = {.pattern = faulty->pattern};
    const int64_t expected = replay_case_simulate(&quiet, NULL);
    const int64_t disturbed = replay_case_simulate(faulty, path);
    const struct lull_what_if_options one = cut_of(rank), all = cut_of(LULL_NONE);
    replay_case_open(&replay, path);
    const int64_t same = replay_case_fix(&replay, &(struct lull_what_if_options){0});
    const int64_t got = replay_case_fix(&replay, &one), got_all = replay_case_fix(&replay, &all);
    fail_if(same != disturbed || got != expected || got_all != expected,
            "%s, rank %u, noise %s, delays %s: %" PRId64 " and, all cut, %" PRId64
            ", expected %" PRId64 "; unchanged %" PRId64 ", expected %" PRId64,
            faulty->pattern, rank, faulty->noise, faulty->delays, got, got_all, expected, same,
            disturbed);
    replay_case_close(&replay);
    return disturbed > expected;
}

/* A rank that is always slower, or late once or some times. */
static void test_one_rank_differs(void **state)
{
    (void)state;
    char pattern[256], noise[64], delays[64];
    lull_random_seed(&generator, lull_test_seed());
    const unsigned rounds = lull_test_rounds(40);
    unsigned longer = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const uint32_t ranks = draw_pattern(pattern, sizeof pattern), rank = below(ranks);
        struct replay_case_wish faulty = {.pattern = pattern};
        snprintf(noise, sizeof noise, "constant:mean=%uus,ranks=%u", 1 + below(400), rank);
        snprintf(delays, sizeof delays, "%u@i%u:%uus %u@i2:%uus", rank, below(2), 1 + below(5000),
                 rank, 1 + below(300));
        if (round % 3 != 1)
            faulty.noise = noise;
        if (round % 3 != 0)
            faulty.delays = delays;
        longer += check_exact(&faulty, rank, folder_path("run"));
    }
    assert_reached("the fault makes the run longer", longer, rounds * 9 / 10, rounds);
}

/* All ranks are noisy, and one is late by more than that. With q for a quiet computation, n of them
 * and m for the most that noise adds: each of the rank's has q to q + m without the fault, and the
 * median of sums, to which it is cut, is between n q and n (q + m). Cut to medians of the peers',
 * computations are at least q, or, where their sum is still too long, at least q q / (q + m) > q -
 * m: they fall short of those without the fault by 2 n m at most in all, and so exceed them by 2 n
 * m at most. Computations that are longer by so much make a run longer by that at most. */
static void test_noisy_ranks(void **state)
{
    (void)state;
    enum { ITERATIONS = 25, MOST = 20000, SLOW = 300000 };
    lull_random_seed(&generator, lull_test_seed());
    const unsigned rounds = lull_test_rounds(10);
    unsigned changed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const uint32_t ranks = 4 + below(6), rank = below(ranks);
        char pattern[160], fault[160];
        snprintf(pattern, sizeof pattern,
                 "chain:ranks=%u,boundary=periodic,exec=200us,iterations=%d,collective=%s,every=5",
                 ranks, ITERATIONS, round % 2 ? "allreduce" : "none");
        snprintf(fault, sizeof fault, "%u@i0:%dns", rank, SLOW * ITERATIONS);
        struct replay_case_wish wish = {.pattern = pattern,
                                        .noise = "uniform:max=20us",
                                        .seed = lull_random_below(&generator, 1000)};
        const int64_t repaired = replay_case_simulate(&wish, NULL);
        wish.delays = fault;
        const int64_t faulty = replay_case_simulate(&wish, folder_path("run"));
        const struct lull_what_if_options one = cut_of(rank);
        replay_case_open(&replay, folder_path("run"));
        const int64_t got = replay_case_fix(&replay, &one);
        replay_case_close(&replay);
        assert_true(faulty - repaired > 100 * MOST);
        changed += faulty - got > 50 * MOST;
        fail_if(llabs(got - repaired) > 2 * ITERATIONS * MOST,
                "%s, rank %u: %" PRId64 ", repaired %" PRId64 ", faulty %" PRId64, pattern, rank,
                got, repaired, faulty);
    }
    assert_reached("the cut makes the run shorter", changed, rounds, rounds);
}

TEST_GROUP(test_what_if)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noisy_ranks),
        cmocka_unit_test(test_one_rank_differs),
    };
    folder_make();
    int failed = run_cases(tests, NULL, NULL);
    folder_remove();
    return failed;
}
