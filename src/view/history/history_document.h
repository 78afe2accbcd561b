/* A series of a history: its runs and the levels of its metrics. */
#ifndef LULL_VIEW_HISTORY_HISTORY_DOCUMENT_H
#define LULL_VIEW_HISTORY_HISTORY_DOCUMENT_H

#include "report/chart.h"
#include "report/document.h"
#include "study/history/history.h"

/* The document "lull-series/1"; the metrics are ids. */
struct lull_document *lull_history_document(const struct lull_history *series,
                                            const char *const *metrics, size_t n_metrics,
                                            struct lull_arena *arena);

/* The values of a metric over the runs, with a mark where the level changed. */
const struct lull_chart *lull_history_chart(const struct lull_history *series, const char *metric,
                                            struct lull_arena *arena);

#endif
