/* The texts by which users name runs, sizes, free parameters and sweeps of program models. All
 * fail with LULL_ERR_RANGE; results live in `arena`. */
#ifndef LULL_STUDY_MODEL_PROGRAM_WISH_H
#define LULL_STUDY_MODEL_PROGRAM_WISH_H

#include "model/program/sweep.h"

/* A run as the user named it, with values that hold for it alone. */
struct lull_model_run_wish {
    const char *path;
    const char *const *settings; /* "L=500", NULL at the end; NULL: none */
};

/* Lists of runs (NULL at the end, or NULL) such as "RUN,L=100,RUN2": pieces with '=' that are no
 * files belong to the run before them. */
lull_status lull_model_runs_read(const char *const *texts, struct lull_arena *arena,
                                 const struct lull_model_run_wish **ret_wishes, uint32_t *ret_count,
                                 struct lull_error *err);

/* The size of the problem of each run that a model is derived from: "N=1000" behind every run, with
 * one name, or behind none (*ret_name is NULL). */
lull_status lull_model_sizes_read(const struct lull_model_run_wish *wishes, uint32_t count,
                                  struct lull_arena *arena, const char **ret_name,
                                  const double **ret_sizes, struct lull_error *err);

/* The parameters that a calibration finds: names with commas; for NULL those that the model marks
 * and the user has not set. */
lull_status lull_model_free_read(const struct lull_program_model *model, const char *text,
                                 struct lull_arena *arena, const uint32_t **ret_free,
                                 size_t *ret_count, struct lull_error *err);

/* The axes of a sweep (NULL at the end, or NULL), as lull_model_axis_read understands them. A
 * parameter without a value gets the first of its axis. */
lull_status lull_model_axes_read(struct lull_program_model *model, const char *const *texts,
                                 struct lull_arena *arena, const struct lull_model_axis **ret_axes,
                                 size_t *ret_count, struct lull_error *err);

#endif
