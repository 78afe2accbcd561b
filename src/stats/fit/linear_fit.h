/* Linear least squares with several columns: y = sum over j of coefficient j times column j. */
#ifndef LULL_STATS_FIT_LINEAR_FIT_H
#define LULL_STATS_FIT_LINEAR_FIT_H

#include "base/error.h"

#include <stddef.h>

enum { LULL_FIT_COLUMNS = 8 };

struct lull_linear_fit {
    double coefficients[LULL_FIT_COLUMNS];
    /* The inverse of X'WX: times the variance of a value of weight 1 it is the covariance of the
     * coefficients. */
    double inverse[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS];
    double squares; /* sum of weight (y - fit)^2 */
};

/* Minimises the sum of weight * (y - fit)^2 over `count` points; NULL weights are all 1. `work` has
 * room for count * (n_columns + 1) values. Afterwards it holds n_columns orthonormal columns, the
 * squares of whose i-th values add up to the leverage of point i, and behind them sqrt(weight)
 * times the residuals; the residual of a point in a fit without it is its own over 1 - leverage.
 * Modified Gram-Schmidt, each column twice (Giraud, Langou, Rozloznik, "The loss of orthogonality",
 * 2005: twice is enough). Fails with LULL_ERR_RANGE for more columns than points or than
 * LULL_FIT_COLUMNS, and where a column is a sum of others to rounding. */
lull_status lull_fit_linear(const double *const *columns, size_t n_columns, const double *y,
                            const double *weights, size_t count, double *work,
                            struct lull_linear_fit *ret_fit, struct lull_error *err);

#endif
