/* SPDX-License-Identifier: BSD-3-Clause */
/* The product of a sparse matrix and a vector: predicted for several numbers of cores, and, if that
 * is wanted, measured on this machine and predicted for the matrix in another order. */
#ifndef LULL_STUDY_MODEL_SPMV_STUDY_H
#define LULL_STUDY_MODEL_SPMV_STUDY_H

#include "model/spmv/spmv.h"
#include "study/notices.h"

/* ==== the wish ================================================================================ */

/* The user's texts; NULL or 0 where nothing was said. */
struct lull_spmv_texts {
    const char *cores;           /* "1,2,4" */
    const char *storage;         /* "crs", "sell" */
    int chunk, sigma;            /* of SELL-C-sigma; not said: 32 and 256 */
    const char *t_ol, *t_nol;    /* in-core times, in cycles */
    const char *seconds;         /* of a measurement; not said: 2 */
    const char *bytes;           /* that the user has measured for one product, a size */
    const char *rows, *nonzeros; /* of a square matrix of which there is no file */
};

struct lull_spmv_wish {
    const char *matrix;         /* path of a Matrix Market file, or spec of a matrix that is made
                                   (generate.h); NULL: a square one of which only rows and nonzeros
                                   are known */
    double rows, nonzeros;      /* of such a matrix */
    const char *machine;        /* path of a machine file; NULL: intensities alone are wanted */
    const unsigned *cores;      /* [n_cores] ascending */
    size_t n_cores;             /* 0: 1, 2, 4, ... and all of a memory domain */
    uint32_t chunk, sigma;      /* of SELL-C-sigma; chunk 0: CRS */
    bool transposed;            /* only with CRS */
    struct lull_spmv_core core; /* in-core times; NAN: estimated */
    double volume;              /* bytes of one product that the user has measured; NAN: none */
    bool run, reorder;          /* measure; predict another order, too. Only with a matrix and a
                                   machine */
    double seconds;             /* that the measurement takes for each number of cores */
    unsigned workers;           /* threads to read and simulate with; 0: all */
};

/* Sets in *wish what the texts say; results live in `arena`. Fails with LULL_ERR_RANGE, also where
 * wish->transposed and the storage exclude each other. */
lull_status lull_spmv_wish_read(const struct lull_spmv_texts *texts, struct lull_arena *arena,
                                struct lull_spmv_wish *wish, struct lull_error *err);

/* ==== the study =============================================================================== */

/* The product on one number of cores. */
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
    double volume;          /* bytes of one product that the user has measured; NAN: none */
    bool reordered;         /* the next two are known */
    uint32_t bandwidth[2];  /* of the matrix: [0] as it is, [1] after reverse Cuthill-McKee */
    double reordered_alpha; /* of the reordered matrix, on the cores of the last point */
};

/* Makes the study. Notices say which numbers of cores this machine does not have, and which
 * measurements other programs have disturbed. Fails as reading, predicting and measuring do, and
 * with LULL_ERR_FORMAT for a matrix without nonzeros. */
lull_status lull_spmv_study_make(const struct lull_spmv_wish *wish, struct lull_notices *notices,
                                 struct lull_arena *arena, struct lull_spmv_study *ret_study,
                                 struct lull_error *err);

#endif
