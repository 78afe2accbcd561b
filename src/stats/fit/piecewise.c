#include "stats/fit/piecewise.h"

#include "stats/special.h"

#include <math.h>
#include <string.h>

struct search {
    const double *x, *y, *weights;
    size_t count, most, least;
    bool nonnegative;
    double *best;     /* best[k * (count + 1) + j]: k pieces for the first j points */
    size_t *break_at; /* where the last of them begins */
};

static size_t at(const struct search *search, size_t pieces, size_t end)
{
    return pieces * (search->count + 1) + end;
}

/* Of the points of a line, around their means. */
struct sums {
    double total, x_mean, y_mean, xx, xy, yy;
};

/* West's update. */
static void add_point(struct sums *sums, double x, double y, double weight)
{
    double dx = x - sums->x_mean, dy = y - sums->y_mean;
    sums->total += weight;
    sums->x_mean += dx * weight / sums->total;
    sums->y_mean += dy * weight / sums->total;
    sums->xx += weight * dx * (x - sums->x_mean);
    sums->xy += weight * dx * (y - sums->y_mean);
    sums->yy += weight * dy * (y - sums->y_mean);
}

/* What the best line leaves. */
static double squares_of(const struct sums *sums, bool nonnegative)
{
    double slope = sums->xx > 0 ? sums->xy / sums->xx : 0;
    if (!nonnegative || sums->y_mean >= slope * sums->x_mean)
        return fmax(sums->yy - slope * sums->xy, 0);
    double xx = sums->xx + sums->total * sums->x_mean * sums->x_mean;
    double xy = sums->xy + sums->total * sums->x_mean * sums->y_mean;
    double yy = sums->yy + sums->total * sums->y_mean * sums->y_mean;
    return fmax(yy - xy * xy / xx, 0);
}

/* Extends a line that begins at point `first` point by point, and offers it as the last piece of
 * every division that ends there. */
static void offer_lines_from(struct search *search, size_t first)
{
    struct sums sums = {0};
    for (size_t i = first; i < search->count; i++) {
        add_point(&sums, search->x[i], search->y[i], search->weights ? search->weights[i] : 1);
        if (i + 1 - first < search->least)
            continue;
        double squares = squares_of(&sums, search->nonnegative);
        for (size_t k = 1; k <= search->most; k++) {
            double sum = search->best[at(search, k - 1, first)] + squares;
            if (sum < search->best[at(search, k, i + 1)]) {
                search->best[at(search, k, i + 1)] = sum;
                search->break_at[at(search, k, i + 1)] = first;
            }
        }
    }
}

/* Squares that are rounding errors (sums of squares lose half of the digits) are all alike, so that
 * a perfect fit is not cut up further. */
static size_t choose_count(const struct search *search, double penalty)
{
    double floor = 0, n = (double)search->count;
    for (size_t i = 0; i < search->count; i++)
        floor += (search->weights ? search->weights[i] : 1) * search->y[i] * search->y[i];
    floor = fmax(floor * 1e-12, 1e-300);
    size_t chosen = 1;
    double smallest = INFINITY;
    for (size_t k = 1; k <= search->most; k++) {
        double squares = search->best[at(search, k, search->count)];
        if (!isfinite(squares))
            continue;
        double criterion =
            n * log(fmax(squares, floor) / n) + penalty * (4 * (double)k - 2) * log(n);
        if (criterion < smallest) {
            smallest = criterion;
            chosen = k;
        }
    }
    return chosen;
}

static lull_status check(const double *x, size_t count, size_t least, struct lull_error *err)
{
    if (count < least)
        return lull_fail(err, LULL_ERR_RANGE, "%zu points are too few, expected %zu or more", count,
                         least);
    for (size_t i = 1; i < count; i++)
        if (!(x[i] > x[i - 1]))
            return lull_fail(err, LULL_ERR_RANGE, "point %zu does not lie behind the one before it",
                             i);
    return LULL_OK;
}

/* In place of a line that would begin below 0. The variance of an intercept is that of any line,
 * residual^2 (1 / sum(w) + mean(x)^2 / sum(w (x - mean)^2)), with the residual of this one. */
static void through_origin(const struct search *search, double confidence, struct lull_piece *piece)
{
    struct sums sums = {0};
    double xx = 0, xy = 0, squares = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        double weight = search->weights ? search->weights[i] : 1;
        add_point(&sums, search->x[i], search->y[i], weight);
        xx += weight * search->x[i] * search->x[i];
        xy += weight * search->x[i] * search->y[i];
    }
    struct lull_line *line = &piece->line;
    line->intercept = 0;
    line->slope = xy / xx;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        double rest = search->y[i] - line->slope * search->x[i];
        squares += (search->weights ? search->weights[i] : 1) * rest * rest;
    }
    double freedom = (double)(piece->count - 1);
    double t = lull_student_quantile(0.5 + confidence / 2, freedom);
    line->residual = sqrt(squares / freedom);
    line->slope_error = t * line->residual / sqrt(xx);
    line->intercept_error =
        t * line->residual * sqrt(1 / sums.total + sums.x_mean * sums.x_mean / sums.xx);
}

lull_status lull_fit_pieces(const double *x, const double *y, const double *weights, size_t count,
                            const struct lull_piece_limits *limits, struct lull_arena *arena,
                            struct lull_piece **ret_pieces, size_t *ret_count,
                            struct lull_error *err)
{
    size_t least = limits->least_count < 2 ? 2 : limits->least_count;
    lull_status status = check(x, count, least, err);
    if (status != LULL_OK)
        return status;
    struct search search = {.x = x,
                            .y = y,
                            .weights = weights,
                            .count = count,
                            .most = limits->most_pieces,
                            .least = least,
                            .nonnegative = limits->nonnegative};
    size_t cells = (search.most + 1) * (count + 1);
    search.best = lull_arena_alloc(arena, cells * sizeof *search.best);
    search.break_at = lull_arena_zero(arena, cells, sizeof *search.break_at);
    for (size_t i = 0; i < cells; i++)
        search.best[i] = INFINITY;
    search.best[at(&search, 0, 0)] = 0;
    for (size_t first = 0; first + least <= count; first++)
        offer_lines_from(&search, first);

    size_t chosen = choose_count(&search, limits->penalty > 0 ? limits->penalty : 1);
    struct lull_piece *pieces = lull_arena_zero(arena, chosen, sizeof *pieces);
    size_t end = count;
    for (size_t k = chosen; k > 0; k--) {
        struct lull_piece *piece = &pieces[k - 1];
        piece->first = search.break_at[at(&search, k, end)];
        piece->count = end - piece->first;
        end = piece->first;
        status = lull_fit_line(&x[piece->first], &y[piece->first],
                               weights ? &weights[piece->first] : NULL, piece->count,
                               limits->confidence, &piece->line, err);
        if (status != LULL_OK)
            return status;
        if (limits->nonnegative && piece->line.intercept < 0)
            through_origin(&search, limits->confidence, piece);
    }
    *ret_pieces = pieces;
    *ret_count = chosen;
    return LULL_OK;
}
