/* Runs read for a history or a gate. */
#ifndef LULL_STUDY_HISTORY_MEASURED_H
#define LULL_STUDY_HISTORY_MEASURED_H

#include "study/history/history.h"

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

#endif
