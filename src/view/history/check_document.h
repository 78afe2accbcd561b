/* What a gate found, as a document and for the programs that watch over development. */
#ifndef LULL_VIEW_HISTORY_CHECK_DOCUMENT_H
#define LULL_VIEW_HISTORY_CHECK_DOCUMENT_H

#include "report/checks/checks.h"
#include "report/document.h"
#include "study/history/check.h"

/* The document "lull-check/1". */
struct lull_document *lull_check_document(const struct lull_check_study *study,
                                          const struct lull_notices *notices,
                                          struct lull_arena *arena);

const struct lull_checks *lull_check_checks(const struct lull_check_study *study,
                                            struct lull_arena *arena);

#endif
