/* A kernel predicted, and measured if that is wanted, for one set of sizes or several values of one
 * size. */
#ifndef LULL_STUDY_MODEL_KERNEL_KERNEL_STUDY_H
#define LULL_STUDY_MODEL_KERNEL_KERNEL_STUDY_H

#include "study/model/kernel/kernel_run.h"

struct lull_kernel_study {
    struct lull_kernel_prediction *predictions; /* [count] */
    struct lull_kernel_measured *measured;      /* [count]; NULL: not run */
    size_t count;                               /* values of the sweep; 1 without one */
};

/* Of a wish that is loaded; `run` also measures. Fails as the predictions and the runs do, in a
 * sweep with the value in front. */
lull_status lull_kernel_study_make(const struct lull_kernel_wish *wish, bool run,
                                   struct lull_arena *arena, struct lull_kernel_study *ret_study,
                                   struct lull_error *err);

/* The roofs of the same kernel on all cores of a memory domain; NULL where the prediction is for
 * these, or has none. */
const struct lull_roofline *lull_kernel_all_cores(const struct lull_kernel_wish *wish,
                                                  const struct lull_kernel_prediction *prediction,
                                                  struct lull_arena *arena);

#endif
