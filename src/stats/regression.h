/* SPDX-License-Identifier: BSD-3-Clause */
/* Least squares: sums of several columns, straight lines, and lines in pieces. */
#ifndef LULL_STATS_REGRESSION_H
#define LULL_STATS_REGRESSION_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== several columns ========================================================================= */

/* y = sum over j of coefficient j times column j. */

enum { LULL_FIT_COLUMNS = 8 }; /* at most */

struct lull_linear_fit {
    double coefficients[LULL_FIT_COLUMNS];
    /* The inverse of X'WX. Times the variance of a value of weight 1 it is the covariance matrix of
     * the coefficients. */
    double inverse[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS];
    double squares; /* sum of weight (y - fit)^2 */
};

/* Minimises the sum of weight * (y - fit)^2 over `count` points; NULL weights are all 1. `work` has
 * room for count * (n_columns + 1) values. Afterwards it holds n_columns orthonormal columns, and
 * behind them the residuals, each times sqrt(weight). The squares of the i-th values of these
 * columns add up to the leverage of point i. A fit without that point would leave it the residual
 * that it has here, divided by 1 - leverage.
 * Modified Gram-Schmidt, each column twice (Giraud, Langou, Rozloznik, "The loss of orthogonality",
 * 2005: twice is enough). Fails with LULL_ERR_RANGE for more columns than points or than
 * LULL_FIT_COLUMNS, and where a column is, up to rounding, a linear combination of others. */
lull_status lull_fit_linear(const double *const *columns, size_t n_columns, const double *y,
                            const double *weights, size_t count, double *work,
                            struct lull_linear_fit *ret_fit, struct lull_error *err);

/* ==== straight lines ========================================================================== */

struct lull_line {
    double intercept, slope;
    double intercept_error, slope_error; /* half widths of their confidence intervals; infinite for
                                            two points, which leave nothing to judge by */
    double residual; /* square root of the weighted sum of squares, divided by the degrees of
                        freedom (count - 2) */
    size_t count;
};

/* Least squares of weight * (y - intercept - slope x)^2. NULL weights are all 1; weight 1 / y^2
 * minimises relative errors. Weights are positive and finite. The intervals are Student's, with
 * count - 2 degrees of freedom. Fails with LULL_ERR_RANGE for fewer than two different x. */
lull_status lull_fit_line(const double *x, const double *y, const double *weights, size_t count,
                          double confidence, struct lull_line *ret_line, struct lull_error *err);

/* ==== lines in pieces ========================================================================= */

/* Points in order of x are divided into ranges, each of which has a line of its own. For example
 * the time of a message over its size has one line per protocol. */

struct lull_piece {
    size_t first, count; /* points of this piece */
    struct lull_line line;
};

struct lull_piece_limits {
    size_t most_pieces; /* >= 1 */
    size_t least_count; /* points in a piece, >= 2; 4 or more if the intervals are to mean much */
    double confidence;
    bool nonnegative; /* no line begins below 0: one that would do so goes through the origin. Its
                         errors follow from the distances of its points from it; intercept_error
                         says how far above 0 it could begin */
    double penalty;   /* factor of the term of the information criterion; 0 means 1 */
};

/* For each number of pieces k, dynamic programming finds the division with the smallest sum of
 * weighted squares S, exactly. The result is the one of these divisions with the smallest
 * information criterion n ln(S / n) + penalty (4 k - 2) ln n, for n points. The factor 4 k - 2
 * counts two parameters for each piece, intercept and slope, and two for each break, because the
 * breaks are searched for (Zhang and Siegmund, Biometrics 63, 2007, "modified BIC").
 * Pieces need not meet, because the times of protocols do not. A break lies between the last point
 * of a piece and the first of the next.
 * x ascends; weights are as in lull_fit_line. Time O(k count^2), memory O(k count) in `arena`,
 * where the result lives, too. Fails with LULL_ERR_RANGE where there are fewer points than
 * least_count, or x does not ascend. */
lull_status lull_fit_pieces(const double *x, const double *y, const double *weights, size_t count,
                            const struct lull_piece_limits *limits, struct lull_arena *arena,
                            struct lull_piece **ret_pieces, size_t *ret_count,
                            struct lull_error *err);

#endif
