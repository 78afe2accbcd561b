/* The document and the chart of `lull model spmv`. */
#ifndef LULL_VIEW_SPMV_SPMV_DOCUMENT_H
#define LULL_VIEW_SPMV_SPMV_DOCUMENT_H

#include "model/spmv/spmv.h"
#include "report/chart.h"
#include "report/document.h"

/* One number of cores. */
struct lull_spmv_view_point {
    struct lull_spmv_prediction prediction;
    double measured; /* s of one product; NAN: not measured */
};

struct lull_spmv_view {
    const char *name;    /* of the matrix, as the user calls it */
    const char *storage; /* "CRS", "SELL-32-128" */
    const struct lull_spmv_shape *shape;
    const char *machine_name;                  /* NULL: no machine, intensities alone */
    const struct lull_spmv_view_point *points; /* ascending cores */
    size_t n_points;
    double volume; /* bytes of one product that the user has measured; NAN */
    bool reordered;
    uint32_t bandwidth[2];  /* as it is, and after reverse Cuthill-McKee */
    double reordered_alpha; /* on the cores of the last point */
};

/* "lull-model-spmv/1". */
struct lull_document *lull_spmv_document(const struct lull_spmv_view *view,
                                         struct lull_arena *arena);
/* flop/s over cores: the models, and what was measured. There is at least one point. */
const struct lull_chart *lull_spmv_chart(const struct lull_spmv_view *view,
                                         struct lull_arena *arena);
/* "lull-model-spmv-list/1": the matrices that can be made. */
struct lull_document *lull_spmv_list(struct lull_arena *arena);

#endif
