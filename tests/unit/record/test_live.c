/* What threads record while another thread reads it. */
#include "record/core.h"
#include "record/life_cycle.h"
#include "record/store/definitions.h"

#include "stats/random.h"
#include "support/live_reading.h"
#include "support/record/recorded.h"
#include "support/seed.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { WRITERS = 3, THINGS = 20000, REGIONS = 5, DEEPEST = 20, READER = WRITERS };

static uint64_t seed;
static uint32_t regions[REGIONS];
static pthread_barrier_t all;
static atomic_uint writing = WRITERS;
static struct lull_trace *trace;
static struct live_reading *readings;
static struct lull_error err;

static void write_things(unsigned number)
{
    struct rec_thread *self = rec_current();
    struct lull_random random;
    uint32_t open[DEEPEST];
    unsigned depth = 0;
    lull_random_seed(&random, seed + number);
    pthread_barrier_wait(&all); /* all have begun */
    pthread_barrier_wait(&all); /* the run is open */
    for (unsigned i = 0; i < THINGS; i++) {
        const unsigned what = (unsigned)lull_random_below(&random, 100);
        const uint32_t region = regions[lull_random_below(&random, REGIONS)];
        rec_reserve(self, REC_MOST_SLOTS);
        if (what < 40) {
            const uint64_t begin = rec_open_call(self, region);
            if (what == 0)
                sched_yield();
            rec_put_call(self, region, begin, rec_now() - begin);
        } else if (what < 70 && depth < DEEPEST) {
            open[depth++] = region;
            rec_put_enter(self, region, rec_now());
        } else if (depth > 0) {
            rec_put_leave(self, open[--depth], rec_now());
        }
    }
    atomic_fetch_sub(&writing, 1);
}

static void read_along(void)
{
    pthread_barrier_wait(&all);
    fail_if(lull_trace_open_live(recorded_run(), &trace, &err) != LULL_OK, "%s", err.text);
    readings = live_reading_begin(trace);
    pthread_barrier_wait(&all);
    while (atomic_load(&writing) > 0)
        for (uint32_t l = 0; l < trace->n_locations; l++)
            live_reading_look(&readings[l], "while they write");
}

static void write_or_read(unsigned number)
{
    if (number == READER)
        read_along();
    else
        write_things(number);
}

static void test_threads(void **state)
{
    (void)state;
    seed = lull_test_seed();
    for (unsigned r = 0; r < REGIONS; r++) {
        const char name[] = {(char)('a' + r), '\0'};
        regions[r] = rec_define_region(&(struct rec_region){.name = name});
    }
    pthread_barrier_init(&all, NULL, WRITERS + 1);
    recorded_threads(WRITERS + 1, write_or_read);
    for (uint32_t l = 0; l < trace->n_locations; l++)
        assert_int_equal(live_reading_look(&readings[l], "when they have written"),
                         LULL_EVENTS_WAIT);
    rec_stop();
    for (uint32_t l = 0; l < trace->n_locations; l++)
        assert_int_equal(live_reading_look(&readings[l], "at the end"), LULL_EVENTS_ENDED);
    assert_int_equal(trace->n_locations, 1 + WRITERS);
    assert_true(readings[1].count > THINGS / 2);
    live_reading_compare(recorded_run(), trace, readings, "afterwards");
    live_reading_end(trace, readings);
    lull_trace_close(trace);
}

static int tests(void)
{
    const struct CMUnitTest only[] = {cmocka_unit_test(test_threads)};
    return run_cases(only, NULL, NULL);
}

/* Ticks that are ns need no later point of the clock to be told in ns. */
TEST_GROUP(test_live)
{
    setenv("LULL_CLOCK", "system", 1);
    return recorded_main_both(tests);
}
