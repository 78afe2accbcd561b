/* Laws of scaling over a table of measurements, or over runs: every series fitted, one of them in
 * front. */
#ifndef LULL_STUDY_MODEL_FIT_STUDY_H
#define LULL_STUDY_MODEL_FIT_STUDY_H

#include "model/fit/fit.h"
#include "study/runs.h"

/* What "--y" names. */
enum lull_fit_subject { LULL_FIT_RUNTIME, LULL_FIT_REGION, LULL_FIT_METRIC, LULL_FIT_COLUMN };
struct lull_fit_y {
    enum lull_fit_subject subject;
    const char *name; /* of the region, the metric or the column; of the runtime "runtime" */
};

/* Reads "runtime" (or NULL), "region:NAME", "metric:ID"; anything else is a column of a table. The
 * name is borrowed from `text`. */
struct lull_fit_y lull_fit_y_read(const char *text);

/* What is measured of runs, over what. */
struct lull_fit_wish {
    const char *const *x; /* "processes", "threads", "size"; NULL: processes if they differ, then
                             threads, then size */
    size_t n_x;
    struct lull_fit_y y; /* not a column */
    bool by_region;      /* also each region's exclusive time, and what is outside of all */
    const double *sizes; /* [n_sizes] of the problem, by the order of the operands; NULL: unknown */
    size_t n_sizes;
};

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

struct lull_fit_part {
    const struct lull_fit_series *series;
    struct lull_fit *fit; /* NULL: could not be fitted */
    const char *why_not;
};

struct lull_fit_study {
    const struct lull_fit_table *table;
    const struct lull_fit *fit; /* of the series in front */
    struct lull_fit_part
        *parts; /* all series of its metric, and for runs all; one: none beside it */
    size_t n_parts;
    size_t stops_first; /* the part whose efficiency falls below one half first; n_parts: none does
                           where the data bear it */
};

/* Fits the series `front` and those beside it that are about the same. */
lull_status lull_fit_study_make(const struct lull_fit_table *table, size_t front,
                                const struct lull_fit_options *options, struct lull_arena *arena,
                                struct lull_fit_study *ret_study, struct lull_error *err);

#endif
