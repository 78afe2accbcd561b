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

/* A level of the caches as some cores use it at the same time. */
struct lull_solver_cache {
    unsigned cores;   /* at work, from 1 up, each on an equal part of every array */
    unsigned sharers; /* that one instance has, from 1 up; the last one may have fewer */
    double bytes;     /* of one instance */
};

/* Fills the lines that each kernel moves over the link beyond a level that replaces what was used
 * least recently, in iterations without end: a layer condition between kernels. Between two uses of
 * an element others are touched, as many bytes at the begin of the arrays as said by one number, at
 * the end by another, and linearly many in between; what is more apart than the level holds is
 * loaded again. A line that was written leaves the level once, if it does so before it is written
 * again, and counts for the kernel that wrote it. Kernels execute in order, each of them
 * solver->kernels[i].count times in a row, a whole number from 1 up. sizes: bytes of each array.
 *
 * Of several cores each has its part of an array, so that an instance with m of n cores holds as
 * much of its parts as one n / m times as large would of the whole. What is touched around an
 * element has to fit into the share of one core: kernels split the rows of a grid among cores, so
 * that a row is as long as on one core, and those with wavefronts the points of each row. Between a
 * kernel of one kind and one of the other a core finds in its own instance only what both times was
 * its part, one part in as many as there are instances. */
void lull_solver_reuse(struct lull_solver *solver, const struct lull_solver_walk *walks,
                       const double *sizes, size_t level, const struct lull_solver_cache *cache);

#endif
