/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing runs: whether they belong together, which of them is the reference, how the problem
 * grows from run to run, and the values of their metrics. */
#ifndef LULL_STUDY_COMPARE_H
#define LULL_STUDY_COMPARE_H

#include "study/runs.h"

/* Fails when two runs are certainly not of one program: both name at least three functions of
 * the user, and none is in both. Tells what makes them hard to compare (other counters, the same
 * run twice, a growth of work that is neither strong nor weak scaling). */
lull_status lull_study_check(const struct lull_runs *runs, bool force, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_error *err);

/* Makes the run called `name` (its path or its name) the reference; NULL: the first run, which has
 * the fewest threads. Fails with the names that there are. */
lull_status lull_study_reference(struct lull_runs *runs, const char *name, struct lull_arena *arena,
                                 struct lull_error *err);

/* How the problem grows with the threads. */
enum lull_scaling_wish {
    LULL_SCALING_NOT_SAID, /* taken as strong */
    LULL_SCALING_AS_STRONG,
    LULL_SCALING_AS_WEAK,
    LULL_SCALING_BY_EVIDENCE /* lull_scaling_guess decides */
};

/* Sets the scaling of the runs and tells the choice, with the evidence where that decided. */
void lull_study_scaling(struct lull_runs *runs, enum lull_scaling_wish wish,
                        struct lull_notices *notices);

/* How runs are compared. */
struct lull_comparison_wish {
    const char *reference; /* NULL: that with the fewest threads */
    bool force;
    enum lull_scaling_wish scaling;
};

/* Reads the runs, checks and compares them, and fills their values. Ends with lull_runs_close,
 * whether it fails or not. */
lull_status lull_study_compare(const char *const *paths, uint32_t count,
                               const struct lull_runs_options *options,
                               const struct lull_comparison_wish *wish,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_runs *ret_runs, struct lull_error *err);

/* Does the same with runs that were read before. */
lull_status lull_study_compare_loaded(struct lull_runs *runs,
                                      const struct lull_comparison_wish *wish,
                                      struct lull_notices *notices, struct lull_arena *arena,
                                      struct lull_error *err);

/* Computes the values of all runs from their `input`. The values live in `arena`. */
lull_status lull_study_compute(struct lull_runs *runs, struct lull_arena *arena,
                               struct lull_error *err);

#endif
