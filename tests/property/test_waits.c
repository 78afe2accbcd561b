/* Waits of random programs, handed over in random blocks and any order, against a slow reference
 * that adds up whole histories (support/slow_waits.h). */
#include "support/seed.h"
#include "support/slow_waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PROGRAMS = 2000 };

static void hand_over(const struct slow_run *run, const struct lull_consumer *consumer,
                      struct lull_random *random)
{
    size_t at[SLOW_RANKS] = {0};
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
            for (int k = 0; k < LULL_WAIT_KINDS; k++)
                assert_int_equal(found[r][p][k], run->charged[r][p][k]);
    assert_int_equal(sum, run->waited_ns);
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
    int64_t waited = 0;
    (void)state;
    lull_random_seed(&random, lull_test_seed());
    for (unsigned i = 0; i < lull_test_rounds(PROGRAMS); i++) {
        struct slow_run run;
        struct lull_waits *waits;
        struct lull_wait_result result;
        slow_run_draw(&run, &random);
        const struct lull_wait_options options = {.each_thread = run.each_thread};
        assert_int_equal(lull_waits_create(run.trace, &options, &waits, NULL), LULL_OK);
        const struct lull_consumer consumer = lull_waits_consumer(waits);
        hand_over(&run, &consumer, &random);
        assert_int_equal(lull_waits_conclude(waits, run.trace->arena, &result, NULL), LULL_OK);
        assert_null(result.absent);
        compare_charges(&run, &result);
        for (uint32_t r = 0; r < run.n_ranks; r++)
            compare_sums(&result.locations[r], &run.sums[r]);
        waited += result.waited_ns;
        lull_waits_destroy(waits);
        slow_run_free(&run);
    }
    assert_true(waited > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
