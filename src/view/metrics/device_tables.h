/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of `lull metrics` about devices: one table per run. */
#ifndef LULL_VIEW_METRICS_DEVICE_TABLES_H
#define LULL_VIEW_METRICS_DEVICE_TABLES_H

#include "report/document.h"
#include "study/runs.h"

/* A row for each device: how long it was busy, and what it lost the rest of the time to. */
void lull_tables_by_device(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

/* A row for each name of kernels, each kind of copy, each stream; and a note where a run does not tell operations. */
void lull_tables_by_kernel(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);
void lull_tables_by_copy(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena);
void lull_tables_by_stream(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena);

#endif
