/* SPDX-License-Identifier: BSD-3-Clause */
/* Calibration: finds the values of a program model's free parameters with which its terms come
 * nearest to measured times. */
#ifndef LULL_MODEL_PROGRAM_CALIBRATE_H
#define LULL_MODEL_PROGRAM_CALIBRATE_H

#include "model/program/program_model.h"

enum { LULL_CALIBRATE_MOST = 8 }; /* the most free parameters */

/* What a term took at a point, as measured. */
struct lull_measured_term {
    const double *values; /* [n_parameters] the point; those of free parameters are not used */
    uint32_t term;
    double seconds; /* above 0 */
};

struct lull_calibration {
    size_t n_points; /* measured terms that depend on a free parameter */
    /* The root of (squares of the relative errors / degrees of freedom); NAN: there are no degrees
     * of freedom. */
    double residual;
};

/* Minimises the squares of log(predicted time / measured time), so that errors count in proportion,
 * by the Gauss-Newton method in the logarithms of the parameters. The free parameters get their
 * values, and Student's intervals where there are more points than parameters. `free` holds
 * positions of parameters, whose values are above 0. Fails with LULL_ERR_RANGE for fewer points
 * than parameters, for a parameter without effect on any point, and where the method does not
 * converge; and as lull_model_evaluate. */
lull_status lull_model_calibrate(struct lull_program_model *model, const uint32_t *free,
                                 size_t n_free, const struct lull_measured_term *measured,
                                 size_t n_measured, double confidence, struct lull_arena *arena,
                                 struct lull_calibration *ret_calibration, struct lull_error *err);

#endif
