/* Waves whose delay lies within a call of MPI: a rank stays in its wait although everything that it
 * waits for is there. A simulation does not know that, but a rank that leaves its wait late and
 * then computes as usual does to the others what a rank does that leaves in time and computes for
 * longer in the next iteration. So such a run is simulated, and the time moved from that
 * computation to the wait before it. */
#include "support/seed.h"
#include "support/test.h"
#include "support/wave_run.h"

#include "stats/random.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { LENGTH = 10000000 }; /* ns: ten iterations */

static struct lull_random random_numbers;

static uint32_t draw(uint32_t least, uint32_t bound)
{
    return least + (uint32_t)lull_random_below(&random_numbers, bound);
}

/* A run with a stall of a rank in an iteration, and with other delays. */
static void make_run(const char *pattern, const char *network, uint32_t rank, uint32_t iteration,
                     const char *others, struct wave_run *run)
{
    char delays[128];
    snprintf(delays, sizeof delays, "%u@i%u:10ms %s", rank, iteration + 1, others);
    const struct wave_wish wish = {.pattern = pattern,
                                   .network = network,
                                   .noise = "exponential:mean=100us",
                                   .delays = delays,
                                   .seed = lull_random_u64(&random_numbers)};
    wave_run_make(&wish, run);
    run->field->rows[rank].cells[iteration].end += LENGTH;
    run->field->rows[rank].cells[iteration].wait += LENGTH;
    const struct lull_wave_options wanted = {.least = 0};
    wave_run_find(run, &wanted);
}

static void assert_stall(const struct lull_wave *wave, uint32_t rank, uint32_t iteration)
{
    fail_if(!wave->within_call || wave->rank != rank || wave->iteration != (int32_t)iteration,
            "a wave from rank %u, iteration %d, within a call: %d; expected %u, %u, 1", wave->rank,
            wave->iteration, wave->within_call, rank, iteration);
    if (fabs((double)wave->length / LENGTH - 1) > 0.2) /* noise belongs to it */
        fail_msg("%lld ns long, expected %d", (long long)wave->length, LENGTH);
}

static void test_origin_and_speed(void **state)
{
    static const struct {
        const char *pattern, *network;
        double speed;
    } cases[] = {
        {"chain:ranks=128,iterations=120", NULL, 1},
        {"chain:ranks=128,iterations=120", "hockney:latency=1us,bandwidth=10GB/s,eager=0", 1},
        {"chain:ranks=128,iterations=120,boundary=periodic", NULL, 1},
        {"chain:ranks=128,iterations=120,distances=1+2", NULL, 2},
        {"chain:ranks=128,iterations=120,wait=each", NULL, 1},
        {"chain:ranks=128,iterations=120,distances=1+2,wait=distance", NULL, 3},
    };
    (void)state;
    for (unsigned i = 0; i < 18; i++) {
        const unsigned c = i % 6;
        uint32_t rank = draw(40, 40), iteration = draw(20, 30);
        struct wave_run run;
        make_run(cases[c].pattern, cases[c].network, rank, iteration, "", &run);
        fail_if(run.waves.count != 1, "%s: %u waves", cases[c].pattern, run.waves.count);
        const struct lull_wave *wave = &run.waves.waves[0];
        assert_stall(wave, rank, iteration);
        double up = wave->up.ranks_per_iteration.value, down = wave->down.ranks_per_iteration.value;
        fail_if(!(fabs(up / cases[c].speed - 1) <= 0.05 && fabs(down / cases[c].speed - 1) <= 0.05),
                "%s: %g up, %g down", cases[c].pattern, up, down);
        wave_run_free(&run);
    }
}

/* Beside a wave that begins in a computation. */
static void test_two_kinds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t rank = draw(10, 30), other = draw(80, 30);
        char delay[64];
        struct wave_run run;
        snprintf(delay, sizeof delay, "%u@i30:10ms", other);
        make_run("chain:ranks=128,iterations=120", NULL, rank, 25, delay, &run);
        fail_if(run.waves.count != 2, "ranks %u, %u: %u waves", rank, other, run.waves.count);
        assert_stall(&run.waves.waves[0], rank, 25);
        const struct lull_wave *wave = &run.waves.waves[1];
        assert_false(wave->within_call);
        assert_int_equal(wave->rank, other);
        assert_int_equal(wave->iteration, 30);
        wave_run_free(&run);
    }
}

TEST_GROUP(test_wave_stalls)
{
    lull_random_seed(&random_numbers, lull_test_seed());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origin_and_speed),
        cmocka_unit_test(test_two_kinds),
    };
    return run_cases(tests, NULL, NULL);
}
