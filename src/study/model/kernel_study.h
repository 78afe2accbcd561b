/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of a kernel: what users ask of it (a wish, read from their texts), its predictions, and
 * its measurement on this machine if that is wanted, for one set of sizes or several values of one
 * size. Results live in an arena. */
#ifndef LULL_STUDY_MODEL_KERNEL_STUDY_H
#define LULL_STUDY_MODEL_KERNEL_STUDY_H

#include "model/kernel/predict.h"

/* ==== the wish ================================================================================ */

/* The texts by which users name a kernel, its sizes, its indices and a sweep. Each but `source` may
 * be NULL; lists are NULL at the end. */
struct lull_kernel_texts {
    const char *source;         /* a file that is a kernel, "triad.c", or a function or mark in a
                                   source file, "solver.c:smooth" */
    const char *const *sizes;   /* "N=1000" */
    const char *const *calls;   /* "f=20": cycles */
    const char *const *indices; /* "idx=uniform", "idx=sequential", "idx=band:100", "idx=FILE" */
    const char *sweep;          /* "N=1,2,3" or "N=FROM:TO:STEPS", evenly on a logarithmic scale */
    const char *in_core;        /* "T_OL,T_nOL" in cycles, of several loops one after the other */
    const char *flags;          /* of the compiler, with spaces between them */
    const char *cores, *seed;   /* whole numbers; seed is that of random indices */
    const char *traffic, *policy; /* "conditions", "simulation"; "lru", "plru" */
    int no_simulation;
};

struct lull_kernel_wish {
    struct lull_kernel_source source;
    struct lull_kernel_options options;
    const char *sweep; /* name of the size that a sweep varies; NULL: no sweep */
    double *values;    /* [n_values] of this size, ascending */
    size_t n_values;
    /* Set by lull_kernel_wish_load: */
    struct lull_kernel *kernel;
    struct lull_machine *machine;
};

/* Sets in *wish what the texts say; results live in `arena`. Fails with LULL_ERR_RANGE for a text
 * that is not understood, and as reading a FILE of indices fails. */
lull_status lull_kernel_wish_read(const struct lull_kernel_texts *texts, struct lull_arena *arena,
                                  struct lull_kernel_wish *wish, struct lull_error *err);
/* Reads a machine file and the kernel. */
lull_status lull_kernel_wish_load(struct lull_kernel_wish *wish, const char *machine,
                                  struct lull_arena *arena, struct lull_error *err);

/* ==== the measurement ========================================================================= */

/* What a kernel took when it was compiled and run on this machine. */
struct lull_kernel_measured {
    double seconds, low, high; /* of one execution of the nest, and its interval */
    bool mean;                 /* seconds is the mean of the blocks, as is the bandwidth of memory
                                  in the prediction; else it is a quantile of the blocks */
    double cycle;              /* seconds per cycle of the clock meanwhile; NAN: unknown */
    unsigned cores;            /* that ran it at the same time */
    const char *disturbed;     /* what disturbed the measurement; NULL: nothing */
};

/* Predicted seconds of one execution of the nest, all its loops, on each of so many cores at the
 * same time. */
double lull_kernel_seconds(const struct lull_kernel_prediction *prediction, unsigned cores);
/* Relative error of the predicted time. */
double lull_kernel_error(const struct lull_kernel_prediction *prediction,
                         const struct lull_kernel_measured *measured);

/* ==== the study =============================================================================== */

struct lull_kernel_study {
    struct lull_kernel_prediction *predictions; /* [count] */
    struct lull_kernel_measured *measured;      /* [count]; NULL: not run */
    size_t count;                               /* values of the sweep; 1 without one */
};

/* Predicts what a wish asks, which is loaded; with `run` also measures it. Fails as the predictions
 * and the measurements do; in a sweep the message begins with the value. */
lull_status lull_kernel_study_make(const struct lull_kernel_wish *wish, bool run,
                                   struct lull_arena *arena, struct lull_kernel_study *ret_study,
                                   struct lull_error *err);

/* The roofline of the same kernel on all cores of a memory domain; NULL where the prediction itself
 * is for that many cores, or where it has no roofline. */
const struct lull_roofline *lull_kernel_all_cores(const struct lull_kernel_wish *wish,
                                                  const struct lull_kernel_prediction *prediction,
                                                  struct lull_arena *arena);

#endif
