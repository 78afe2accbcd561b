/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/regression.h"

#include "stats/special.h"

#include <math.h>
#include <string.h>

/* ==== straight lines ========================================================================== */

/* Sums around the weighted means: two passes, because sizes and their squares span many orders. */
lull_status lull_fit_line(const double *x, const double *y, const double *weights, size_t count,
                          double confidence, struct lull_line *ret_line, struct lull_error *err)
{
    double total = 0, x_mean = 0, y_mean = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1;
        total += weight;
        x_mean += weight * x[i];
        y_mean += weight * y[i];
    }
    if (count >= 2) {
        x_mean /= total;
        y_mean /= total;
    }
    double xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = weights ? weights[i] : 1;
        xx += weight * (x[i] - x_mean) * (x[i] - x_mean);
        xy += weight * (x[i] - x_mean) * (y[i] - y_mean);
    }
    if (!(xx > 0))
        return lull_fail(err, LULL_ERR_RANGE, "a line needs points at two different places");

    struct lull_line line = {.slope = xy / xx, .count = count};
    line.intercept = y_mean - line.slope * x_mean;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double rest = (y[i] - y_mean) - line.slope * (x[i] - x_mean);
        squares += (weights ? weights[i] : 1) * rest * rest;
    }
    if (count == 2) {
        line.intercept_error = line.slope_error = INFINITY;
    } else {
        double freedom = (double)(count - 2);
        double t = lull_student_quantile(0.5 + confidence / 2, freedom);
        line.residual = sqrt(squares / freedom);
        line.slope_error = t * line.residual / sqrt(xx);
        line.intercept_error = t * line.residual * sqrt(1 / total + x_mean * x_mean / xx);
    }
    *ret_line = line;
    return LULL_OK;
}

/* ==== lines in pieces ========================================================================= */

struct search {
    const double *x, *y, *weights;
    size_t count, most, least;
    bool nonnegative;
    double *best;     /* best[k * (count + 1) + j]: k pieces for the first j points */
    size_t *break_at; /* likewise: the point at which the last of these pieces begins */
};

static size_t at(const struct search *search, size_t pieces, size_t end)
{
    return pieces * (search->count + 1) + end;
}

/* Weighted sums over the points of a line, around their means. */
struct sums {
    double total, x_mean, y_mean, xx, xy, yy;
};

/* West's update of means and sums for one more point. */
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

/* The sum of weighted squares that the best line leaves. */
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

/* Chooses the number of pieces. Sums of squares lose half of their digits; smaller ones are
 * rounding errors and count as equal, so that a perfect fit is not divided further. */
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

/* Replaces a line that would begin below 0 by one through the origin. The variance of its intercept
 * is residual^2 (1 / sum(w) + mean(x)^2 / sum(w (x - mean)^2)), as of any line, with its own
 * residual. */
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

/* ==== several columns ========================================================================= */

/* A column depends on others if no more than this share of its length is left without them. */
static const double nothing_left = 1e-13;

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Removes from `vector` its components along the first n columns, and adds their lengths to
 * `parts`. */
static void project_out(const double *columns, size_t n, size_t count, double *vector,
                        double *parts)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < n; j++) {
            const double *column = &columns[j * count];
            double part = dot(column, vector, count);
            parts[j] += part;
            for (size_t i = 0; i < count; i++)
                vector[i] -= part * column[i];
        }
}

/* inverse = R^-1 R^-T for the upper triangle R; coefficients = R^-1 parts. */
static void solve_triangle(double r[][LULL_FIT_COLUMNS], const double *parts, size_t n,
                           struct lull_linear_fit *fit)
{
    double root[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS] = {{0}}; /* R^-1 */
    for (size_t j = 0; j < n; j++) {
        root[j][j] = 1 / r[j][j];
        for (size_t i = j; i-- > 0;) {
            double sum = 0;
            for (size_t k = i + 1; k <= j; k++)
                sum += r[i][k] * root[k][j];
            root[i][j] = -sum / r[i][i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        double rest = parts[i];
        for (size_t k = i + 1; k < n; k++)
            rest -= r[i][k] * fit->coefficients[k];
        fit->coefficients[i] = rest / r[i][i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                fit->inverse[i][j] += root[i][k] * root[j][k];
}

lull_status lull_fit_linear(const double *const *columns, size_t n_columns, const double *y,
                            const double *weights, size_t count, double *work,
                            struct lull_linear_fit *ret_fit, struct lull_error *err)
{
    if (n_columns > count || n_columns > LULL_FIT_COLUMNS)
        return lull_fail(err, LULL_ERR_RANGE,
                         "a fit of %zu coefficients needs more than %zu points", n_columns, count);
    double r[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS] = {{0}};
    double *rest = &work[n_columns * count], parts[LULL_FIT_COLUMNS] = {0};
    for (size_t j = 0; j < n_columns; j++) {
        double *column = &work[j * count], along[LULL_FIT_COLUMNS] = {0};
        for (size_t i = 0; i < count; i++)
            column[i] = columns[j][i] * (weights ? sqrt(weights[i]) : 1);
        double whole = sqrt(dot(column, column, count));
        project_out(work, j, count, column, along);
        double left = sqrt(dot(column, column, count));
        if (!isfinite(whole) || !(left > nothing_left * whole))
            return lull_fail(err, LULL_ERR_RANGE, "the points do not tell the coefficients apart");
        for (size_t k = 0; k < j; k++)
            r[k][j] = along[k];
        r[j][j] = left;
        for (size_t i = 0; i < count; i++)
            column[i] /= left;
    }
    for (size_t i = 0; i < count; i++)
        rest[i] = y[i] * (weights ? sqrt(weights[i]) : 1);
    project_out(work, n_columns, count, rest, parts);
    *ret_fit = (struct lull_linear_fit){.squares = dot(rest, rest, count)};
    solve_triangle(r, parts, n_columns, ret_fit);
    return LULL_OK;
}
