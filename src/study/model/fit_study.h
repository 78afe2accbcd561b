/* Laws of scaling over a table of measurements, or over runs: every series fitted, one of them in
 * front. */
#ifndef LULL_STUDY_MODEL_FIT_STUDY_H
#define LULL_STUDY_MODEL_FIT_STUDY_H

#include "model/fit/fit.h"
#include "study/runs.h"

/* ==== fit study =============================================================================== */

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

/* ==== fit wish ================================================================================ */

/* The texts by which users name what is fitted, over what, and by which laws. Those that can fail
 * do so with LULL_ERR_RANGE; results live in `arena`. */

/* What "--y" names. */
enum lull_fit_subject { LULL_FIT_RUNTIME, LULL_FIT_REGION, LULL_FIT_METRIC, LULL_FIT_COLUMN };
struct lull_fit_y {
    enum lull_fit_subject subject;
    const char *name; /* of the region, the metric or the column; of the runtime "runtime" */
};

/* Reads "runtime" (or NULL), "region:NAME", "metric:ID"; anything else is a column of a table. The
 * name is borrowed from `text`. */
struct lull_fit_y lull_fit_y_read(const char *text);

/* What is measured, over what. */
struct lull_fit_wish {
    const char *const *x; /* "processes", "threads", "size"; NULL: processes if they differ, then
                             threads, then size */
    size_t n_x;
    struct lull_fit_y y; /* not a column */
    bool by_region;      /* also each region's exclusive time, and what is outside of all */
    const double *sizes; /* [n_sizes] of the problem, by the order of the operands; NULL: unknown */
    size_t n_sizes;
    const char *column; /* of a CSV that y is, if it is none of the others; NULL: the last */
    bool has_kind;      /* of a table: what y is, which otherwise follows from its name */
    enum lull_fit_kind kind;
};

/* NULL where nothing was said. */
struct lull_fit_texts {
    const char *x;          /* names with commas */
    const char *y;          /* as above */
    const char *laws;       /* names with commas, "all" */
    const char *kind;       /* "time", "throughput", "efficiency", "quantity" */
    const char *errors;     /* "relative", "absolute" */
    const char *by;         /* "region" */
    const char *confidence; /* of intervals, in percent */
    const char *sizes;      /* of problems with commas, all above 0 */
};

lull_status lull_fit_wish_read(const struct lull_fit_texts *texts, struct lull_arena *arena,
                               struct lull_fit_wish *ret_wish, struct lull_fit_options *ret_options,
                               struct lull_error *err);

/* Coordinates with commas, of several parameters as "64:1000,128:1000"; for NULL there are none. */
lull_status lull_fit_places_read(const char *text, size_t n_params, struct lull_arena *arena,
                                 const double (**ret_places)[LULL_FIT_PARAMETERS],
                                 size_t *ret_count, struct lull_error *err);

/* ==== fit measured ============================================================================ */

/* Measurements that laws of scaling are fitted to, from runs or from the file of a table. */

/* A table of runs that are computed (lull_study_compute). Its first series is y; times are those of
 * a thread on average, for a region named in y with all that it calls. Regions follow that take 1 %
 * of the time of a run or more. Fails with LULL_ERR_RANGE for unknown names and metrics
 * without value. */
lull_status lull_fit_table_of_runs(const struct lull_runs *runs, const struct lull_fit_wish *wish,
                                   struct lull_arena *arena, struct lull_fit_table **ret_table,
                                   struct lull_error *err);

/* Reads runs, as `options` say, or the one table among the paths, and finds the series *ret_front
 * that y means. Fails with LULL_ERR_RANGE for a table beside others, and as the parts do. */
lull_status lull_fit_measured_read(const char *const *paths, uint32_t count,
                                   const struct lull_fit_wish *wish,
                                   const struct lull_runs_options *options,
                                   struct lull_notices *notices, struct lull_fit_table **ret_table,
                                   size_t *ret_front, struct lull_error *err);

#endif
