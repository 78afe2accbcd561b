/* A kernel compiled and run on this machine. */
#ifndef LULL_STUDY_MODEL_KERNEL_KERNEL_RUN_H
#define LULL_STUDY_MODEL_KERNEL_KERNEL_RUN_H

#include "study/model/kernel/kernel_wish.h"

struct lull_kernel_measured {
    double seconds, low, high; /* for one execution of the nest, and the interval */
    bool mean;                 /* of the blocks' times the means, as of what the prediction takes
                                  of memory; else their quantiles */
    double cycle;              /* s per cycle of the clock meanwhile; NAN: unknown */
    unsigned cores;
    const char *disturbed; /* by what; NULL: it was quiet */
};

/* Runs wish->kernel with its sizes on as many cores as the options say, to be compared with that
 * prediction of it. Fails as compiling and timing do, and with LULL_ERR_RANGE where it is not known
 * what an index array holds. */
lull_status lull_kernel_run_here(const struct lull_kernel_wish *wish,
                                 const struct lull_kernel_prediction *prediction,
                                 struct lull_arena *arena,
                                 struct lull_kernel_measured *ret_measured, struct lull_error *err);

/* Predicted seconds of one execution of the nest, all its loops, on each of so many cores at the
 * same time. */
double lull_kernel_seconds(const struct lull_kernel_prediction *prediction, unsigned cores);
/* Relative error of the predicted time. */
double lull_kernel_error(const struct lull_kernel_prediction *prediction,
                         const struct lull_kernel_measured *measured);

#endif
