/* Tapes that are read while they are written: what comes is, to the last event, what a reading
 * afterwards gives, whenever the reader looks, and whenever the writer ends or dies. */
#include "support/folder.h"
#include "support/live_reading.h"
#include "support/live_tape.h"
#include "support/seed.h"
#include "support/test.h"
#include "trace/scan.h"

#include <stdio.h>

static struct lull_error err;

/* How a schedule ends. */
enum { CLOSES, DIES, REACHES_BUDGET, ENDS };
static unsigned ends[ENDS], empty;

static void write_some(struct live_tape *tape, struct lull_random *random,
                       struct live_reading *readings, unsigned end, const char *what)
{
    const unsigned things = 1 + (unsigned)lull_random_below(random, 60),
                   often = 1 + (unsigned)lull_random_below(random, 40);
    for (unsigned i = 0; i < things; i++) {
        live_tape_go_on(tape);
        const unsigned dies =
            end == DIES && i + 1 == things ? (unsigned)lull_random_below(random, 30) : UINT32_MAX;
        for (unsigned step = 0; step < dies && live_tape_step(tape); step++)
            if (lull_random_below(random, often) == 0)
                live_reading_look(&readings[lull_random_below(random, LIVE_LOCATIONS)], what);
    }
}

static void run_schedule(uint64_t seed)
{
    struct lull_random random;
    struct lull_trace *trace;
    char what[64];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    lull_random_seed(&random, seed);
    const unsigned end = (unsigned)lull_random_below(&random, ENDS);
    const char *run = folder_path("run");
    struct live_tape *tape = live_tape_begin(run, &random);
    fail_if(lull_trace_open_live(run, &trace, &err) != LULL_OK, "%s: %s", what, err.text);
    struct live_reading *readings = live_reading_begin(trace);
    write_some(tape, &random, readings, end, what);
    if (end == DIES)
        live_tape_kill(tape);
    else
        live_tape_end(tape, end == CLOSES ? LULL_TAPE_CLOSED : LULL_TAPE_BUDGET_REACHED);
    while (live_tape_step(tape))
        continue;
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        assert_int_equal(live_reading_look(&readings[l], what), LULL_EVENTS_ENDED);
        empty += readings[l].empty;
    }
    live_reading_compare(run, trace, readings, what);
    live_reading_end(trace, readings);
    ends[end]++;
    lull_trace_close(trace);
    live_tape_free(tape);
}

static void test_schedules(void **state)
{
    (void)state;
    const uint64_t first = lull_test_seed(), rounds = lull_test_rounds(10000);
    folder_make();
    for (uint64_t seed = first; seed - first < rounds; seed++)
        run_schedule(seed);
    folder_remove();
    assert_reached("a look at which nothing was there", empty, rounds, rounds);
    assert_reached("a chunk is stored", live_tape_counts.chunks, rounds / 10, rounds);
    assert_reached("a committed record changes", live_tape_counts.changed, rounds, rounds);
    assert_reached("a call is open for a while", live_tape_counts.opened, rounds, rounds);
    assert_reached("closed", ends[CLOSES], rounds / 10, rounds);
    assert_reached("killed", ends[DIES], rounds / 10, rounds);
    assert_reached("budget", ends[REACHES_BUDGET], rounds / 10, rounds);
}

/* Where a record needs a definition that was made after the run was opened, reading goes on once the
 * run is opened again. */
static void test_stale(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_trace *trace;
    lull_random_seed(&random, 1);
    folder_make();
    const char *run = folder_path("run");
    struct live_tape *tape = live_tape_begin(run, &random);
    assert_int_equal(lull_trace_open_live(run, &trace, &err), LULL_OK);
    struct live_reading *readings = live_reading_begin(trace);
    const struct lull_visitor visitor = {.context = NULL};
    assert_int_equal(lull_scan(trace, &(struct lull_scan_options){0}, &visitor, &err),
                     LULL_ERR_UNSUPPORTED); /* scans wait for nobody */
    live_tape_define_late(tape);
    while (live_tape_step(tape))
        continue;
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        assert_int_equal(live_reading_look(&readings[l], "stale"), LULL_EVENTS_STALE);
        assert_int_equal(live_reading_look(&readings[l], "stale"), LULL_EVENTS_STALE);
        assert_int_equal(readings[l].count, 1);
    }
    live_reading_end(trace, readings);
    lull_trace_close(trace);
    assert_int_equal(lull_trace_open_live(run, &trace, &err), LULL_OK);
    readings = live_reading_begin(trace);
    assert_int_equal(live_reading_look(&readings[0], "anew"), LULL_EVENTS_WAIT);
    live_tape_end(tape, LULL_TAPE_CLOSED);
    while (live_tape_step(tape))
        continue;
    for (uint32_t l = 0; l < LIVE_LOCATIONS; l++) {
        assert_int_equal(live_reading_look(&readings[l], "anew"), LULL_EVENTS_ENDED);
        assert_int_equal(readings[l].count, 2);
        assert_string_equal(trace->regions[readings[l].events[1].id].name, "late");
    }
    live_reading_compare(run, trace, readings, "anew");
    live_reading_end(trace, readings);
    lull_trace_close(trace);
    live_tape_free(tape);
    folder_remove();
}

TEST_GROUP(test_tape_live)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_schedules),
                                       cmocka_unit_test(test_stale)};
    return run_cases(tests, NULL, NULL);
}
