/* The sentences of a gate. Internal to view. */
#ifndef LULL_VIEW_HISTORY_CHECK_TEXT_H
#define LULL_VIEW_HISTORY_CHECK_TEXT_H

#include "report/document.h"
#include "study/history/gate.h"

/* Whether the values of a metric are seconds. */
bool lull_metric_is_time(const char *metric);
/* A value as a cell, and in a sentence: "1.234 s", "0.7431". */
struct lull_cell lull_metric_cell(const char *metric, double value);
const char *lull_metric_text(const char *metric, double value, struct lull_arena *arena);

/* Of an unknown verdict: what is missing. */
const char *lull_check_open_sentence(const struct lull_gate_case *judged, struct lull_arena *arena);
/* What a case found, a sentence; `history` is the one that the gate judged by. */
const char *lull_check_sentence(const struct lull_gate_case *judged,
                                const struct lull_history *history, struct lull_arena *arena);
/* "computation in solve takes 1.25 s of all threads instead of 1 s (+25 %)" */
const char *lull_check_move_sentence(const struct lull_move *move, struct lull_arena *arena);

#endif
