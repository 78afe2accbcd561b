/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/network_fit.h"

#include "bench/number.h"
#include "bench/timing.h"
#include "stats/quantile.h"
#include "stats/regression.h"

#include <math.h>
#include <string.h>

enum { LEAST_POINTS = 4, MOST_PIECES = 3 };

#define FINEST \
    1e-6 /* of the time of a message: less is never resolved, however exact the times \
          */

/* ---- ranges ---------------------------------------------------------------------------------- */

struct fit {
    double x[256], y[256], weights[256];
    size_t count;
};

static void set_interval(struct lull_number *number, double low, double high)
{
    if (!isfinite(low) || !isfinite(high))
        return;
    number->low = low;
    number->high = high;
    number->confidence = LULL_BENCH_CONFIDENCE;
}

/* Sets a number that cannot be told from 0, of which only a bound is known. Its value is the
 * middle, which is wrong by the least. */
static void set_bound(struct lull_number *number, double bound)
{
    number->low = 0;
    number->high = bound;
    number->value = bound / 2;
    number->verdict = LULL_VERDICT_BELOW_RESOLUTION;
    number->note = "below resolution";
}

/* The latency of a line. `shortest`: the time that a message takes at least, of which the latency
 * is a part. */
static struct lull_number latency_of(const struct lull_line *line, double shortest)
{
    struct lull_number number = lull_number_plain(line->intercept, "s", "fit");
    double low = line->intercept - line->intercept_error;
    double high = line->intercept + line->intercept_error;
    set_interval(&number, fmax(0, low), high);
    if (!(low > FINEST * shortest))
        set_bound(&number, fmin(fmax(high, FINEST * shortest), shortest));
    return number;
}

/* The slope of the line through a piece that begins at `latency`. */
static double slope_from(const struct fit *fit, const struct lull_piece *piece, double latency)
{
    double xx = 0, xy = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        xx += fit->weights[i] * fit->x[i] * fit->x[i];
        xy += fit->weights[i] * fit->x[i] * (fit->y[i] - latency);
    }
    return xy / xx;
}

static double shortest_of(const struct fit *fit, const struct lull_piece *piece)
{
    double shortest = fit->y[piece->first];
    for (size_t i = 1; i < piece->count; i++)
        shortest = fmin(shortest, fit->y[piece->first + i]);
    return shortest;
}

static struct lull_number bandwidth_of(const struct lull_line *line, double shortest)
{
    struct lull_number number = lull_number_plain(NAN, "B/s", "fit");
    double slope = line->slope;
    if (!(slope > 0)) {
        slope = isfinite(line->slope_error) && line->slope_error > 0 ? line->slope_error
                                                                     : FINEST * shortest;
        number.note = "times do not grow with the size";
    }
    number.value = 1 / slope;
    if (line->slope - line->slope_error > 0)
        set_interval(&number, 1 / (slope + line->slope_error), 1 / (slope - line->slope_error));
    return number;
}

/* Fits the sizes from `from` to `to` (UINT64_MAX: to the end) in pieces. */
static lull_status fit_part(const struct lull_series_point *points, size_t count, uint64_t from,
                            uint64_t to, const char *protocol, struct lull_arena *arena,
                            struct lull_network_range *ranges, size_t *n_ranges,
                            struct lull_error *err)
{
    const struct lull_piece_limits limits = {.most_pieces = MOST_PIECES,
                                             .least_count = LEAST_POINTS,
                                             .confidence = LULL_BENCH_CONFIDENCE,
                                             .nonnegative = true};
    struct fit *fit = lull_arena_zero(arena, 1, sizeof *fit);
    for (size_t i = 0; i < count && fit->count < 256; i++) {
        if (points[i].x < (double)from || points[i].x > (double)to)
            continue;
        fit->x[fit->count] = points[i].x;
        fit->y[fit->count] = points[i].y;
        fit->weights[fit->count++] = 1 / (points[i].y * points[i].y);
    }
    struct lull_piece *pieces;
    size_t n;
    lull_status status =
        lull_fit_pieces(fit->x, fit->y, fit->weights, fit->count, &limits, arena, &pieces, &n, err);
    for (size_t i = 0; status == LULL_OK && i < n; i++) {
        struct lull_line line = pieces[i].line;
        uint64_t last = (uint64_t)fit->x[pieces[i].first + pieces[i].count - 1];
        struct lull_number latency = latency_of(&line, shortest_of(fit, &pieces[i]));
        if (latency.verdict == LULL_VERDICT_BELOW_RESOLUTION) {
            double steepest = slope_from(fit, &pieces[i], latency.low);
            double flattest = slope_from(fit, &pieces[i], latency.high);
            line.slope = slope_from(fit, &pieces[i], latency.value);
            line.slope_error = fmax(line.slope_error, (steepest - flattest) / 2);
        }
        ranges[*n_ranges] = (struct lull_network_range){from, i + 1 == n ? to : last, protocol,
                                                        latency, bandwidth_of(&line, fit->y[0])};
        from = ranges[(*n_ranges)++].to + 1;
    }
    return status;
}

/* Whether both sides of the limit have enough points for a line. */
static bool divides(const struct lull_series_point *points, size_t count, uint64_t limit)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        below += points[i].x <= (double)limit;
    return below >= LEAST_POINTS && count - below >= LEAST_POINTS;
}

lull_status lull_network_fit(const struct lull_series_point *points, size_t count, bool has_limit,
                             uint64_t limit, struct lull_arena *arena,
                             struct lull_network_range **ret_ranges, size_t *ret_count,
                             struct lull_error *err)
{
    struct lull_network_range *ranges =
        lull_arena_zero(arena, (size_t)2 * MOST_PIECES, sizeof *ranges);
    size_t n = 0;
    has_limit = has_limit && divides(points, count, limit);
    lull_status status = fit_part(points, count, 0, has_limit ? limit : UINT64_MAX,
                                  has_limit ? "eager" : NULL, arena, ranges, &n, err);
    if (status == LULL_OK && has_limit)
        status =
            fit_part(points, count, limit + 1, UINT64_MAX, "rendezvous", arena, ranges, &n, err);
    if (status != LULL_OK)
        return status;
    *ret_ranges = ranges;
    *ret_count = n;
    return LULL_OK;
}

/* ---- LogGP ----------------------------------------------------------------------------------- */

/* The median of the values. Where that is not above 0, the values are wrong by as much as they lie
 * below 0 or above; `most` is a bound that holds whatever they are. */
static struct lull_number median_of(double *values, size_t count, double precision, double most)
{
    struct lull_number number = lull_number_plain(NAN, "s", "median");
    bool sure = lull_number_of_visits(&number, values, count, precision, 0);
    number.verdict = sure ? LULL_VERDICT_QUIET : LULL_VERDICT_NOT_CONVERGED;
    if (number.value > 0) {
        number.low = fmax(0, number.low);
        return number;
    }
    double bound = fmax(fmax(-number.value, -number.low), number.high);
    set_bound(&number, bound > 0 ? fmin(bound, most) : most);
    return number;
}

void lull_loggp_of(const struct lull_loggp_rounds *rounds, struct lull_arena *arena,
                   struct lull_network_level *level)
{
    size_t n = rounds->rounds;
    double others = (double)(rounds->messages - 1);
    double *values = lull_arena_alloc(arena, 3 * (n + 1) * sizeof *values);
    double *overhead = values, *gap = values + n, *latency = values + 2 * n;
    level->overhead = level->gap = level->latency = lull_number_empty();
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        latency[i] = rounds->one[i] / 2;
        overhead[i] = (rounds->delayed[i] - rounds->one[i]) / others - rounds->delay[i];
        gap[i] = (rounds->burst[i] - rounds->one[i]) / others;
    }
    lull_sort(latency, n);
    double message = lull_median(latency, n);
    level->gap = median_of(gap, n, rounds->precision, message);
    level->overhead = median_of(overhead, n, rounds->precision, message / 2);
    double bound =
        level->overhead.verdict == LULL_VERDICT_BELOW_RESOLUTION ? level->overhead.high : 0;
    for (size_t i = 0; i < n; i++) {
        double o = (rounds->delayed[i] - rounds->one[i]) / others - rounds->delay[i];
        latency[i] = rounds->one[i] / 2 - (bound > 0 ? bound : 2 * fmax(0, o));
    }
    level->latency = median_of(latency, n, rounds->precision, message);
    if (level->latency.verdict != LULL_VERDICT_BELOW_RESOLUTION) {
        level->latency.low = fmax(0, level->latency.low - bound);
        level->latency.high += bound;
    }
}

double lull_gap_per_byte(const struct lull_series_point *points, size_t count)
{
    double xy = 0, xx = 0;
    for (size_t i = 1; i < count; i++) {
        double weight = 1 / (points[i].y * points[i].y), x = points[i].x - points[0].x;
        xy += weight * x * (points[i].y - points[0].y);
        xx += weight * x * x;
    }
    return xx > 0 && xy > 0 ? xy / xx : NAN;
}

double lull_overlap(double exchange, double compute, double both)
{
    double shorter = exchange < compute ? exchange : compute;
    if (!(exchange > 0 && compute > 0 && both > 0))
        return NAN;
    return fmin(1, fmax(0, (exchange + compute - both) / shorter));
}
