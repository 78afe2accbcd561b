/* Internal to study: the analysis of one run: from events to the numbers of its metrics. */
#ifndef LULL_STUDY_ANALYSE_H
#define LULL_STUDY_ANALYSE_H

#include "study/runs.h"

/* Breakdown, numbers and runtime on an ideal network of a run whose path, name and trace are set.
 * Errors name the run's file. */
lull_status lull_run_analyse(struct lull_run *run, const struct lull_runs_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_error *err);

/* The second half alone: the numbers of a run whose breakdown is set. */
lull_status lull_run_evaluate(struct lull_run *run, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_error *err);

/* The locations of threads other than masters that send, receive or take part in collectives, as a
 * replay wants them; NULL: there are none. */
const bool *lull_run_callers(const struct lull_run *run, uint32_t application,
                             struct lull_arena *arena);

/* Puts the run's path in front of an error that does not begin with it: errors of the trace room
 * name the file, those of the metrics cannot know it. Returns `status`. */
lull_status lull_run_fail(const struct lull_run *run, lull_status status, struct lull_error *err);

#endif
