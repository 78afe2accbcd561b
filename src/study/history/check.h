/* Runs measured and judged by the conditions of a gate, with the noise of a history. */
#ifndef LULL_STUDY_HISTORY_CHECK_H
#define LULL_STUDY_HISTORY_CHECK_H

#include "study/history/gate.h"
#include "study/history/history.h"

/* ==== measured ================================================================================ */

/* Runs read for a history or a gate. */

/* Reads the runs and makes an entry of each, by time, in `arena`. Fails where they are of different
 * programs (lull_study_check), without options->force. */
lull_status lull_history_measure(const char *const *paths, uint32_t count,
                                 const struct lull_runs_options *options,
                                 const struct lull_history_about *about,
                                 struct lull_notices *notices, struct lull_arena *arena,
                                 struct lull_history_entry **ret_entries, uint32_t *ret_count,
                                 struct lull_error *err);

/* Fails where the runs cannot be compared with each other (another number of processes or threads),
 * or are certainly of another program than the series: three functions and more each, none in
 * both, which `force` leaves out. Where fewer have none in common a notice asks. */
lull_status lull_history_check(const struct lull_history *series,
                               const struct lull_history_entry *runs, uint32_t count, bool force,
                               struct lull_notices *notices, struct lull_error *err);

/* Names what the entries spent time on as the edited run does (lull_parts_follow_edit), in the
 * arena of the notices, and tells that. */
void lull_history_follow_edit(struct lull_history_entry *entries, uint32_t count,
                              const struct lull_history_entry *edited,
                              struct lull_notices *notices);

/* ==== check =================================================================================== */

struct lull_check_wish {
    const struct lull_condition *conditions; /* [n_conditions] */
    uint32_t n_conditions;
    const char *against; /* the file of a history; NULL: none */
    const char *confirm; /* a command that makes one more run; NULL: a failure is not confirmed */
    struct lull_gate_options gate;
    struct lull_runs_options runs;
    struct lull_history_about about;
};

struct lull_check_study {
    struct lull_gate gate;
    const struct lull_history_entry *runs;
    uint32_t n_runs;
    uint32_t n_confirming;       /* of them: those that were made to confirm a failure */
    struct lull_history history; /* the series that the runs belong to, without their commit; no
                                    entries without wish->against */
};

/* Reads the runs and judges them. What fails is made again by wish->confirm, as often as there are
 * runs, and judged by all of them: the command gets the name of a run that it is to write in the
 * variable LULL_RUN of its environment, and its output goes to standard error. Results live in
 * `arena`. Fails where the runs cannot be compared with each other or the series
 * (lull_history_check), and where the command does. */
lull_status lull_check_make(const char *const *paths, uint32_t count,
                            const struct lull_check_wish *wish, struct lull_notices *notices,
                            struct lull_arena *arena, struct lull_check_study *ret_study,
                            struct lull_error *err);

#endif
