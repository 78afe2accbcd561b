/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of scaling: what users ask (a wish, read from their texts), measurements from runs or
 * from the file of a table, and the laws that are fitted to them. One series is in front; the
 * others are fitted beside it. Results live in an arena. */
#ifndef LULL_STUDY_MODEL_FIT_STUDY_H
#define LULL_STUDY_MODEL_FIT_STUDY_H

#include "model/fit/fit.h"
#include "study/runs.h"

/* ==== the study =============================================================================== */

struct lull_fit_part {
    const struct lull_fit_series *series;
    struct lull_fit *fit; /* NULL: it could not be fitted */
    const char *why_not;  /* why it could not be fitted */
};

struct lull_fit_study {
    const struct lull_fit_table *table;
    const struct lull_fit *fit;  /* of the series in front */
    struct lull_fit_part *parts; /* [n_parts] all series of its metric; for runs, all series */
    size_t n_parts;
    size_t stops_first; /* the part whose efficiency falls below one half first; n_parts: none does
                           where the data bear it */
};

/* Fits the series with the index `front`, and beside it all series of its metric; in a table that
 * was made from runs, all series. */
lull_status lull_fit_study_make(const struct lull_fit_table *table, size_t front,
                                const struct lull_fit_options *options, struct lull_arena *arena,
                                struct lull_fit_study *ret_study, struct lull_error *err);

/* ==== the wish ================================================================================ */

/* What users ask: what is fitted, over which parameters, and by which laws. Functions that can fail
 * do so with LULL_ERR_RANGE. */

/* What the option --y names. */
enum lull_fit_subject { LULL_FIT_RUNTIME, LULL_FIT_REGION, LULL_FIT_METRIC, LULL_FIT_COLUMN };
struct lull_fit_y {
    enum lull_fit_subject subject;
    const char *name; /* of the region, the metric or the column; of the runtime "runtime" */
};

/* Reads "runtime" (or NULL), "region:NAME", "metric:ID"; anything else is a column of a table, but of
 * runs "memory" is the most that a process had, in bytes. The name is borrowed from `text`. */
struct lull_fit_y lull_fit_y_read(const char *text);

/* What is measured, over what. */
struct lull_fit_wish {
    const char *const *x; /* "processes", "threads", "size"; NULL: processes if they differ, then
                             threads, then size */
    size_t n_x;
    struct lull_fit_y y; /* not a column */
    bool by_region;      /* also fit each region's exclusive time, and the time outside of all */
    const double *sizes; /* [n_sizes] of the problem, in the order of the operands; NULL: unknown */
    size_t n_sizes;
    const char *column; /* the column of a CSV that is fitted, where `y` does not say; NULL: the
                           last */
    bool has_kind; /* of a table: `kind` is the user's; else it follows from the metric's name */
    enum lull_fit_kind kind;
};

/* The user's texts; NULL where nothing was said. */
struct lull_fit_texts {
    const char *x;          /* names, separated by commas */
    const char *y;          /* as lull_fit_y_read takes it */
    const char *laws;       /* names, separated by commas, or "all" */
    const char *kind;       /* "time", "throughput", "efficiency", "quantity" */
    const char *errors;     /* "relative", "absolute" */
    const char *by;         /* "region" */
    const char *confidence; /* of intervals, in percent */
    const char *sizes;      /* of problems, separated by commas, all above 0 */
};

lull_status lull_fit_wish_read(const struct lull_fit_texts *texts, struct lull_arena *arena,
                               struct lull_fit_wish *ret_wish, struct lull_fit_options *ret_options,
                               struct lull_error *err);

/* Reads coordinates at which users want predictions: "64,128" with one parameter,
 * "64:1000,128:1000" with two. For NULL there are none. */
lull_status lull_fit_places_read(const char *text, size_t n_params, struct lull_arena *arena,
                                 const double (**ret_places)[LULL_FIT_PARAMETERS],
                                 size_t *ret_count, struct lull_error *err);

/* ==== the measurements ======================================================================== */

/* Makes a table of runs, whose metrics have been computed (lull_study_compute). Its first series is
 * y. Times are those of a thread on average; the time of a region that y names includes all that
 * the region calls. With wish->by_region, series of regions follow that take 1 % or more of the
 * time of some run. Fails with LULL_ERR_RANGE for unknown names and for metrics without value. */
lull_status lull_fit_table_of_runs(const struct lull_runs *runs, const struct lull_fit_wish *wish,
                                   struct lull_arena *arena, struct lull_fit_table **ret_table,
                                   struct lull_error *err);

/* Reads the measurements: either from runs, as `options` say, or from a table, which is then the
 * only path. *ret_front gets the index of the series that y means. Fails with LULL_ERR_RANGE for a
 * table beside other paths, and as reading and fitting do. */
lull_status lull_fit_measured_read(const char *const *paths, uint32_t count,
                                   const struct lull_fit_wish *wish,
                                   const struct lull_runs_options *options,
                                   struct lull_notices *notices, struct lull_fit_table **ret_table,
                                   size_t *ret_front, struct lull_error *err);

#endif
