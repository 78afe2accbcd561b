/* The product of a sparse matrix and a vector: predicted for several numbers of cores, and, if that
 * is wanted, measured on this machine and predicted for the matrix in another order. */
#ifndef LULL_STUDY_MODEL_SPMV_STUDY_H
#define LULL_STUDY_MODEL_SPMV_STUDY_H

#include "model/spmv/spmv.h"
#include "study/notices.h"

/* ==== spmv wish =============================================================================== */

/* What users ask of a product of a sparse matrix and a vector. */

/* What is NULL or 0 was not said. */
struct lull_spmv_texts {
    const char *cores;           /* "1,2,4" */
    const char *storage;         /* "crs", "sell" */
    int chunk, sigma;            /* of SELL-C-sigma; 32 and 256 */
    const char *t_ol, *t_nol;    /* cycles */
    const char *seconds;         /* 2 */
    const char *bytes;           /* a size */
    const char *rows, *nonzeros; /* of a matrix that is not there */
};

struct lull_spmv_wish {
    const char *matrix;         /* a Matrix Market file, or one that is made (generate.h); NULL: not
                                   there, a square one of so many rows and nonzeros */
    double rows, nonzeros;      /* of one that is not there */
    const char *machine;        /* its file; NULL: intensities alone */
    const unsigned *cores;      /* [n_cores] ascending */
    size_t n_cores;             /* 0: 1, 2, 4, ... and all of a memory domain */
    uint32_t chunk, sigma;      /* of SELL-C-sigma; chunk 0: CRS */
    bool transposed;            /* CRS alone */
    struct lull_spmv_core core; /* in-core times, NAN: estimated */
    double volume;              /* bytes of one product that the user has measured; NAN */
    bool run, reorder;          /* with a matrix and a machine alone */
    double seconds;             /* that the measurement takes for each number of cores */
    unsigned workers;           /* threads to read and simulate with; 0: all */
};

/* Sets of *wish what the texts say; results live in `arena`. Fails with LULL_ERR_RANGE, also where
 * wish->transposed and the storage exclude each other. */
lull_status lull_spmv_wish_read(const struct lull_spmv_texts *texts, struct lull_arena *arena,
                                struct lull_spmv_wish *wish, struct lull_error *err);

/* ==== spmv study ============================================================================== */

/* One number of cores. */
struct lull_spmv_point {
    struct lull_spmv_prediction prediction;
    double measured; /* s of one product; NAN: not measured */
};

struct lull_spmv_study {
    const char *name;    /* of the matrix, as the user calls it */
    const char *storage; /* "CRS", "SELL-32-128" */
    struct lull_spmv_shape shape;
    const char *machine_name;       /* NULL: no machine, intensities alone */
    struct lull_spmv_point *points; /* ascending cores */
    size_t n_points;
    double volume; /* bytes of one product that the user has measured; NAN */
    bool reordered;
    uint32_t bandwidth[2];  /* as it is, and after reverse Cuthill-McKee */
    double reordered_alpha; /* on the cores of the last point */
};

/* Notices say which numbers of cores this machine does not have, and which measurements other
 * programs have disturbed. Fails as reading, predicting and measuring do; LULL_ERR_FORMAT for a
 * matrix without nonzeros. */
lull_status lull_spmv_study_make(const struct lull_spmv_wish *wish, struct lull_notices *notices,
                                 struct lull_arena *arena, struct lull_spmv_study *ret_study,
                                 struct lull_error *err);

#endif
