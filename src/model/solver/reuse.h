/* Internal to the solver models: which lines kernels find in a cache because others, or the
 * iteration before, have used them there. */
#ifndef LULL_MODEL_SOLVER_REUSE_H
#define LULL_MODEL_SOLVER_REUSE_H

#include "model/solver/solver.h"

enum { LULL_SOLVER_ARRAYS = 64 }; /* most arrays that the kernels of a solver may name */

struct lull_solver_use { /* of an array by a kernel */
    size_t array;        /* 0 .. LULL_SOLVER_ARRAYS - 1 */
    bool read, written;
    double times;       /* that each line is read, for its own row and those around it, beyond a */
    double layer_bytes; /* level that holds less than this; other levels let it be read once */
};

/* What a kernel does with arrays. Each execution walks through all elements of all of its arrays
 * side by side, each of which it uses once. */
struct lull_solver_walk {
    const struct lull_solver_use *uses; /* one per array */
    size_t n_uses;
    bool backward;
};

/* Fills the lines that each kernel moves over the link beyond a level that holds `bytes` and
 * replaces what was used least recently, in iterations without end: a layer condition between
 * kernels. Between two uses of an element others are touched, as many bytes at the begin of the
 * arrays as said by one number, at the end by another, and linearly many in between; what is more
 * than `bytes` apart is loaded again. A line that was written leaves the level once, if it does so
 * before it is written again, and counts for the kernel that wrote it. Kernels execute in order,
 * each of them solver->kernels[i].count times in a row, a whole number from 1 up. sizes: bytes of
 * each array. */
void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, double bytes);

#endif
