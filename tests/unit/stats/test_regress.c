/* Lines and lines in pieces: planted parameters are found again. */
#include "stats/random.h"
#include "stats/regression.h"
#include "support/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static double normal(struct lull_random *random)
{
    double u = 1 - lull_random_uniform(random), v = lull_random_uniform(random);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Longley's data are hard; these are the first of NIST's: Norris, certified to 1e-12. */
static void test_norris(void **state)
{
    (void)state;
    static const double y[] = {0.1,   338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1,
                               778.9, 559.2, 0.3,   0.1,   778.1, 668.8, 339.3, 448.9, 10.8,
                               557.7, 228.3, 998.0, 888.8, 119.6, 0.3,   0.6,   557.6, 339.3,
                               888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2};
    static const double x[] = {0.2,   337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6,
                               777.0, 558.2, 0.4,   0.6,   775.5, 666.9, 338.0, 447.5, 11.6,
                               556.0, 228.1, 995.8, 887.6, 120.2, 0.3,   0.3,   556.8, 339.1,
                               887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5};
    struct lull_line line;
    assert_int_equal(lull_fit_line(x, y, NULL, 36, 0.95, &line, NULL), LULL_OK);
    assert_near(line.intercept, -0.262323073774029, 1e-11);
    assert_near(line.slope, 1.00211681802045, 1e-13);
    assert_near(line.residual, 0.884796396144373, 1e-11);
    /* Certified standard errors, times Student's 2.0322445 for 34 degrees of freedom. */
    assert_near(line.intercept_error, 0.232818234301152 * 2.0322445, 1e-7);
    assert_near(line.slope_error, 0.429796848199937E-03 * 2.0322445, 1e-9);
}

static void test_degenerate(void **state)
{
    (void)state;
    static const double same[] = {2, 2, 2}, two[] = {1, 2}, y[] = {3, 5, 7};
    struct lull_line line;
    struct lull_error err;
    assert_int_equal(lull_fit_line(same, y, NULL, 3, 0.95, &line, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_fit_line(two, y, NULL, 1, 0.95, &line, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_fit_line(two, y, NULL, 0, 0.95, &line, &err), LULL_ERR_RANGE);
    assert_int_equal(lull_fit_line(two, y, NULL, 2, 0.95, &line, &err), LULL_OK);
    assert_near(line.slope, 2, 1e-15);
    assert_near(line.intercept, 1, 1e-15);
    assert_true(isinf(line.slope_error));
}

/* A weight of k is the same as k equal points. */
static void test_weights(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3}, y[] = {0, 1.5, 1.5, 4}, weights[] = {1, 2, 1, 3};
    static const double long_x[] = {0, 1, 1, 2, 3, 3, 3}, long_y[] = {0, 1.5, 1.5, 1.5, 4, 4, 4};
    struct lull_line a, b;
    assert_int_equal(lull_fit_line(x, y, weights, 4, 0.95, &a, NULL), LULL_OK);
    assert_int_equal(lull_fit_line(long_x, long_y, NULL, 7, 0.95, &b, NULL), LULL_OK);
    assert_near(a.slope, b.slope, 1e-14);
    assert_near(a.intercept, b.intercept, 1e-14);
}

/* Latency and bandwidth of a network, 1 % noise: 95 % of the intervals hold what was planted. */
static void test_line_coverage(void **state)
{
    (void)state;
    enum { TRIALS = 4000, POINTS = 20 };
    struct lull_random random;
    lull_random_seed(&random, 7);
    size_t latency_hits = 0, bandwidth_hits = 0;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        double x[POINTS], y[POINTS], weights[POINTS];
        for (size_t i = 0; i < POINTS; i++) {
            x[i] = 1024.0 * (double)i;
            double truth = 2e-6 + x[i] / 5e9;
            y[i] = truth * (1 + 0.01 * normal(&random));
            weights[i] = 1 / (truth * truth);
        }
        struct lull_line line;
        assert_int_equal(lull_fit_line(x, y, weights, POINTS, 0.95, &line, NULL), LULL_OK);
        latency_hits += fabs(line.intercept - 2e-6) <= line.intercept_error;
        bandwidth_hits += fabs(line.slope - 1 / 5e9) <= line.slope_error;
    }
    double sd = sqrt(0.95 * 0.05 / TRIALS);
    assert_near((double)latency_hits / TRIALS, 0.95, 5 * sd);
    assert_near((double)bandwidth_hits / TRIALS, 0.95, 5 * sd);
}

struct protocol {
    double to, latency, bandwidth;
};

/* Ping-pong times at powers of two and between, with relative noise. */
static size_t ping_pong(const struct protocol *protocols, double noise, struct lull_random *random,
                        double *x, double *y, double *weights)
{
    size_t count = 0, in = 0;
    for (double size = 1; size <= 4 << 20; size *= 2) {
        for (int half = 0; half < 2; half++) {
            x[count] = half ? floor(size * 1.5) : size;
            if (half && x[count] <= size)
                continue;
            while (x[count] > protocols[in].to)
                in++;
            y[count] = protocols[in].latency + x[count] / protocols[in].bandwidth;
            y[count] *= 1 + noise * normal(random);
            weights[count] = 1 / (y[count] * y[count]);
            count++;
        }
    }
    return count;
}

static void test_break_points(void **state)
{
    (void)state;
    static const struct protocol protocols[] = {
        {4096, 0.5e-6, 4e9}, {65536, 2e-6, 6e9}, {INFINITY, 20e-6, 11e9}};
    static const struct lull_piece_limits limits = {
        .most_pieces = 6, .least_count = 4, .confidence = 0.99};
    struct lull_random random;
    lull_random_seed(&random, 3);
    size_t right = 0;
    for (int trial = 0; trial < 100; trial++) {
        double x[64], y[64], weights[64];
        size_t count = ping_pong(protocols, trial ? 0.01 : 0, &random, x, y, weights);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_piece *pieces;
        size_t found;
        assert_int_equal(
            lull_fit_pieces(x, y, weights, count, &limits, arena, &pieces, &found, NULL), LULL_OK);
        assert_true(found >= 3 && (found == 3 || trial > 0));
        right += found == 3;
        for (size_t k = 0; found == 3 && k < 3; k++) {
            const struct lull_piece *piece = &pieces[k];
            assert_int_equal(piece->first, k ? pieces[k - 1].first + pieces[k - 1].count : 0);
            assert_true(x[piece->first + piece->count - 1] <= protocols[k].to);
            if (k < 2)
                assert_true(x[piece->first + piece->count] > protocols[k].to);
            assert_near(piece->line.intercept / protocols[k].latency, 1, 0.2);
            assert_near(piece->line.slope * protocols[k].bandwidth, 1, 0.1);
        }
        lull_arena_destroy(arena);
    }
    assert_true(right >= 95);
}

/* Relative squares that the best line leaves which does not begin below 0, from the normal
 * equations. */
static double slow_squares(const double *x, const double *y, size_t from, size_t end)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, squares = 0;
    for (size_t i = from; i < end; i++) {
        double weight = 1 / (y[i] * y[i]);
        w += weight, wx += weight * x[i], wy += weight * y[i];
        wxx += weight * x[i] * x[i], wxy += weight * x[i] * y[i];
    }
    double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx), intercept = (wy - slope * wx) / w;
    if (intercept < 0) {
        slope = wxy / wxx;
        intercept = 0;
    }
    for (size_t i = from; i < end; i++) {
        double error = 1 - (intercept + slope * x[i]) / y[i];
        squares += error * error;
    }
    return squares;
}

/* Times that grow faster than their sizes: every division into three is tried, and none of those
 * whose lines do not begin below 0 is better. */
static void test_nonnegative(void **state)
{
    (void)state;
    enum { COUNT = 14, LEAST = 3 };
    static const struct lull_piece_limits limits = {.most_pieces = 3,
                                                    .least_count = LEAST,
                                                    .confidence = 0.95,
                                                    .nonnegative = true,
                                                    .penalty = 1e-9};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_random random;
    lull_random_seed(&random, 8);
    for (int trial = 0; trial < 50; trial++) {
        double x[COUNT], y[COUNT], weights[COUNT], best = INFINITY, found = 0;
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = (double)(i + 1);
            y[i] = (1 + pow(x[i], 1.7)) * (1 + 0.1 * lull_random_uniform(&random));
            weights[i] = 1 / (y[i] * y[i]);
        }
        for (size_t a = LEAST; a + 2 * LEAST <= COUNT; a++)
            for (size_t b = a + LEAST; b + LEAST <= COUNT; b++)
                best = fmin(best, slow_squares(x, y, 0, a) + slow_squares(x, y, a, b) +
                                      slow_squares(x, y, b, COUNT));
        struct lull_piece *pieces;
        size_t count;
        assert_int_equal(
            lull_fit_pieces(x, y, weights, COUNT, &limits, arena, &pieces, &count, NULL), LULL_OK);
        assert_int_equal(count, 3);
        for (size_t k = 0; k < count; k++) {
            const struct lull_line *line = &pieces[k].line;
            assert_true(line->intercept >= 0);
            assert_true(line->intercept > 0 || line->intercept_error > 0);
            for (size_t i = pieces[k].first; i < pieces[k].first + pieces[k].count; i++)
                found += pow(1 - (line->intercept + line->slope * x[i]) / y[i], 2);
        }
        assert_near(found / best, 1, 1e-9);
    }
    lull_arena_destroy(arena);
}

/* Points around a line through the origin: where the best line would begin below 0, how far above 0
 * it could begin is what it could be off by, as for a line that is free to begin anywhere. Of that,
 * least squares say the same but for the estimate of the noise, which many points make alike. */
static void test_error_at_origin(void **state)
{
    (void)state;
    enum { COUNT = 400, TRIALS = 60 };
    static const struct lull_piece_limits limits = {
        .most_pieces = 1, .least_count = 4, .confidence = 0.95, .nonnegative = true};
    struct lull_random random;
    unsigned at_origin = 0;
    lull_random_seed(&random, 31);
    for (int trial = 0; trial < TRIALS; trial++) {
        double x[COUNT], y[COUNT], weights[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = (double)(i + 10);
            y[i] = 3 * x[i] * (1 + 0.1 * (2 * lull_random_uniform(&random) - 1));
            weights[i] = 1 / (x[i] * x[i]);
        }
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_piece *pieces;
        struct lull_line line;
        size_t count;
        assert_int_equal(lull_fit_line(x, y, weights, COUNT, 0.95, &line, NULL), LULL_OK);
        assert_int_equal(
            lull_fit_pieces(x, y, weights, COUNT, &limits, arena, &pieces, &count, NULL), LULL_OK);
        if (line.intercept < 0) {
            at_origin++;
            assert_true(pieces[0].line.intercept == 0);
            assert_near(pieces[0].line.intercept_error / line.intercept_error, 1, 0.02);
            assert_near(pieces[0].line.slope / 3, 1, 0.02);
            assert_true(pieces[0].line.slope_error < line.slope_error); /* one parameter less */
        }
        lull_arena_destroy(arena);
    }
    assert_in_range(at_origin, TRIALS / 4, 3 * TRIALS / 4);
}

/* One protocol, exactly or with noise, stays in one piece. */
static void test_no_break(void **state)
{
    (void)state;
    static const struct protocol one[] = {{INFINITY, 1e-6, 5e9}};
    static const struct lull_piece_limits limits = {
        .most_pieces = 6, .least_count = 4, .confidence = 0.95};
    struct lull_random random;
    lull_random_seed(&random, 11);
    size_t whole = 0;
    for (int trial = 0; trial < 200; trial++) {
        double x[64], y[64], weights[64];
        size_t count = ping_pong(one, trial ? 0.02 : 0, &random, x, y, weights);
        struct lull_arena *arena = lull_arena_create(NULL);
        struct lull_piece *pieces;
        size_t found;
        assert_int_equal(
            lull_fit_pieces(x, y, weights, count, &limits, arena, &pieces, &found, NULL), LULL_OK);
        whole += found == 1;
        if (trial == 0)
            assert_int_equal(found, 1);
        lull_arena_destroy(arena);
    }
    assert_true(whole >= 190);
}

static void test_bad_points(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
    static const struct lull_piece_limits limits = {
        .most_pieces = 2, .least_count = 2, .confidence = 0.95};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_piece *pieces;
    size_t found;
    struct lull_error err;
    assert_int_equal(lull_fit_pieces(x, y, NULL, 4, &limits, arena, &pieces, &found, &err),
                     LULL_ERR_RANGE);
    assert_int_equal(lull_fit_pieces(x, y, NULL, 1, &limits, arena, &pieces, &found, &err),
                     LULL_ERR_RANGE);
    lull_arena_destroy(arena);
}

TEST_GROUP(test_regress)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norris),       cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_weights),      cmocka_unit_test(test_line_coverage),
        cmocka_unit_test(test_break_points), cmocka_unit_test(test_no_break),
        cmocka_unit_test(test_nonnegative),  cmocka_unit_test(test_error_at_origin),
        cmocka_unit_test(test_bad_points),
    };
    return run_cases(tests, NULL, NULL);
}
