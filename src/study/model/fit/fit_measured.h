/* Measurements that laws of scaling are fitted to, from runs or from the file of a table. */
#ifndef LULL_STUDY_MODEL_FIT_FIT_MEASURED_H
#define LULL_STUDY_MODEL_FIT_FIT_MEASURED_H

#include "study/model/fit/fit_wish.h"
#include "study/runs.h"

/* The parameter that is the size of the problem, not what works on it. */
#define LULL_FIT_SIZE "size"

/* A table of runs that are computed (lull_study_compute). Its first series is y; times are those of
 * a thread on average, for a region named in y with all that it calls. Regions follow that take 1 %
 * of the time of a run or more. Fails with LULL_ERR_RANGE for unknown names and metrics
 * without value. */
lull_status lull_fit_table_of_runs(const struct lull_runs *runs, const struct lull_fit_wish *wish,
                                   struct lull_arena *arena, struct lull_fit_table **ret_table,
                                   struct lull_error *err);

/* Which series of a table is meant by a region or a metric; otherwise the first. Fails with the
 * names that there are. */
lull_status lull_fit_find_series(const struct lull_fit_table *table, struct lull_fit_y y,
                                 struct lull_arena *arena, size_t *ret_index,
                                 struct lull_error *err);

/* Reads runs, as `options` say, or the one table among the paths, and finds the series *ret_front
 * that y means. Fails with LULL_ERR_RANGE for a table beside others, and as the parts do. */
lull_status lull_fit_measured_read(const char *const *paths, uint32_t count,
                                   const struct lull_fit_wish *wish,
                                   const struct lull_runs_options *options,
                                   struct lull_notices *notices, struct lull_fit_table **ret_table,
                                   size_t *ret_front, struct lull_error *err);

#endif
