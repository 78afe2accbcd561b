/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a run while it is recorded, as `lull top` shows it: for people and for what watches over machines. */
#ifndef LULL_VIEW_TOP_DOCUMENT_H
#define LULL_VIEW_TOP_DOCUMENT_H

#include "report/document.h"
#include "study/look.h"

#include <stdio.h>

/* "lull-top/1". The look outlives the document. */
struct lull_document *lull_top_document(const struct lull_look *look, struct lull_arena *arena);

/* A look as a text of OpenMetrics 1.0, which Prometheus and its node exporter read, too: times, states of
 * processes, efficiencies, and the calls in which threads are. Each sample has the label `run`. */
struct lull_top_metrics {
    const struct lull_look *look;
    const char *run;
    struct lull_arena *arena; /* for what is needed meanwhile */
};
void lull_top_write_metrics(const void *metrics, FILE *out); /* a struct lull_top_metrics */

#endif
