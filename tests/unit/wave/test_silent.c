/* Idle waves on a silent system: identities that need no other program. */
#include "support/test.h"
#include "support/wave_run.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 20000000 /* ns: of the delay, 20 ms */

static const struct lull_wave *only_wave(const struct wave_run *run)
{
    assert_int_equal(run->waves.count, 1);
    return &run->waves.waves[0];
}

/* Nothing is lost on the way, and the run is longer by the delay, once. */
static void test_amplitude_is_constant(void **state)
{
    static const char *const patterns[] = {
        "chain:ranks=64,iterations=80", "chain:ranks=64,iterations=80,wait=each",
        "chain:ranks=64,iterations=80,distances=1+6,wait=distance",
        "chain:ranks=64,iterations=80,direction=up", "grid:ranks=5x4x3,iterations=30"};
    (void)state;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (unsigned rendezvous = 0; rendezvous < 2; rendezvous++) {
            struct wave_wish wish = {.pattern = patterns[p],
                                     .network = rendezvous ? "ideal:eager=0" : "ideal"};
            struct wave_run without, run;
            wave_run_make(&wish, &without);
            wish.delays = "30@i5:20ms";
            wave_run_make(&wish, &run);
            assert_int_equal(without.waves.count, 0);
            assert_int_equal(run.result.runtime - without.result.runtime, LENGTH);
            const struct lull_wave *wave = only_wave(&run);
            uint32_t reached = 0;
            for (uint32_t r = 0; r < run.field->n_ranks; r++) {
                if (r == wave->rank || wave->path.arrivals[r] < 0)
                    continue;
                reached++;
                double idle =
                    (double)lull_wave_idle(&run.field->rows[r], (uint32_t)wave->path.arrivals[r]);
                if (fabs(idle / LENGTH - 1) > 1e-9 + 1.0 / LENGTH) /* and a nanosecond */
                    fail_msg("%s: rank %u was idle for %.0f ns", patterns[p], r, idle);
            }
            assert_true(reached > run.field->n_ranks / 4);
            if (!isnan(wave->decay.value))
                assert_true(fabs(wave->decay.value) <= 1);
            if (wave->up.end != LULL_WAVE_END_NONE)
                assert_int_equal(wave->up.end, LULL_WAVE_END_BOUNDARY);
            wave_run_free(&without);
            wave_run_free(&run);
        }
}

/* Two equal delays at both ends of a stretch: the waves meet in its middle and are gone; behind it
 * nobody waits, and the run is longer by one delay. */
static void test_waves_annihilate(void **state)
{
    struct wave_wish wish = {.pattern = "chain:ranks=61,iterations=60"};
    struct wave_run without, run;
    (void)state;
    wave_run_make(&wish, &without);
    wish.delays = "10@i5:20ms 50@i5:20ms";
    wave_run_make(&wish, &run);
    assert_int_equal(run.waves.count, 2);
    const struct lull_wave *left = &run.waves.waves[0], *right = &run.waves.waves[1];
    assert_int_equal(left->rank, 10);
    assert_int_equal(right->rank, 50);
    assert_int_equal(left->up.end, LULL_WAVE_END_OTHER);
    assert_int_equal(right->down.end, LULL_WAVE_END_OTHER);
    assert_int_equal(left->up.n_ranks + right->down.n_ranks, 39); /* each rank between them once */
    assert_true(left->up.n_ranks == 19 || left->up.n_ranks == 20);
    assert_int_equal(left->down.end, LULL_WAVE_END_BOUNDARY);
    assert_int_equal(run.result.runtime - without.result.runtime, LENGTH);
    for (uint32_t r = 0; r < 61; r++) {
        unsigned idle = 0;
        for (uint32_t i = 0; i < run.field->n_iterations; i++)
            idle += lull_wave_idle(&run.field->rows[r], i) > LENGTH / 2;
        assert_int_equal(idle, r != 10 && r != 50);
    }
    wave_run_free(&without);
    wave_run_free(&run);
}

/* Three iterations of one rank, one behind the other, are one delay: before and behind them is
 * another. */
static void test_a_delay_of_three_iterations(void **state)
{
    const struct wave_wish wish = {.pattern = "chain:ranks=31,iterations=60",
                                   .network = "ideal",
                                   .delays = "10@i5:20ms 10@i6:20ms 10@i7:20ms 10@i30:20ms"};
    struct wave_run run;
    (void)state;
    wave_run_make(&wish, &run);
    assert_int_equal(run.waves.count, 2);
    assert_int_equal(run.waves.waves[0].iteration, 5);
    assert_int_equal(run.waves.waves[0].n_delayed, 3);
    assert_int_equal(run.waves.waves[0].length, 3 * 20000000);
    assert_int_equal(run.waves.waves[1].iteration, 30);
    assert_int_equal(run.waves.waves[1].n_delayed, 1);
    wave_run_free(&run);
}

static void test_a_smaller_wave_is_absorbed(void **state)
{
    const struct wave_wish wish = {.pattern = "chain:ranks=61,iterations=60",
                                   .network = "ideal",
                                   .delays = "10@i5:20ms 50@i5:30ms"};
    struct wave_run run;
    (void)state;
    wave_run_make(&wish, &run);
    assert_int_equal(run.waves.count, 2);
    /* Where they have met 10 ms of the longer one are left, the difference. */
    unsigned shorter = 0;
    for (uint32_t r = 0; r < 61; r++)
        for (uint32_t i = 0; i < run.field->n_iterations; i++) {
            int64_t idle = lull_wave_idle(&run.field->rows[r], i);
            shorter += idle == 10000000;
        }
    assert_int_equal(shorter, 30); /* ranks 29 to 0 */
    wave_run_free(&run);
}

/* Operations in which all wait for all end a wave; a broadcast by a binomial tree does not. */
static void test_collectives(void **state)
{
    static const struct {
        const char *operation;
        bool ends;
    } cases[] = {{"barrier", true}, {"allreduce", true}, {"alltoall", true}, {"bcast", false}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char pattern[128];
        snprintf(pattern, sizeof pattern, "chain:ranks=32,iterations=60,collective=%s,every=20",
                 cases[c].operation);
        const struct wave_wish wish = {.pattern = pattern, .delays = "8@i15:20ms"};
        struct wave_run run;
        wave_run_make(&wish, &run);
        const struct lull_wave *wave = only_wave(&run);
        if (cases[c].ends) {
            assert_int_equal(wave->up.end, LULL_WAVE_END_COLLECTIVE);
            assert_in_range(wave->up.distance, 4, 6);
        } else if (wave->up.end == LULL_WAVE_END_COLLECTIVE) {
            /* Whoever is below the delayed ranks in the tree waits; others do not. */
            fail_msg("a broadcast ended the wave");
        }
        wave_run_free(&run);
    }
}

static void test_ring_ends_at_the_antipode(void **state)
{
    const struct wave_wish wish = {.pattern = "chain:ranks=40,iterations=60,boundary=periodic",
                                   .delays = "3@i5:20ms"};
    struct wave_run run;
    (void)state;
    wave_run_make(&wish, &run);
    const struct lull_wave *wave = only_wave(&run);
    assert_int_equal(wave->up.end, LULL_WAVE_END_ITSELF);
    assert_int_equal(wave->down.end, LULL_WAVE_END_ITSELF);
    assert_int_equal(wave->n_ranks, 39);
    assert_int_equal(wave->up.distance + wave->down.distance, 39);
    wave_run_free(&run);
}

static void test_run_ends_first(void **state)
{
    const struct wave_wish wish = {.pattern = "chain:ranks=64,iterations=20",
                                   .delays = "30@i12:20ms"};
    struct wave_run run;
    (void)state;
    wave_run_make(&wish, &run);
    const struct lull_wave *wave = only_wave(&run);
    assert_int_equal(wave->up.end, LULL_WAVE_END_RUN);
    assert_int_equal(wave->up.distance, 8);
    wave_run_free(&run);
}

static void test_nothing_to_find(void **state)
{
    struct lull_error err;
    struct lull_wave_collector *collector;
    const struct lull_wave_field *field;
    (void)state;
    assert_int_equal(lull_wave_collector_of_simulation(1, &collector, &err), LULL_OK);
    assert_int_equal(lull_wave_collector_conclude(collector, &field, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "one rank"));
    lull_wave_collector_destroy(collector);
    assert_int_equal(lull_wave_collector_of_simulation(4, &collector, &err), LULL_OK);
    assert_int_equal(lull_wave_collector_conclude(collector, &field, &err), LULL_ERR_FORMAT);
    assert_non_null(strstr(err.text, "no messages"));
    lull_wave_collector_destroy(collector);
}

/* A rank stays in its wait of iteration 25 for so long: a run in which it computes for longer in the
 * next one, with the time moved (tests/property/test_wave_stalls.c). */
static void stay(struct wave_run *run, uint32_t rank, int64_t ns)
{
    run->field->rows[rank].cells[25].end += ns;
    run->field->rows[rank].cells[25].wait += ns;
}

/* 60 leaves before 40 does, so that its wave is followed first: rank 50, to which both come in
 * iteration 35, waits for it. */
static void test_the_first_stall_is_followed_first(void **state)
{
    const struct wave_wish wish = {.pattern = "chain:ranks=96,iterations=80",
                                   .network = "ideal",
                                   .delays = "40@i26:21ms 60@i26:20ms"};
    const struct lull_wave_options wanted = {.least = 0};
    struct wave_run run;
    (void)state;
    wave_run_make(&wish, &run);
    stay(&run, 40, LENGTH + LENGTH / 20);
    stay(&run, 60, LENGTH);
    wave_run_find(&run, &wanted);
    assert_int_equal(run.waves.count, 2);
    const struct lull_wave *later = &run.waves.waves[0], *first = &run.waves.waves[1];
    assert_int_equal(later->rank, 40);
    assert_int_equal(first->rank, 60);
    assert_int_equal(later->path.arrivals[49], 34);
    assert_int_equal(later->path.arrivals[50], -1);
    assert_int_equal(first->path.arrivals[50], 35);
    wave_run_free(&run);
}

TEST_GROUP(test_silent)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amplitude_is_constant),
        cmocka_unit_test(test_waves_annihilate),
        cmocka_unit_test(test_a_delay_of_three_iterations),
        cmocka_unit_test(test_a_smaller_wave_is_absorbed),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_ring_ends_at_the_antipode),
        cmocka_unit_test(test_run_ends_first),
        cmocka_unit_test(test_nothing_to_find),
        cmocka_unit_test(test_the_first_stall_is_followed_first),
    };
    return run_cases(tests, NULL, NULL);
}
