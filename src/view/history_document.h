/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents of a history: a series with its runs and the levels of its metrics, and the result
 * of a check. */
#ifndef LULL_VIEW_HISTORY_DOCUMENT_H
#define LULL_VIEW_HISTORY_DOCUMENT_H

#include "report/chart.h"
#include "report/checks.h"
#include "report/document.h"
#include "study/history/check.h"
#include "study/history/history.h"

/* "lull-series/1": the runs of a series, and the levels of metrics, which are given by their ids.
 */
struct lull_document *lull_history_document(const struct lull_history *series,
                                            const char *const *metrics, size_t n_metrics,
                                            struct lull_arena *arena);

/* The values of a metric over the runs, with a mark where the level changed. */
const struct lull_chart *lull_history_chart(const struct lull_history *series, const char *metric,
                                            struct lull_arena *arena);

/* "lull-check/1": what a gate found. */
struct lull_document *lull_check_document(const struct lull_check_study *study,
                                          const struct lull_notices *notices,
                                          struct lull_arena *arena);

/* What a gate found, for programs that watch over the development of others, as services for
 * continuous integration do. */
const struct lull_checks *lull_check_checks(const struct lull_check_study *study,
                                            struct lull_arena *arena);

#endif
