/* Fits of messages: planted latencies, bandwidths, protocols and LogGP parameters come back. */
#include "bench/network_fit.h"
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { POINTS = 35 };

static bool near(double value, double expected, double error)
{
    return fabs(value - expected) <= error * fabs(expected);
}

/* The sizes of the helper; times of an eager protocol up to the limit and of another beyond, each
 * disturbed by up to `noise`. */
static size_t plant(struct lull_series_point *points, double limit, double noise)
{
    struct lull_random random;
    lull_random_seed(&random, 11);
    size_t count = 0;
    points[count++].x = 0;
    for (double bytes = 1; bytes <= 1 << 22; bytes *= 2) {
        points[count++].x = bytes;
        if (bytes >= 1024 && bytes < 1 << 20)
            points[count++].x = 1.5 * bytes;
    }
    for (size_t i = 0; i < count; i++) {
        double x = points[i].x;
        double y = x <= limit ? 3e-7 + x / 4e9 : 1.5e-6 + x / 12e9;
        points[i].y = y * (1 + noise * lull_random_uniform(&random));
    }
    return count;
}

static void test_known_limit(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_series_point points[64] = {{0}};
    struct lull_network_range *ranges;
    size_t n, count = plant(points, 4000, 0.01);
    assert_int_equal(lull_network_fit(points, count, true, 4000, arena, &ranges, &n, NULL),
                     LULL_OK);
    assert_int_equal(n, 2);
    assert_true(ranges[0].from == 0 && ranges[0].to == 4000);
    assert_true(ranges[1].from == 4001 && ranges[1].to == UINT64_MAX);
    assert_string_equal(ranges[0].protocol, "eager");
    assert_string_equal(ranges[1].protocol, "rendezvous");
    assert_true(near(ranges[0].latency.value, 3e-7, 0.02));
    assert_true(near(ranges[0].bandwidth.value, 4e9, 0.05));
    assert_true(near(ranges[1].latency.value, 1.5e-6, 0.03));
    assert_true(near(ranges[1].bandwidth.value, 12e9, 0.02));
    for (size_t i = 0; i < n; i++) {
        const struct lull_number *latency = &ranges[i].latency;
        assert_true(latency->low <= latency->value && latency->value <= latency->high);
    }
    lull_arena_destroy(arena);
}

/* Nothing is known of protocols: the break comes from the times alone. */
static void test_found_break(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_series_point points[64] = {{0}};
    struct lull_network_range *ranges;
    size_t n, count = plant(points, 8192, 0.01);
    assert_int_equal(lull_network_fit(points, count, false, 0, arena, &ranges, &n, NULL), LULL_OK);
    assert_int_equal(n, 2);
    assert_int_equal(ranges[0].to, 8192);
    assert_int_equal(ranges[1].from, 8193);
    assert_null(ranges[0].protocol);
    /* A limit with too few points beyond it is no help. */
    assert_int_equal(lull_network_fit(points, count, true, 1 << 21, arena, &ranges, &n, NULL),
                     LULL_OK);
    assert_int_equal(n, 2);
    assert_int_equal(ranges[0].to, 8192);
    lull_arena_destroy(arena);
}

static void test_odd_times(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_series_point points[8];
    struct lull_network_range *ranges;
    struct lull_error err;
    size_t n;
    for (int i = 0; i < 8; i++) /* larger messages take less */
        points[i] = (struct lull_series_point){i, 1e-6 * (1 - 0.01 * i), NAN, NAN};
    assert_int_equal(lull_network_fit(points, 8, false, 0, arena, &ranges, &n, NULL), LULL_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(ranges[i].bandwidth.value > 0 && isfinite(ranges[i].bandwidth.value));
        assert_string_equal(ranges[i].bandwidth.note, "times do not grow with the size");
    }
    for (int i = 0; i < 8; i++) /* a line that would begin below 0 */
        points[i] = (struct lull_series_point){i + 1, 1e-6 * (i + 0.5), NAN, NAN};
    assert_int_equal(lull_network_fit(points, 8, false, 0, arena, &ranges, &n, NULL), LULL_OK);
    assert_true(ranges[0].latency.value > 0 && ranges[0].latency.low == 0);
    assert_true(ranges[0].latency.high <= 5e-7); /* no more than the shortest message takes */
    assert_true(ranges[0].bandwidth.value > 0);
    assert_int_equal(lull_network_fit(points, 3, false, 0, arena, &ranges, &n, &err),
                     LULL_ERR_RANGE);
    lull_arena_destroy(arena);
}

/* Large messages whose latency disappears in the noise of their times: whatever a machine measures,
 * the latency is a number above 0 with a bound that holds the planted one, and the line stays near
 * the planted times. Of 200 draws all but a few hold it: the interval is one of 95 %. */
static void check_small_latency(double planted, double noise)
{
    enum { DRAWS = 200, SIZES = 13 };
    unsigned held = 0, bounded = 0;
    struct lull_random random;
    lull_random_seed(&random, 23);
    for (int draw = 0; draw < DRAWS; draw++) {
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_series_point points[SIZES];
        struct lull_network_range *ranges;
        double shortest = INFINITY;
        size_t n;
        for (int i = 0; i < SIZES; i++) {
            double x = 65536 * pow(2, 0.5 * i), error = 2 * lull_random_uniform(&random) - 1;
            points[i] = (struct lull_series_point){
                floor(x), (planted + floor(x) / 1e10) * (1 + noise * error), NAN, NAN};
            shortest = fmin(shortest, points[i].y);
        }
        assert_int_equal(lull_network_fit(points, SIZES, false, 0, arena, &ranges, &n, NULL),
                         LULL_OK);
        const struct lull_number *latency = &ranges[0].latency;
        assert_true(latency->value > 0);
        assert_true(latency->low >= 0 && latency->low < latency->value);
        assert_true(latency->value < latency->high);
        held += latency->low <= planted && planted <= latency->high;
        if (latency->low == 0) {
            bounded++;
            assert_int_equal(latency->verdict, LULL_VERDICT_BELOW_RESOLUTION);
            assert_string_equal(latency->note, "below resolution");
            assert_true(latency->high <= shortest);
        }
        for (int i = 0; n == 1 && i < SIZES; i++)
            assert_true(near(latency->value + points[i].x / ranges[0].bandwidth.value,
                             planted + points[i].x / 1e10, 2 * noise));
        lull_arena_destroy(arena);
    }
    assert_true(held >= DRAWS * 9 / 10);
    assert_true(bounded >= DRAWS * 8 / 10);
}

static void test_latency_below_resolution(void **state)
{
    (void)state;
    check_small_latency(0, 0.05);
    check_small_latency(2e-8, 0.05); /* of 6.6 us that the smallest message takes */
    check_small_latency(2e-8, 0.01);
    check_small_latency(0, 0.2);
}

/* Small messages without, large ones with a latency: each range says for itself what it resolves.
 */
static void test_one_range_below_resolution(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_series_point points[16];
    struct lull_network_range *ranges;
    size_t n;
    for (int i = 0; i < 16; i++) { /* exactly; odd times a little more, even ones a little less */
        double x = pow(2, 8 + i);
        points[i] = (struct lull_series_point){
            x, x <= 32768 ? 4e-7 + x / 1e10 : x / 2e10 * (i % 2 ? 1.02 : 0.98), NAN, NAN};
    }
    assert_int_equal(lull_network_fit(points, 16, true, 32768, arena, &ranges, &n, NULL), LULL_OK);
    assert_int_equal(n, 2);
    assert_true(near(ranges[0].latency.value, 4e-7, 1e-9));
    assert_true(near(ranges[0].bandwidth.value, 1e10, 1e-9));
    assert_true(ranges[0].latency.verdict != LULL_VERDICT_BELOW_RESOLUTION);
    assert_int_equal(ranges[1].latency.verdict, LULL_VERDICT_BELOW_RESOLUTION);
    assert_true(ranges[1].latency.low == 0 && ranges[1].latency.value > 0);
    assert_true(ranges[1].latency.high <= 65536 / 2e10);
    assert_true(near(ranges[1].bandwidth.value, 2e10, 0.05));
    lull_arena_destroy(arena);
}

/* Round trips made of planted parameters, one of seven rounds far off. */
static void test_loggp(void **state)
{
    (void)state;
    struct lull_arena *arena = lull_arena_create(NULL);
    enum { ROUNDS = 7, N = 16 };
    const double L = 2e-7, o = 4e-8, g = 9e-8, d = 2e-6;
    double one[ROUNDS], burst[ROUNDS], delayed[ROUNDS], delay[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double worse = i == 3 ? 10 : 1;
        one[i] = 2 * (L + 2 * o) * worse;
        burst[i] = one[i] + (N - 1) * g;
        delayed[i] = one[i] + (N - 1) * (o + d) * worse;
        delay[i] = d;
    }
    const struct lull_loggp_rounds rounds = {one, burst, delayed, delay, ROUNDS, N, 0.01};
    struct lull_network_level level;
    lull_loggp_of(&rounds, arena, &level);
    assert_true(near(level.latency.value, L, 1e-9));
    assert_true(near(level.overhead.value, o, 1e-9));
    assert_true(near(level.gap.value, g, 1e-9));
    assert_true(near(level.latency.confidence, 6.0 / 8, 1e-12));
    assert_int_equal(level.gap.rounds, ROUNDS);
    assert_int_equal(level.gap.verdict, LULL_VERDICT_QUIET);
    one[0] *= 1.1; /* two of seven: the interval becomes wide */
    lull_loggp_of(&rounds, arena, &level);
    assert_int_equal(level.latency.verdict, LULL_VERDICT_NOT_CONVERGED);
    one[0] /= 1.1;

    for (int i = 0; i < ROUNDS; i++) /* quicker with delays than without: noise, not a parameter */
        delayed[i] = one[i] + (N - 1) * (d - 1e-9);
    lull_loggp_of(&rounds, arena, &level);
    assert_true(level.overhead.value > 0 && level.overhead.low == 0);
    assert_true(near(level.overhead.high, 1e-9, 1e-6)); /* they were wrong by so much at least */
    assert_int_equal(level.overhead.verdict, LULL_VERDICT_BELOW_RESOLUTION);
    assert_string_equal(level.overhead.note, "below resolution");
    assert_true(near(level.latency.value + 2 * level.overhead.value, L + 2 * o, 1e-9));
    assert_true(level.latency.low <= L + 2 * o && L + 2 * o <= level.latency.high * (1 + 1e-9));
    for (int i = 0; i < ROUNDS; i++) /* overheads that hide the latency: one / 2 - 2 o < 0 */
        delayed[i] = one[i] + (N - 1) * (d + (L + 2 * o) * (0.55 + 0.01 * i));
    lull_loggp_of(&rounds, arena, &level);
    assert_true(level.latency.value > 0 && level.latency.low == 0);
    assert_true(level.latency.high <= (L + 2 * o) * (1 + 1e-9)); /* a message takes no less */
    assert_int_equal(level.latency.verdict, LULL_VERDICT_BELOW_RESOLUTION);
    assert_true(near(level.gap.value, g, 1e-9));
    for (int i = 0; i < ROUNDS; i++) { /* nothing can be told at all */
        burst[i] = delayed[i] = one[i] = 1e-6;
        delay[i] = 0;
    }
    lull_loggp_of(&rounds, arena, &level);
    assert_true(level.gap.value > 0 && level.gap.high <= 5e-7);
    assert_true(level.overhead.value > 0 && level.overhead.high <= 5e-7);
    assert_true(level.latency.value > 0 && level.latency.high <= 5e-7 * (1 + 1e-9));
    const struct lull_loggp_rounds none = {.rounds = 0, .messages = N};
    lull_loggp_of(&none, arena, &level);
    assert_true(isnan(level.latency.value));
    lull_arena_destroy(arena);
}

static void test_gap_per_byte(void **state)
{
    (void)state;
    struct lull_series_point points[POINTS];
    for (int i = 0; i < POINTS; i++)
        points[i] = (struct lull_series_point){1000.0 * i, 5e-7 + 1000.0 * i * 8e-11, NAN, NAN};
    assert_true(near(lull_gap_per_byte(points, POINTS), 8e-11, 1e-9));
    assert_true(isnan(lull_gap_per_byte(points, 1)));
}

static void test_overlap(void **state)
{
    (void)state;
    assert_true(near(lull_overlap(10, 10, 10), 1, 1e-12));
    assert_true(lull_overlap(10, 10, 20) == 0);
    assert_true(near(lull_overlap(10, 20, 25), 0.5, 1e-12));
    assert_true(lull_overlap(10, 10, 23) == 0);
    assert_true(lull_overlap(10, 10, 9) == 1);
    assert_true(isnan(lull_overlap(NAN, 1, 1)));
}

TEST_GROUP(test_mpi_network)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_limit),
                                       cmocka_unit_test(test_found_break),
                                       cmocka_unit_test(test_odd_times),
                                       cmocka_unit_test(test_loggp),
                                       cmocka_unit_test(test_latency_below_resolution),
                                       cmocka_unit_test(test_one_range_below_resolution),
                                       cmocka_unit_test(test_gap_per_byte),
                                       cmocka_unit_test(test_overlap)};
    return run_cases(tests, NULL, NULL);
}
