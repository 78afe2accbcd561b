/* A kernel predicted, and measured if that is wanted, for one set of sizes or several values of one
 * size. */
#ifndef LULL_STUDY_MODEL_KERNEL_STUDY_H
#define LULL_STUDY_MODEL_KERNEL_STUDY_H

#include "model/kernel/predict.h"

/* ==== kernel wish ============================================================================= */

/* The texts by which users name a kernel, its sizes, its indices and a sweep. */

/* Each may be NULL; lists are NULL at the end. */
struct lull_kernel_texts {
    const char *source;         /* KERNEL.c, FILE.c:FUNCTION or FILE.c:MARK; not NULL */
    const char *const *sizes;   /* "N=1000" */
    const char *const *calls;   /* "f=20": cycles */
    const char *const *indices; /* "idx=uniform", "idx=sequential", "idx=band:100", "idx=FILE" */
    const char *sweep;          /* "N=1,2,3" or "N=FROM:TO:STEPS", evenly on a logarithmic scale */
    const char
        *in_core;      /* "T_OL,T_nOL" in cycles, of several innermost loops one after the other */
    const char *flags; /* of the compiler, with spaces between them */
    const char *cores, *seed;     /* whole numbers */
    const char *traffic, *policy; /* "conditions", "simulation"; "lru", "plru" */
    int no_simulation;
};

struct lull_kernel_wish {
    struct lull_kernel_source source;
    struct lull_kernel_options options;
    const char *sweep; /* the size; NULL: none */
    double *values;    /* ascending, of the sweep */
    size_t n_values;
    /* Loaded: */
    struct lull_kernel *kernel;
    struct lull_machine *machine;
};

/* Sets of *wish what the texts say; results live in `arena`. Fails with LULL_ERR_RANGE for a text
 * that is not understood, otherwise as a FILE of indices is read. */
lull_status lull_kernel_wish_read(const struct lull_kernel_texts *texts, struct lull_arena *arena,
                                  struct lull_kernel_wish *wish, struct lull_error *err);
/* Reads a machine file and the kernel. */
lull_status lull_kernel_wish_load(struct lull_kernel_wish *wish, const char *machine,
                                  struct lull_arena *arena, struct lull_error *err);

/* ==== kernel run ============================================================================== */

/* A kernel compiled and run on this machine. */

struct lull_kernel_measured {
    double seconds, low, high; /* for one execution of the nest, and the interval */
    bool mean;                 /* of the blocks' times the means, as of what the prediction takes
                                  of memory; else their quantiles */
    double cycle;              /* s per cycle of the clock meanwhile; NAN: unknown */
    unsigned cores;
    const char *disturbed; /* by what; NULL: it was quiet */
};

/* Predicted seconds of one execution of the nest, all its loops, on each of so many cores at the
 * same time. */
double lull_kernel_seconds(const struct lull_kernel_prediction *prediction, unsigned cores);
/* Relative error of the predicted time. */
double lull_kernel_error(const struct lull_kernel_prediction *prediction,
                         const struct lull_kernel_measured *measured);

/* ==== kernel study ============================================================================ */

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
