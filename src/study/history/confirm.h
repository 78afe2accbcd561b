/* Runs that are made to confirm what others say. Internal to study. */
#ifndef LULL_STUDY_HISTORY_CONFIRM_H
#define LULL_STUDY_HISTORY_CONFIRM_H

#include "study/history/measured.h"

/* Runs the command so often, each time with the name of a run that it is to write in the variable
 * LULL_RUN of its environment, reads these runs, and removes them. What the command prints goes to
 * standard error. Fails where the command does. */
lull_status lull_confirm_run(const char *command, uint32_t count,
                             const struct lull_runs_options *options,
                             const struct lull_history_about *about, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_history_entry **ret_entries,
                             uint32_t *ret_count, struct lull_error *err);

#endif
