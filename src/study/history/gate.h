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

#include "study/history/condition.h"
#include "study/history/history.h"

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

#endif
