/* The speed of idle waves on a silent system, for all combinations of topology, grouping of the
 * waits, protocol and direction, against the table that follows from Afzal, Hager and Wellein 2021
 * and was confirmed by another simulator: ranks per iteration are the sum over the waits of the
 * largest offset that each can reach. */
#include "support/seed.h"
#include "support/test.h"
#include "support/wave_run.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum wait { ALL, DIRECTION, DISTANCE, EACH, WAITS };

static const char *const wait_names[WAITS] = {"all", "direction", "distance", "each"};
static const uint32_t most_distances[] = {1, 2, 3, 6, 12};

struct combination {
    uint32_t j;
    enum wait wait;
    bool rendezvous, both, compact, periodic;
};

/* The published table, by columns. */
static uint32_t table(const struct combination *c)
{
    bool doubled = c->rendezvous && c->both; /* one direction is never doubled */
    uint32_t sum = c->compact ? c->j * (c->j + 1) / 2 : c->j > 1 ? 1 + c->j : 1;
    switch (c->wait) {
    case ALL:
        return c->j;
    case DIRECTION:
        return doubled ? 2 * c->j : c->j;
    case DISTANCE:
        return sum;
    default:
        return doubled ? 2 * sum : sum;
    }
}

static void put_distances(const struct combination *c, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "1");
    for (uint32_t d = 2; d <= c->j; d++)
        if (c->compact || d == c->j)
            at += (size_t)snprintf(text + at, size - at, "+%u", d);
}

static void check_front(const struct combination *c, const char *pattern,
                        const struct lull_wave_front *front, double kappa, double expected)
{
    if (expected == 0 && front->n_ranks == 0 && kappa == 0)
        return;
    double speed = front->ranks_per_iteration.value;
    fail_if(fabs(speed / expected - 1) > 0.01 || kappa != expected ||
                !(front->ranks_per_iteration.low <= expected &&
                  expected <= front->ranks_per_iteration.high),
            "%s, %s: expected %g ranks per iteration, found %g (%g to %g) and predicted %g",
            pattern, c->rendezvous ? "rendezvous" : "eager", expected, speed,
            front->ranks_per_iteration.low, front->ranks_per_iteration.high, kappa);
}

static void check(const struct combination *c)
{
    uint32_t kappa = table(c), half = 9 * kappa + 2 * c->j;
    char distances[128], pattern[512], delay[64];
    put_distances(c, distances, sizeof distances);
    snprintf(pattern, sizeof pattern,
             "chain:ranks=%u,distances=%s,wait=%s,direction=%s,boundary=%s,iterations=16,exec=1ms",
             2 * half + 1, distances, wait_names[c->wait], c->both ? "both" : "up",
             c->periodic ? "periodic" : "open");
    snprintf(delay, sizeof delay, "%u@i4:20ms", half);
    const struct wave_wish wish = {.pattern = pattern,
                                   .network = c->rendezvous ? "hockney:latency=10ns,eager=0"
                                                            : "hockney:latency=10ns",
                                   .delays = delay,
                                   .seed = 1};
    struct wave_run run;
    wave_run_make(&wish, &run);
    fail_if(run.waves.count != 1, "%s: %u waves", pattern, run.waves.count);
    const struct lull_wave *wave = &run.waves.waves[0];
    assert_int_equal(wave->rank, half);
    assert_int_equal(wave->iteration, 4);
    assert_int_equal(wave->length, 20000000);
    assert_int_equal(run.graph->periodic, c->periodic);
    check_front(c, pattern, &wave->up, run.graph->kappa_up, kappa);
    /* Against the direction of the messages only a rendezvous carries the wave. */
    check_front(c, pattern, &wave->down, run.graph->kappa_down,
                c->both || c->rendezvous ? kappa : 0);
    wave_run_free(&run);
}

/* 160, open and periodic. Under sanitizers a share of them, in which each bit, each grouping and
 * each distance comes up: 37 has no divisor in common with their number. */
static void test_all_combinations(void **state)
{
    enum {
        BITS = 16,
        DISTANCES = sizeof most_distances / sizeof *most_distances,
        COMBINATIONS = 320
    };
    static_assert(COMBINATIONS == BITS * WAITS * DISTANCES, "the combinations are others");
    bool seen[BITS + WAITS + DISTANCES] = {false};
    (void)state;
    for (unsigned i = 0; i < lull_test_rounds(COMBINATIONS); i++) {
        const unsigned n = i * 37 % COMBINATIONS;
        const unsigned bits = n % BITS, wait = n / BITS % WAITS, distance = n / BITS / WAITS;
        const struct combination c = {
            most_distances[distance], wait, bits & 1, bits & 2, bits & 4, bits & 8};
        check(&c);
        seen[bits] = seen[BITS + wait] = seen[BITS + WAITS + distance] = true;
    }
    for (size_t s = 0; s < sizeof seen; s++)
        assert_true(seen[s]);
}

TEST_GROUP(test_kappa)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_combinations)};
    return run_cases(tests, NULL, NULL);
}
