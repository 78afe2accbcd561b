/* The document of `lull replay`. */
#ifndef LULL_VIEW_REPLAY_DOCUMENT_H
#define LULL_VIEW_REPLAY_DOCUMENT_H

#include "study/replay/replay_study.h"
#include "view/metrics/metrics_tables.h"

/* The runtimes and the tree of efficiencies of measured, replayed and supposed run side by side, or
 * one row for each point of a sweep: "lull-replay/1". */
struct lull_document *lull_replay_document(const struct lull_replay_study *study,
                                           enum lull_scheme_choice scheme,
                                           const struct lull_notices *notices,
                                           struct lull_arena *arena);

#endif
