/* Lines in pieces: points in order of x, divided into ranges with a line of their own each, as the
 * time of a message over its size has one line per protocol. */
#ifndef LULL_STATS_FIT_PIECEWISE_H
#define LULL_STATS_FIT_PIECEWISE_H

#include "base/arena.h"
#include "stats/fit/regress.h"

#include <stdbool.h>

struct lull_piece {
    size_t first, count; /* points of this piece */
    struct lull_line line;
};

struct lull_piece_limits {
    size_t most_pieces; /* >= 1 */
    size_t least_count; /* points in a piece, >= 2; 4 or more if the intervals are to mean much */
    double confidence;
    bool nonnegative; /* no line begins below 0: one that would goes through the origin. Its errors
                         are those of a line with what its points differ from it by:
                         intercept_error is how much above 0 it could begin. */
    double penalty;   /* times the term of the information criterion; 0 means 1 */
};

/* The division of smallest sum of weighted squares S for each number of pieces (dynamic programming
 * over all break points, exact), and among these the one of smallest information criterion,
 * n ln(S / n) + penalty (4 k - 2) ln n for k pieces: intercept and slope of each, and two for each
 * break, because breaks are searched for (Zhang and Siegmund, Biometrics 63, 2007, "modified BIC").
 * Pieces need not meet: protocols do not. A break lies between the last point of a piece and the
 * first of the next.
 * x ascending, weights as in lull_fit_line. Time O(k count^2), memory O(k count) in `arena`, where
 * the result lives too. Fails with LULL_ERR_RANGE where there are fewer points than least_count, or
 * x does not ascend. */
lull_status lull_fit_pieces(const double *x, const double *y, const double *weights, size_t count,
                            const struct lull_piece_limits *limits, struct lull_arena *arena,
                            struct lull_piece **ret_pieces, size_t *ret_count,
                            struct lull_error *err);

#endif
