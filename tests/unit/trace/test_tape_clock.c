/* Ticks of a tape become nanoseconds. */
#include "support/folder.h"
#include "support/tape_run.h"
#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

struct point {
    uint64_t ticks;
    int64_t ns;
};

static void clock_points(struct definitions_maker *maker, const struct point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        definitions_add(maker, LULL_TAPE_DEFINE_CLOCK, 0, "UUf", points[i].ticks,
                        (uint64_t)points[i].ns, 5.0);
}

/* Exact time of a tick, up to the rounding of long double. */
static long double exact_ns(const struct point *points, size_t count, uint64_t ticks)
{
    size_t s = 0;
    while (s + 2 < count && ticks >= points[s + 1].ticks)
        s++;
    long double slope = (long double)(points[s + 1].ns - points[s].ns) /
                        (long double)(points[s + 1].ticks - points[s].ticks);
    return points[s].ns + ((long double)ticks - (long double)points[s].ticks) * slope;
}

/* A clock of about 2.6 GHz that drifts, as if measured every ten minutes. */
static void test_clock(void **state)
{
    (void)state;
    enum { POINTS = 6, CALLS = 20000 };
    static const double rates[POINTS - 1] = {2.6, 2.6000011, 2.59999, 2.6, 0.7};
    struct point points[POINTS] = {{UINT64_C(123456789012345), INT64_C(5000000000000)}};
    for (size_t i = 1; i < POINTS; i++) {
        points[i].ns = points[i - 1].ns + INT64_C(600000000000) + 17 * (int64_t)i;
        points[i].ticks = points[i - 1].ticks + (uint64_t)(600e9 * rates[i - 1]);
    }
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    clock_points(&definitions, points, POINTS);
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    /* from before the first point to behind the last, in irregular steps */
    uint64_t first = points[0].ticks - 1000000, last = points[POINTS - 1].ticks + 100000000;
    uint64_t step = (last - first) / CALLS;
    static uint64_t ticks[CALLS], lengths[CALLS];
    for (uint64_t i = 0; i < CALLS; i++) {
        ticks[i] = first + i * step + i * i % 9973;
        lengths[i] = i % 2 ? step - 20000 : i % 1000;
        tape_call(&tape, ticks[i], 0, lengths[i]);
    }
    tape_write(&tape, run.path, 0);
    run_open(run.path);
    assert_true(run.trace->clock_error == 5.0);
    struct same_sequence events = run_events(0);
    assert_int_equal(events.count, CALLS);
    /* the origin and each time are rounded to a ns */
    long double origin = floorl(exact_ns(points, POINTS, first));
    int64_t previous_end = 0;
    for (size_t i = 0; i < CALLS; i++) {
        const struct lull_event *event = &events.events[i];
        long double begin = exact_ns(points, POINTS, ticks[i]) - origin;
        long double end = exact_ns(points, POINTS, ticks[i] + lengths[i]) - origin;
        fail_if(fabsl(begin - event->time) > 2.0L ||
                    fabsl(end - (event->time + event->duration)) > 2.0L,
                "call %zu: %" PRId64 " + %" PRId64 ", expected %.3Lf to %.3Lf", i, event->time,
                event->duration, begin, end);
        assert_true(event->time >= previous_end);
        previous_end = event->time + event->duration;
    }
    assert_int_equal(run.trace->duration, previous_end);
}

/* Points that lie on times: converted exactly, and one tick is never worth less than nothing. */
static void test_clock_is_monotonic_at_its_points(void **state)
{
    (void)state;
    static const struct point points[] = {{1000, 0}, {4000, 1000}, {7000, 2001}, {10001, 3000}};
    struct definitions_maker definitions;
    struct tape_maker tape;
    define_process(&definitions, 0, 1);
    clock_points(&definitions, points, 4);
    definitions_write(&definitions, run.path);
    tape_begin(&tape, 0, 0);
    for (uint64_t t = 990; t < 11000; t++)
        tape_record(&tape, t, LULL_TAPE_NUMBER, 1, LULL_TAPE_NO_ID, LULL_TAPE_NUMBER_JOIN);
    tape_write(&tape, run.path, 0);
    run_open(run.path); /* checks the order */
    struct same_sequence events = run_events(0);
    int64_t origin = events.events[10].time; /* of tick 1000 */
    assert_int_equal(events.events[4000 - 990].time - origin, 1000);
    assert_int_equal(events.events[7000 - 990].time - origin, 2001);
    for (size_t i = 0; i < events.count; i++)
        assert_true(fabsl(exact_ns(points, 4, 990 + i) - (events.events[i].time - origin)) <= 1);
}

/* Two processes with clocks of their own meet on one time axis. */
static void test_two_clocks(void **state)
{
    (void)state;
    static const struct point clocks[2][2] = {
        {{0, 1000}, {1000, 2000}}, {{UINT64_C(1) << 63, 1000}, {(UINT64_C(1) << 63) + 4000, 3000}}};
    for (uint32_t p = 0; p < 2; p++) {
        struct definitions_maker definitions;
        struct tape_maker tape;
        define_process(&definitions, p, 2);
        clock_points(&definitions, clocks[p], 2);
        definitions_write(&definitions, run.path);
        tape_begin(&tape, p, 0);
        tape_call(&tape, clocks[p][0].ticks + (p ? 400 : 100), 0, p ? 80 : 50);
        tape_write(&tape, run.path, 0);
    }
    run_open(run.path);
    struct same_sequence a = run_events(0), b = run_events(1);
    assert_int_equal(a.events[0].time, 0); /* 1100 ns is the first of all */
    assert_int_equal(a.events[0].duration, 50);
    assert_int_equal(b.events[0].time, 100); /* 1000 + 400 / 2 ns */
    assert_int_equal(b.events[0].duration, 40);
    assert_int_equal(run.trace->duration, 140);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_set_up, run_tear_down)

TEST_GROUP(test_tape_clock)
{
    const struct CMUnitTest tests[] = {
        TEST(test_clock),
        TEST(test_clock_is_monotonic_at_its_points),
        TEST(test_two_clocks),
    };
    return run_cases(tests, NULL, NULL);
}
