#include "stats/fit/regress.h"

#include "stats/special.h"

#include <math.h>

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
