/* The texts by which users name a kernel, its sizes, its indices and a sweep. */
#ifndef LULL_STUDY_MODEL_KERNEL_KERNEL_WISH_H
#define LULL_STUDY_MODEL_KERNEL_KERNEL_WISH_H

#include "model/kernel/predict.h"

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

#endif
