/* A gate: whether new runs are worse than they may be, with the noise of a history.
 *
 * Per condition there are three verdicts. It fails where it is improbable that the new runs would
 * lie so far beyond the limit if their true median were the limit; it passes where it is improbable
 * that they would lie so far on the good side; else it is unknown, and how many more runs would
 * decide is told. Where the limit is relative, the values of the history, put at the limit, stand
 * for what would be measured there, noise and all; where it is a number, so do they around their
 * median, and without a history the signs of the differences alone are used. */
#ifndef LULL_STUDY_HISTORY_GATE_H
#define LULL_STUDY_HISTORY_GATE_H

#include "base/arena.h"
#include "base/error.h"
#include "study/history/history.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== condition =============================================================================== */

/* Conditions under which a check fails: "runtime > 1.05 * baseline". */

/* The metric is on the wrong side of factor * baseline + offset. */
struct lull_condition {
    const char *text;   /* as the user wrote it */
    const char *metric; /* an id, or "region:NAME" */
    bool above;         /* fails above the limit, else below */
    bool relative;      /* to the baseline; else the limit is the offset */
    double factor, offset;
};

/* METRIC < LIMIT or METRIC > LIMIT (<= and >= mean the same: values are not told apart so finely).
 * LIMIT is a number, baseline, NUMBER * baseline, or one of the latter two + or - a number.
 * LULL_ERR_RANGE says what is wrong; of an unknown metric the nearest name. */
lull_status lull_condition_read(const char *text, struct lull_arena *arena,
                                struct lull_condition *ret_condition, struct lull_error *err);

/* One or more (NULL at the end, or NULL), which may be relative only where there is a baseline. The
 * text of LULL_ERR_RANGE begins with --fail-if. */
lull_status lull_conditions_read(const char *const *texts, bool has_baseline,
                                 struct lull_arena *arena,
                                 const struct lull_condition **ret_conditions, uint32_t *ret_count,
                                 struct lull_error *err);

/* Several with commas. */
lull_status lull_condition_metrics(const char *text, struct lull_arena *arena,
                                   const char ***ret_metrics, size_t *ret_count,
                                   struct lull_error *err);

/* ==== gate ==================================================================================== */

enum lull_gate_verdict { LULL_GATE_PASS, LULL_GATE_FAIL, LULL_GATE_UNKNOWN };

struct lull_gate_options {
    double false_alarms; /* level of failing, shared among the conditions: 0.01 */
    double missed;       /* level of passing: 0.05 */
    bool as_measured;    /* medians are compared, whatever the noise */
};

#define LULL_MORE_NEVER UINT32_MAX

struct lull_gate_case {
    const struct lull_condition *condition;
    enum lull_gate_verdict verdict;
    double value;           /* median of the new runs; NAN: none */
    double baseline, limit; /* median of the history; NAN: none */
    uint32_t runs, baseline_runs;
    uint32_t since;     /* index in the history of the first run of the baseline: the level changed
                           there for the last time, or it is the first one */
    double probability; /* of the verdict where it is wrong; of UNKNOWN that of the nearer one */
    uint32_t more;      /* of UNKNOWN: more runs that would decide; LULL_MORE_NEVER: none would */
    const char *why;    /* of UNKNOWN: what is missing, a sentence's part; NULL: more runs */
};

/* A part whose time has changed: medians over the runs. */
struct lull_move {
    const struct lull_part *part;
    int64_t before_ns, after_ns;
};

struct lull_gate {
    enum lull_gate_verdict verdict; /* FAIL if any fails, else UNKNOWN if any is, else PASS */
    struct lull_gate_case *cases;
    uint32_t n_cases;
    /* What has grown, or shrunk where the runtime did, the largest first; before these
     * what explains the growth of the runtime: waits are long because something else is, so that
     * this is the largest growth of what is no wait, if it is at least half of that of the runtime,
     * for a thread that makes the run longer spends the time itself. */
    struct lull_move *moves;
    uint32_t n_moves;
};

/* `runs` are new, in the order of time; `history` is a series (lull_history_select), or has no
 * entries. Everything lives in `arena`. */
void lull_gate_judge(const struct lull_condition *conditions, uint32_t n_conditions,
                     const struct lull_history_entry *runs, uint32_t n_runs,
                     const struct lull_history *history, const struct lull_gate_options *options,
                     struct lull_arena *arena, struct lull_gate *ret_gate);

/* "pass", "fail", "unknown" */
const char *lull_gate_verdict_name(enum lull_gate_verdict verdict);

/* What moved between two groups of runs; fills moves and n_moves. */
void lull_gate_moves(const struct lull_history_entry *before, uint32_t n_before,
                     const struct lull_history_entry *after, uint32_t n_after,
                     struct lull_arena *arena, struct lull_gate *gate);

/* ==== levels ================================================================================== */

/* The levels of a metric over the runs of a series. */

/* Runs between two changes. */
struct lull_history_level {
    uint32_t first, last; /* indices of entries that have the metric */
    uint32_t runs;
    double median;
};

/* In their order, in `arena`; returns their number, 0 where no run has the metric. */
uint32_t lull_history_levels(const struct lull_history *series, const char *metric,
                             struct lull_arena *arena, struct lull_history_level **ret_levels);

/* The values of a metric of the entries that have it, in their order, and which these are. */
uint32_t lull_history_values(const struct lull_history_entry *entries, uint32_t count,
                             const char *metric, struct lull_arena *arena, double **ret_values,
                             uint32_t **ret_indices);

/* Of values in any order; NAN of none. */
double lull_history_median(const double *values, uint32_t count, struct lull_arena *arena);

#endif
