/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot loops as parts of a document: of `lull model kernel --of` the whole of it. */
#ifndef LULL_VIEW_HOT_LOOPS_DOCUMENT_H
#define LULL_VIEW_HOT_LOOPS_DOCUMENT_H

#include "report/document.h"
#include "study/model/hot_loops.h"
#include "study/notices.h"

/* Adds the tables of the loops of a run and what they mean: nothing but a note where there are none. */
void lull_hot_loops_add(struct lull_document *document, const struct lull_run *run,
                        const struct lull_hot_loops *loops, struct lull_arena *arena);
/* Adds the table of what the predictions were made from. */
void lull_hot_loops_add_details(struct lull_document *document, const struct lull_run *run,
                                const struct lull_hot_loops *loops, struct lull_arena *arena);
/* A Roofline with the loops on it, as a chart; NULL: none is understood. */
struct lull_chart *lull_hot_loops_chart(const struct lull_run *run,
                                        const struct lull_hot_loops *loops,
                                        struct lull_arena *arena);
/* "lull-hot-loops/1" */
struct lull_document *lull_hot_loops_document(const struct lull_run *run,
                                              const struct lull_hot_loops *loops,
                                              const struct lull_notices *notices,
                                              struct lull_arena *arena);

#endif
