/* What is left out of runs of very many threads, because it would need memory for each of them at
 * the same time; internal to the room. */
#ifndef LULL_STUDY_LEFT_OUT_H
#define LULL_STUDY_LEFT_OUT_H

#include "study/runs.h"

/* Of a run whose waits are not followed: why. */
struct lull_wait_result *lull_waits_left_out(const struct lull_runs_options *options,
                                             const struct lull_trace *trace,
                                             struct lull_arena *arena);
/* A notice of what the options left out of an analysed run, and could be had. */
void lull_tell_left_out(const struct lull_run *run, const struct lull_runs_options *options,
                        struct lull_notices *notices);

#endif
