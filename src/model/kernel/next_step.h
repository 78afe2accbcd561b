/* SPDX-License-Identifier: BSD-3-Clause */
/* What another form of a loop would reach by the model: blocked, so that a cache keeps a reuse that it does not keep now, or
 * with stores that pass by the caches. And strides for which the model is too fast. */
#ifndef LULL_MODEL_KERNEL_NEXT_STEP_H
#define LULL_MODEL_KERNEL_NEXT_STEP_H

#include "model/kernel/predict.h"

/* A form of the loop; `cycles` NAN: the model knows none that is faster. */
struct lull_other_form {
    double cycles; /* per unit of work of one core, with so many cores in use */
    size_t level;  /* of a form in blocks: which cache holds a block, 0: the first */
    double block;  /* of a form in blocks: iterations of the innermost loop */
};

struct lull_next_steps {
    double now; /* cycles as it is */
    struct lull_other_form blocked, non_temporal;
};

/* The forms of a loop that are faster than it is, in the core as long as now.
 * In blocks of the innermost loop as many lines travel as if the longest reuse that a block can keep were kept in a cache, and in all
 * beyond it; of all caches the one counts with which the loop is fastest. Non-temporal stores let those lines not travel that
 * are read only because they are written to; lines that are written travel as before. */
lull_status lull_next_steps_find(const struct lull_kernel_prediction *prediction, unsigned cores,
                                 struct lull_arena *arena, struct lull_next_steps *ret_steps,
                                 struct lull_error *err);

/* Lines that are a multiple of so many bytes apart compete for the same sets of a first cache with 64 sets of 64 bytes. */
enum { LULL_CONFLICT_BYTES = 4096 };

/* An array whose lines compete for few sets, by sizes that are known: the innermost loop goes from line to line in steps that are a
 * multiple of LULL_CONFLICT_BYTES, or at least three of its accesses are such multiples apart. Layer conditions know no
 * sets. *ret_bytes is the step. NULL: there is none. */
const char *lull_find_conflict(const struct lull_kernel *kernel, double *ret_bytes);

#endif
