/* SPDX-License-Identifier: BSD-3-Clause */
/* The document and the chart of `lull model solver`. */
#ifndef LULL_VIEW_SOLVER_DOCUMENT_H
#define LULL_VIEW_SOLVER_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/model/solver_study.h"

/* "lull-model-solver/1". */
struct lull_document *lull_solver_document(const struct lull_solver_study *study,
                                           struct lull_arena *arena);
/* Without a sweep: iterations per second over cores, with naive saturation and with the latency
 * penalty. With a sweep: the share of the time that barriers and regions take on all cores, over
 * the parameter. */
const struct lull_chart *lull_solver_chart(const struct lull_solver_study *study,
                                           struct lull_arena *arena);

#endif
