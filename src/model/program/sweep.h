/* SPDX-License-Identifier: BSD-3-Clause */
/* A program model at many points: how far the program scales, what limits it, where the limit
 * changes, and which parameters matter most. */
#ifndef LULL_MODEL_PROGRAM_SWEEP_H
#define LULL_MODEL_PROGRAM_SWEEP_H

#include "model/program/program_model.h"

/* The values of one parameter. */
struct lull_model_axis {
    uint32_t parameter;
    const double *values; /* of a parameter that is a word: indices of words */
    size_t n_values;
};

/* Reads an axis as users write it: "P=1:4096:x2" (ratio), "L=100:1000:+100" (step), "P=1,2,6",
 * "decomposition=1-D,2-D". Fails with LULL_ERR_RANGE. */
lull_status lull_model_axis_read(struct lull_program_model *model, const char *text,
                                 struct lull_arena *arena, struct lull_model_axis *ret_axis,
                                 struct lull_error *err);

/* One choice of words for all parameters that are words and that the user left open, as the kind of
 * decomposition. */
struct lull_model_variant {
    const char *name; /* "2-D"; "" where there is only one variant */
    double *values;   /* [n_parameters] */
};

struct lull_model_point {
    struct lull_term_cost total;
    struct lull_term_cost *terms; /* [n_terms]; NULL where there are more than 4096 points */
    double speedup, efficiency;   /* work per time against one process, of the best variant */
    double uncertainty;           /* as lull_model_uncertainty says it */
    enum lull_resource limit;     /* the resource with the largest part */
    uint32_t term;                /* the term with the longest time */
};

/* What changes along an axis: the best variant, or the limit of a variant. */
struct lull_model_change {
    uint32_t variant;
    bool is_best;      /* the variant becomes the best one; else its limit changes */
    unsigned from, to; /* variants if is_best, else enum lull_resource */
    double at;         /* the first value of the axis' parameter with the new state: exact for whole
                          numbers, else to 1e-3 of the value */
};

struct lull_model_sweep {
    const struct lull_model_axis *axes; /* the last varies fastest */
    size_t n_axes, n_points;            /* no axes: one point */
    struct lull_model_variant *variants;
    uint32_t n_variants;
    struct lull_model_point **points;  /* [n_variants][n_points] */
    uint32_t *best;                    /* [n_points]: the variant that takes least time */
    struct lull_model_change *changes; /* if the only axis is one of numbers; sorted by variant,
                                          then place */
    size_t n_changes;
};

/* Evaluates every variant at every point. Fails as lull_model_evaluate does, and with
 * LULL_ERR_RANGE for too many points. */
lull_status lull_model_sweep_run(struct lull_program_model *model,
                                 const struct lull_model_axis *axes, size_t n_axes,
                                 struct lull_arena *arena, struct lull_model_sweep *ret_sweep,
                                 struct lull_error *err);
/* The values of all parameters of a variant at a point. */
void lull_model_sweep_values(const struct lull_program_model *model,
                             const struct lull_model_sweep *sweep, uint32_t variant, size_t point,
                             double *ret_values);
/* The value of an axis at a point. */
double lull_model_sweep_value(const struct lull_model_sweep *sweep, size_t axis, size_t point);

/* How much longer the program takes, as a factor, if a parameter is twice or half as large. */
struct lull_model_sensitivity {
    uint32_t parameter;
    double doubled, halved; /* NAN: the model has no value there (half a process) */
};

/* The sensitivities of all parameters that are numbers above 0, *ret_count of them, sorted so that
 * the one that matters most is first. Never fails for a point that can be evaluated. */
lull_status lull_model_sensitivities(struct lull_program_model *model, const double *values,
                                     struct lull_arena *arena,
                                     struct lull_model_sensitivity **ret_list, size_t *ret_count,
                                     struct lull_error *err);

#endif
