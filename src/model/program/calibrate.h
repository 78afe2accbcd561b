/* Free parameters of a model from measured times of its terms. */
#ifndef LULL_MODEL_PROGRAM_CALIBRATE_H
#define LULL_MODEL_PROGRAM_CALIBRATE_H

#include "model/program/program_model.h"

enum { LULL_CALIBRATE_MOST = 8 }; /* parameters */

/* A term at a point, as measured. */
struct lull_measured_term {
    const double *values; /* [n_parameters]; those of free parameters are not looked at */
    uint32_t term;
    double seconds; /* above 0 */
};

struct lull_calibration {
    size_t n_points; /* terms that a free parameter has to do with */
    double residual; /* root mean square of the relative errors, per degree of freedom; NAN: none */
};

/* Least squares of the logarithm of predicted over measured time, so that errors count in
 * proportion, by Gauss's and Newton's method in the logarithms of the parameters; these get their
 * values, and Student's intervals where there are more points than parameters. `free` are positions
 * of parameters above 0. Fails with LULL_ERR_RANGE for fewer points than parameters, for a
 * parameter without effect on any of them, and where it does not converge; and as
 * lull_model_evaluate. */
lull_status lull_model_calibrate(struct lull_program_model *model, const uint32_t *free,
                                 size_t n_free, const struct lull_measured_term *measured,
                                 size_t n_measured, double confidence, struct lull_arena *arena,
                                 struct lull_calibration *ret_calibration, struct lull_error *err);

#endif
