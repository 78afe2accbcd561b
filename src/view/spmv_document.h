/* SPDX-License-Identifier: BSD-3-Clause */
/* The document and the chart of `lull model spmv`. */
#ifndef LULL_VIEW_SPMV_DOCUMENT_H
#define LULL_VIEW_SPMV_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/spmv_study.h"

/* "lull-model-spmv/1". */
struct lull_document *lull_spmv_document(const struct lull_spmv_study *study,
                                         struct lull_arena *arena);
/* flop/s over cores: the models, and what was measured. There is at least one point. */
const struct lull_chart *lull_spmv_chart(const struct lull_spmv_study *study,
                                         struct lull_arena *arena);
/* "lull-model-spmv-list/1": the matrices that can be made. */
struct lull_document *lull_spmv_list(struct lull_arena *arena);

#endif
