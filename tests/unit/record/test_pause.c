/* Random schedules of pauses, of which threads take note late or never: what they do outside of
 * pauses is counted, and the pauses are as long for each of them as they were. */
#include "record/core.h"
#include "record/thread/pause.h"

#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include "stats/random.h"

#include <pthread.h>
#include <stddef.h>

enum { THREADS = 4, ROUNDS = 400, REGION = 1000, CALL }; /* ids that the recorder does not use */

static pthread_barrier_t turn;
static bool paused; /* written by thread 0 between two turns */
static struct {
    uint64_t regions, calls;
} expected[THREADS], found[THREADS]; /* outside of pauses */
static uint64_t paused_ticks[THREADS];
static uint64_t at_least, at_most; /* ticks of all pauses */

/* Pauses and resumes up to three times, as the draws say. */
static void change(struct lull_random *random)
{
    static uint64_t before, behind; /* the call of rec_pause */
    for (uint64_t n = lull_random_below(random, 4); n > 0; n--) {
        uint64_t begin = rec_now();
        if (paused)
            rec_resume();
        else
            rec_pause();
        uint64_t end = rec_now();
        if (paused) {
            at_least += begin - behind;
            at_most += end - before;
        }
        before = begin;
        behind = end;
        paused = !paused;
    }
}

/* A region that may begin in one turn and end in another, and a call inside of it. */
static void act(unsigned number, struct lull_random *random, bool *inside)
{
    struct rec_thread *self = rec_current();
    if (lull_random_below(random, 3) == 0)
        return;
    bool admitted = rec_admits(self);
    if (*inside) {
        rec_reserve(self, REC_MOST_SLOTS);
        rec_leave(self, REGION, rec_now());
        *inside = false;
    } else if (admitted) {
        rec_reserve(self, REC_MOST_SLOTS);
        rec_enter(self, REGION, rec_now());
        *inside = true;
    }
    expected[number].regions += !paused && *inside;
    if (rec_admits(self))
        rec_call(self, CALL, rec_open_call(self, CALL), 0);
    expected[number].calls += !paused;
}

static void follow(unsigned number)
{
    struct lull_random random;
    bool inside = false;
    lull_random_seed(&random, lull_test_seed() * THREADS + number);
    struct rec_thread *self = rec_current();
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&turn);
        if (number == 0)
            change(&random);
        pthread_barrier_wait(&turn);
        act(number, &random, &inside);
    }
    pthread_barrier_wait(&turn);
    while (number == 0 && paused)
        change(&random);
    pthread_barrier_wait(&turn);
    rec_admits(self);
    found[number].regions = rec_sum_of(self, REGION, 0)->visits;
    found[number].calls = rec_sum_of(self, CALL, 0)->visits;
    paused_ticks[number] = self->sums_file.header->paused;
    pthread_barrier_wait(&turn);
}

static void test_schedule(void **state)
{
    (void)state;
    lull_test_seed();
    pthread_barrier_init(&turn, NULL, THREADS);
    recorded_threads(THREADS, follow);
    for (unsigned number = 0; number < THREADS; number++) {
        assert_int_equal(found[number].regions, expected[number].regions);
        assert_int_equal(found[number].calls, expected[number].calls);
        assert_in_range(paused_ticks[number], at_least, at_most);
    }
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_schedule)};
    return run_cases(only, NULL, NULL);
}

TEST_GROUP(test_pause)
{
    return recorded_main(tests);
}
