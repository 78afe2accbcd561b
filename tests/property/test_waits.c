/* Waits of random programs, handed over in random blocks and any order, against a slow reference
 * that adds up whole histories (support/slow_waits.h). */
#include "metrics/windows.h"
#include "support/branches.h"
#include "support/drawn_team.h"
#include "support/seed.h"
#include "support/slow_waits.h"
#include "support/test.h"

#include <stddef.h>

#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 2000 };

/* Each kind of wait has to occur, by the reference. */
static struct branch branches[LULL_WAIT_KINDS];

/* The steps of the processes of a range. */
static void hand_over(const struct slow_run *run, struct lull_process_range range,
                      const struct lull_consumer *consumer, struct lull_random *random)
{
    size_t at[SLOW_RANKS] = {0};
    for (uint32_t l = 0; l < run->n_ranks; l++)
        if (!lull_in_range(range, run->trace->locations[l].process))
            at[l] = run->steps[l].count;
    for (bool more = true; more;) {
        const uint32_t r = (uint32_t)lull_random_below(random, run->n_ranks);
        const size_t left = run->steps[r].count - at[r];
        const size_t most = 1 + (size_t)lull_random_below(random, 20);
        const struct lull_steps steps = {.location = r,
                                         .count = (uint32_t)(left < most ? left : most),
                                         .steps = run->steps[r].steps + at[r],
                                         .channels = run->steps[r].channels};
        assert_int_equal(consumer->steps(consumer->context, 0, &steps, NULL), LULL_OK);
        at[r] += steps.count;
        more = false;
        for (uint32_t other = 0; other < run->n_ranks; other++)
            more |= at[other] < run->steps[other].count;
    }
    assert_int_equal(consumer->finish(consumer->context, 0, NULL), LULL_OK);
}

/* `division` NULL: by one; of a team what its first has found. */
static struct lull_wait_result
follow(const struct slow_run *run, const struct lull_division *division, struct lull_random *random)
{
    struct lull_waits *waits;
    struct lull_wait_result result;
    const struct lull_wait_options options = {
        .reading = &(const struct lull_reading){.division = division},
        .each_thread = run->each_thread,
        .workers = 1};
    assert_int_equal(lull_waits_create(run->trace, &options, &waits, NULL), LULL_OK);
    const struct lull_consumer consumer = lull_waits_consumer(waits);
    hand_over(run, lull_pass_range(division), &consumer, random);
    assert_int_equal(lull_waits_conclude(waits, run->trace->arena, &result, NULL), LULL_OK);
    lull_waits_destroy(waits);
    return result;
}

static void compare_charges(const struct slow_run *run, const struct lull_wait_result *result)
{
    int64_t found[SLOW_RANKS][SLOW_PLACES][LULL_WAIT_KINDS] = {{{0}}}, sum = 0;
    for (uint32_t i = 0; i < result->n_charges; i++) {
        const struct lull_wait_charge *charge = &result->charges[i];
        const uint32_t place = charge->place.in_mpi ? SLOW_MPI : charge->place.region;
        assert_in_range(place, 0, SLOW_PLACES - 1);
        const uint32_t who = run->each_thread ? charge->place.thread : charge->place.process;
        assert_in_range(who, 0, run->n_ranks - 1);
        found[who][place][charge->kind] += charge->ns;
        sum += charge->ns;
    }
    for (uint32_t r = 0; r < run->n_ranks; r++)
        for (int p = 0; p < SLOW_PLACES; p++)
            for (int k = 0; k < LULL_WAIT_KINDS; k++) {
                assert_int_equal(found[r][p][k], run->charged[r][p][k]);
                branch_reach(&branches[k], run->charged[r][p][k] > 0);
            }
    assert_int_equal(sum, run->waited_ns);
    for (uint32_t l = 0; l < run->n_ranks; l++)
        sum -= result->locations[l].transfer_ns;
    for (uint32_t i = 0; i < result->n_calls; i++)
        sum += result->calls[i].transfer_ns;
    assert_in_range(run->waited_ns - sum, 0,
                    INT64_MAX); /* the rest is of calls that need nothing */
    assert_int_equal(result->waited_ns, run->waited_ns);
}

static void compare_sums(const struct lull_wait_location *found,
                         const struct lull_wait_location *expected)
{
    int64_t sum = found->transfer_ns + found->unmatched_ns;
    for (int k = 0; k < LULL_WAIT_KINDS; k++) {
        assert_int_equal(found->waited_ns[k], expected->waited_ns[k]);
        sum += found->waited_ns[k];
    }
    assert_int_equal(found->mpi_ns, expected->mpi_ns);
    assert_int_equal(found->transfer_ns, expected->transfer_ns);
    assert_int_equal(found->unmatched_ns, 0);
    assert_int_equal(sum, found->mpi_ns);
}

static void test_reference(void **state)
{
    struct lull_random random;
    const unsigned rounds = lull_test_rounds(PROGRAMS);
    (void)state;
    /* The reference knows waits in MPI alone; those of threads are in unit/wait/test_threads.c. */
    for (int k = 0; k < LULL_WAIT_KINDS; k++)
        if (k != LULL_WAIT_THREAD_BARRIER && k != LULL_WAIT_LOCK && k != LULL_WAIT_THREAD_JOIN)
            branches[k] = (struct branch){.what = lull_wait_kind_name(k), .least = 300};
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < rounds; i++) {
        struct slow_run run;
        slow_run_draw(&run, &random);
        const struct lull_wait_result result = follow(&run, NULL, &random);
        assert_null(result.absent);
        compare_charges(&run, &result);
        for (uint32_t r = 0; r < run.n_ranks; r++)
            compare_sums(&result.locations[r], &run.sums[r]);
        branches_next(branches, LULL_WAIT_KINDS);
        slow_run_free(&run);
    }
    branches_assert(branches, LULL_WAIT_KINDS, rounds);
}

/* ---- teams --------------------------------------------------------------------------------- */

/* Some steps are missing, as in records that are damaged: messages, operations, what completes
 * them; and often all of a process behind some moment. */
static void lose_steps(struct slow_run *run, struct lull_random *random)
{
    const uint32_t killed = (uint32_t)lull_random_below(random, 2 * run->n_ranks);
    for (uint32_t l = 0; l < run->n_ranks; l++) {
        struct slow_steps *own = &run->steps[l];
        size_t kept = 0, end = own->count - 1;
        if (l == killed)
            end = (size_t)lull_random_below(random, end);
        for (size_t i = 0; i < end; i++)
            if (own->steps[i].kind < LULL_STEP_SEND ||
                own->steps[i].kind > LULL_STEP_COLLECTIVE_END || lull_random_below(random, 60) > 0)
                own->steps[kept++] = own->steps[i];
        own->steps[kept++] = own->steps[own->count - 1]; /* its end */
        own->count = kept;
    }
}

static bool is_same(const struct slow_run *run, const struct lull_wait_result *a,
                    const struct lull_wait_result *b)
{
    bool same = a->n_charges == b->n_charges && a->waited_ns == b->waited_ns &&
                a->messages == b->messages && a->collectives == b->collectives &&
                a->unmatched_sends == b->unmatched_sends &&
                a->unmatched_operations == b->unmatched_operations;
    for (uint32_t i = 0; same && i < a->n_charges; i++) {
        const struct lull_wait_charge *x = &a->charges[i], *y = &b->charges[i];
        same = memcmp(&x->place, &y->place, sizeof x->place) == 0 && x->kind == y->kind &&
               x->ns == y->ns && x->passed_ns == y->passed_ns && x->waits == y->waits &&
               x->longest.location == y->longest.location && x->longest.begin == y->longest.begin &&
               x->longest.ns == y->longest.ns;
    }
    same = same && a->n_calls == b->n_calls;
    for (uint32_t i = 0; same && i < a->n_calls; i++)
        same = a->calls[i].region == b->calls[i].region && a->calls[i].calls == b->calls[i].calls &&
               a->calls[i].bytes == b->calls[i].bytes &&
               a->calls[i].transfer_ns == b->calls[i].transfer_ns;
    for (uint32_t l = 0; same && l < run->trace->n_locations; l++)
        same = memcmp(&a->locations[l], &b->locations[l], sizeof a->locations[l]) == 0;
    return same;
}

enum { WAITED, MATCHED, GATHERED, UNMATCHED };

/* What a run has, as one finds it. */
static void reach(const struct lull_wait_result *alone)
{
    if (alone->waited_ns > 0)
        drawn_team_reach(WAITED);
    if (alone->messages > 0)
        drawn_team_reach(MATCHED);
    if (alone->collectives > 0)
        drawn_team_reach(GATHERED);
    if (alone->unmatched_sends + alone->unmatched_operations > 0)
        drawn_team_reach(UNMATCHED);
}

/* 0 where the first of a team finds what one does. */
static int differs(struct slow_run *run, uint64_t seed, struct lull_random *random)
{
    if (seed % 3 == 0)
        lose_steps(run, random);
    const struct lull_wait_result alone = follow(run, NULL, random);
    const struct lull_wait_result again = follow(run, NULL, random); /* in another order */
    if (!is_same(run, &alone, &again))
        return 4;
    struct lull_team *team = drawn_team_open(random, seed, 2);
    const unsigned members = lull_team_size(team);
    const struct lull_division *division =
        drawn_team_divide(team, run->trace->n_processes, random, run->trace->arena);
    for (uint32_t i = 0; i < lull_team_index(team); i++)
        lull_random_below(random, 2); /* each in an order of its own */
    const struct lull_wait_result result = follow(run, division, random);
    int wrong = 0;
    if (lull_team_is_first(team))
        reach(&alone);
    if (lull_team_is_first(team) && !is_same(run, &alone, &result)) {
        fprintf(stderr, "seed %lu, team of %u: waits of %ld ns, alone %ld\n", seed, members,
                result.waited_ns, alone.waited_ns);
        wrong = 1;
    }
    return lull_team_end(team) ? wrong : 3;
}

/* Also where something is missing. */
static int drawn_run_differs(uint64_t seed)
{
    struct lull_random random;
    struct slow_run run;
    lull_random_seed(&random, seed);
    slow_run_draw(&run, &random);
    const int wrong = differs(&run, seed, &random);
    slow_run_free(&run);
    return wrong;
}

static void teams_find_what_one_finds(void **state)
{
    (void)state;
    const unsigned count = drawn_teams_run(drawn_run_differs);
    assert_reached("somebody waits", drawn_teams_reached(WAITED), count / 2, count);
    assert_reached("messages are matched", drawn_teams_reached(MATCHED), count / 2, count);
    assert_reached("there are operations", drawn_teams_reached(GATHERED), count / 2, count);
    assert_reached("something is missing", drawn_teams_reached(UNMATCHED), count / 20, count);
}

TEST_GROUP(test_waits)
{
    /* Teams while there is little to fork. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(teams_find_what_one_finds),
                                       cmocka_unit_test(test_reference)};
    return run_cases(tests, NULL, NULL);
}
