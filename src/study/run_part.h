/* Internal to study: which part of a run its numbers are of. */
#ifndef LULL_STUDY_RUN_PART_H
#define LULL_STUDY_RUN_PART_H

#include "study/runs.h"

/* The windows that `--window` and `--region` leave, or of the main part, between MPI_Init and
 * MPI_Finalize, or of the life of one of several applications; NULL: the whole run. Sets main_part
 * and life_ns of the run. The windows live in `arena`. LULL_ERR_RANGE: that part has no events. */
lull_status lull_run_choose_part(struct lull_run *run, const struct lull_runs_options *options,
                                 struct lull_arena *arena, struct lull_windows **ret_windows,
                                 struct lull_error *err);

#endif
