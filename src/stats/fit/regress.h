/* Straight lines through points. */
#ifndef LULL_STATS_FIT_REGRESS_H
#define LULL_STATS_FIT_REGRESS_H

#include "base/error.h"

#include <stddef.h>

struct lull_line {
    double intercept, slope;
    double intercept_error, slope_error; /* half widths of their confidence intervals; infinite for
                                            two points, which leave nothing to judge by */
    double residual; /* square root of the weighted sum of squares per degree of freedom */
    size_t count;
};

/* Least squares of weight * (y - intercept - slope x)^2. NULL weights are all 1; weight 1 / y^2
 * minimises relative errors. Weights are positive and finite. The intervals are Student's, with
 * count - 2 degrees of freedom. Fails with LULL_ERR_RANGE for fewer than two different x. */
lull_status lull_fit_line(const double *x, const double *y, const double *weights, size_t count,
                          double confidence, struct lull_line *ret_line, struct lull_error *err);

#endif
