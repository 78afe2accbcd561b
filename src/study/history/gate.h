/* SPDX-License-Identifier: BSD-3-Clause */
/* A gate: judges by conditions whether new runs are worse than they may be, knowing how noisy the
 * runs of a history are.
 *
 * For each condition there are three verdicts. A condition fails where it is improbable that the
 * new runs would lie so far beyond the limit if their true median were the limit. It passes where
 * it is improbable that they would lie so far on the good side of it. Else the verdict is unknown,
 * and the gate tells how many more runs would decide. What would be measured at the limit, with its
 * noise, is taken from the values of the history: for a limit relative to the baseline they are
 * scaled and shifted as the limit is; for a limit that is a number they are scaled so that their
 * median is the limit, or shifted if it is not above 0. Without a history only the signs of the
 * differences from the limit count. */
#ifndef LULL_STUDY_HISTORY_GATE_H
#define LULL_STUDY_HISTORY_GATE_H

#include "base/arena.h"
#include "base/error.h"
#include "study/history/history.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== conditions ============================================================================== */

/* A condition under which a check fails, "runtime > 1.05 * baseline": a metric is on the wrong side
 * of the limit factor * baseline + offset. */
struct lull_condition {
    const char *text;   /* as the user wrote it */
    const char *metric; /* an id, "region:NAME" or "function:NAME" */
    bool above;         /* values above the limit fail; else values below it */
    bool relative;      /* the limit is relative to the baseline; else it is the offset */
    double factor, offset;
};

/* Reads METRIC < LIMIT or METRIC > LIMIT (<= and >= mean the same: values are not told apart so
 * finely). LIMIT is a number, baseline, NUMBER * baseline, or one of the latter two + or - a
 * number. Fails with LULL_ERR_RANGE, which says what is wrong; for an unknown metric it names the
 * nearest one. */
lull_status lull_condition_read(const char *text, struct lull_arena *arena,
                                struct lull_condition *ret_condition, struct lull_error *err);

/* Reads conditions, at least one; `texts` has NULL at its end, or is NULL. They may be relative
 * only where there is a baseline. Fails with LULL_ERR_RANGE, whose text begins with --fail-if. */
lull_status lull_conditions_read(const char *const *texts, bool has_baseline,
                                 struct lull_arena *arena,
                                 const struct lull_condition **ret_conditions, uint32_t *ret_count,
                                 struct lull_error *err);

/* Reads names of metrics, separated by commas; they are checked as those of conditions. */
lull_status lull_condition_metrics(const char *text, struct lull_arena *arena,
                                   const char ***ret_metrics, size_t *ret_count,
                                   struct lull_error *err);

/* ==== the gate ================================================================================ */

enum lull_gate_verdict { LULL_GATE_PASS, LULL_GATE_FAIL, LULL_GATE_UNKNOWN };

struct lull_gate_options {
    double false_alarms; /* level of the test that fails a condition, shared among all; usually
                            0.01 */
    double missed;       /* level of the test that passes a condition; usually 0.05 */
    bool as_measured;    /* medians are compared, whatever the noise */
};

#define LULL_MORE_NEVER UINT32_MAX

struct lull_gate_case {
    const struct lull_condition *condition;
    enum lull_gate_verdict verdict;
    double value;                 /* median of the new runs; NAN: none */
    double baseline, limit;       /* baseline: median of its runs in the history; NAN: none */
    uint32_t runs, baseline_runs; /* how many runs these medians are of */
    uint32_t since;     /* index in the history of the first run of the baseline: where the level
                           changed for the last time, or 0 */
    double probability; /* that this verdict is given although it is wrong; UNKNOWN: that of the
                           verdict that is nearer */
    uint32_t more;      /* UNKNOWN: how many more runs would decide; LULL_MORE_NEVER: no number */
    const char *why;    /* UNKNOWN: what is missing, as a part of a sentence; NULL: more runs */
};

/* A part whose time has changed. The times are medians over the runs. */
struct lull_move {
    const struct lull_part *part;
    int64_t before_ns, after_ns;
};

struct lull_gate {
    enum lull_gate_verdict verdict; /* FAIL if any fails, else UNKNOWN if any is, else PASS */
    struct lull_gate_case *cases;
    uint32_t n_cases;
    /* Parts that have grown, or that have shrunk where the runtime has; the largest change first.
     * Where one part explains why the runtime has grown, it stands before all others. That is the
     * part with the largest growth among those in which a thread waits for no other (waits are long
     * because something else is), if it has grown by at least half as much as the runtime. */
    struct lull_move *moves;
    uint32_t n_moves;
};

/* Judges new runs, which are in the order of time, by conditions. `history` is a series
 * (lull_history_read_series), or has no entries. Everything lives in `arena`. */
void lull_gate_judge(const struct lull_condition *conditions, uint32_t n_conditions,
                     const struct lull_history_entry *runs, uint32_t n_runs,
                     const struct lull_history *history, const struct lull_gate_options *options,
                     struct lull_arena *arena, struct lull_gate *ret_gate);

/* "pass", "fail", "unknown" */
const char *lull_gate_verdict_name(enum lull_gate_verdict verdict);

/* Finds the parts that have changed between two groups of runs; fills moves and n_moves. */
void lull_gate_moves(const struct lull_history_entry *before, uint32_t n_before,
                     const struct lull_history_entry *after, uint32_t n_after,
                     struct lull_arena *arena, struct lull_gate *gate);

/* ==== levels ================================================================================== */

/* A level of a metric: successive runs of a series between two changes of the metric. */
struct lull_history_level {
    uint32_t first, last; /* indices of the first and the last entry */
    uint32_t runs;        /* entries that have the metric */
    double median;
};

/* Finds the levels of a metric over a series, in their order, in `arena`. Returns their number, 0
 * where no run has the metric. */
uint32_t lull_history_levels(const struct lull_history *series, const char *metric,
                             struct lull_arena *arena, struct lull_history_level **ret_levels);

/* The values of a metric, of those entries that have it, in their order, and the indices of these
 * entries. Returns how many there are. */
uint32_t lull_history_values(const struct lull_history_entry *entries, uint32_t count,
                             const char *metric, struct lull_arena *arena, double **ret_values,
                             uint32_t **ret_indices);

/* The median of values in any order; NAN where there are none. */
double lull_history_median(const double *values, uint32_t count, struct lull_arena *arena);

#endif
