/* Internal to view: what the JSON of `lull metrics` holds beside its tables. */
#ifndef LULL_VIEW_METRICS_METRICS_JSON_H
#define LULL_VIEW_METRICS_METRICS_JSON_H

#include "view/metrics/metrics_document.h"

/* Attaches "settings" and "runs"; both arguments are borrowed until the document is rendered. */
void lull_metrics_attach(struct lull_document *document, const struct lull_runs *runs,
                         const struct lull_metrics_wish *wish, struct lull_arena *arena);

#endif
