/* Conditions under which a check fails: "runtime > 1.05 * baseline". */
#ifndef LULL_STUDY_HISTORY_CONDITION_H
#define LULL_STUDY_HISTORY_CONDITION_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Whether there is such a metric: a quantity (lull_history_quantities), region:NAME, or the id of
 * one of the trees. LULL_ERR_RANGE names the nearest. */
lull_status lull_condition_metric(const char *metric, struct lull_arena *arena,
                                  struct lull_error *err);
/* Several with commas. */
lull_status lull_condition_metrics(const char *text, struct lull_arena *arena,
                                   const char ***ret_metrics, size_t *ret_count,
                                   struct lull_error *err);

#endif
