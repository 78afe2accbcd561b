/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs spend more or less than others, as a document and as a picture. */
#ifndef LULL_VIEW_DIFF_DOCUMENT_H
#define LULL_VIEW_DIFF_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/diff_study.h"
#include "study/notices.h"

/* The document "lull-diff/1". */
struct lull_document *lull_diff_document(const struct lull_diff *diff,
                                         const struct lull_notices *notices,
                                         struct lull_arena *arena);

/* The way from the time of all threads before to that after: a step for each of the largest
 * differences, and one for all others together. */
const struct lull_waterfall *lull_diff_waterfall(const struct lull_diff *diff,
                                                 struct lull_arena *arena);

#endif
