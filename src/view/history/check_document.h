/* What a gate found, as a document and for the programs that watch over development. */
#ifndef LULL_VIEW_HISTORY_CHECK_DOCUMENT_H
#define LULL_VIEW_HISTORY_CHECK_DOCUMENT_H

#include "report/checks/checks.h"
#include "report/document.h"
#include "study/history/gate.h"
#include "study/notices.h"

/* What was judged. */
struct lull_check_subject {
    const struct lull_gate *gate;
    const struct lull_history_entry *runs;
    uint32_t n_runs;
    uint32_t n_confirming; /* of them: those that were made to confirm a failure */
    const struct lull_history *history;
};

/* The document "lull-check/1". */
struct lull_document *lull_check_document(const struct lull_check_subject *subject,
                                          const struct lull_notices *notices,
                                          struct lull_arena *arena);

const struct lull_checks *lull_check_checks(const struct lull_check_subject *subject,
                                            struct lull_arena *arena);

#endif
