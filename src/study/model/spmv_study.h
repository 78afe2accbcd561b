/* The product of a sparse matrix and a vector: predicted for several numbers of cores, and, if that
 * is wanted, measured on this machine and predicted for the matrix in another order. */
#ifndef LULL_STUDY_MODEL_SPMV_STUDY_H
#define LULL_STUDY_MODEL_SPMV_STUDY_H

#include "model/spmv/spmv.h"
#include "study/model/spmv_wish.h"
#include "study/notices.h"

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
