/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs measured and judged by the conditions of a gate, with the noise of a history. */
#ifndef LULL_STUDY_HISTORY_CHECK_H
#define LULL_STUDY_HISTORY_CHECK_H

#include "study/history/gate.h"
#include "study/history/history.h"

/* ==== the runs ================================================================================ */

/* Reads the runs and makes an entry of each, sorted by time, in `arena`. Fails where they are of
 * different programs (lull_study_check), unless options->force is set. */
lull_status lull_history_measure(const char *const *paths, uint32_t count,
                                 const struct lull_runs_options *options,
                                 const struct lull_history_about *about,
                                 struct lull_notices *notices, struct lull_arena *arena,
                                 struct lull_history_entry **ret_entries, uint32_t *ret_count,
                                 struct lull_error *err);

/* Checks that the runs can be compared with each other, which fails for different numbers of
 * processes or threads; and that they are not certainly of another program than the series, which
 * is not checked with `force`. They certainly are where both have three or more functions and none
 * in common. Where they have fewer and none in common, a notice asks the user. */
lull_status lull_history_check(const struct lull_history *series,
                               const struct lull_history_entry *runs, uint32_t count, bool force,
                               struct lull_notices *notices, struct lull_error *err);

/* Renames the parts of the entries as the edited run names them (lull_parts_follow_edit), in the
 * arena of the notices, and tells so in a notice. */
void lull_history_follow_edit(struct lull_history_entry *entries, uint32_t count,
                              const struct lull_history_entry *edited,
                              struct lull_notices *notices);

/* ==== the check =============================================================================== */

struct lull_check_wish {
    const struct lull_condition *conditions; /* [n_conditions] */
    uint32_t n_conditions;
    const char *against; /* path of a history; NULL: none */
    const char *confirm; /* a command that makes one more run; NULL: a failure is not confirmed */
    struct lull_gate_options gate;
    struct lull_runs_options runs;
    struct lull_history_about about;
};

struct lull_check_study {
    struct lull_gate gate;
    const struct lull_history_entry *runs;
    uint32_t n_runs;
    uint32_t n_confirming;       /* of n_runs: those that were made to confirm a failure */
    struct lull_history history; /* the series that the runs belong to, without runs of their own
                                    commit; no entries without wish->against */
};

/* Reads the runs and judges them. If they fail and there is wish->confirm, that command makes as
 * many runs again, and all runs together are judged. The command finds the path of the run that it
 * is to write in the environment variable LULL_RUN; its output goes to standard error. Results live
 * in `arena`. Fails where the runs cannot be compared with each other or with the series
 * (lull_history_check), and where the command fails. */
lull_status lull_check_make(const char *const *paths, uint32_t count,
                            const struct lull_check_wish *wish, struct lull_notices *notices,
                            struct lull_arena *arena, struct lull_check_study *ret_study,
                            struct lull_error *err);

#endif
