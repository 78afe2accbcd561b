/* SPDX-License-Identifier: BSD-3-Clause */
/* The document of `lull replay`. */
#ifndef LULL_VIEW_REPLAY_DOCUMENT_H
#define LULL_VIEW_REPLAY_DOCUMENT_H

#include "study/replay/replay_study.h"
#include "view/metrics/metrics_tables.h"

/* "lull-replay/1": the runtimes and the trees of efficiencies of the measured, the replayed and the
 * supposed run side by side; for a sweep one row for each point. */
struct lull_document *lull_replay_document(const struct lull_replay_study *study,
                                           enum lull_scheme_choice scheme,
                                           const struct lull_notices *notices,
                                           struct lull_arena *arena);

#endif
