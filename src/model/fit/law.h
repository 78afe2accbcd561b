/* Internal to fit: what the laws share. */
#ifndef LULL_MODEL_FIT_LAW_H
#define LULL_MODEL_FIT_LAW_H

#include "model/fit/fit.h"

#include "stats/regression.h"

/* The points of a series as a fit wants them. */
struct lull_fit_data {
    const struct lull_fit_point *points;
    size_t count, n_params;
    enum lull_fit_kind kind;
    bool relative;
    double mean; /* of y */
    double confidence;
    struct lull_arena *arena;
};

/* How far a fitted value is off, relative to the middle of both (RELATIVE, at most 2) or to the
 * mean of all (ABSOLUTE). */
double lull_fit_deviation(const struct lull_fit_data *data, double measured, double fitted);

/* 1 / variance of a measurement whose law says `fitted`, up to a factor. The fit may go astray on
 * its way: half the measurement is the least it counts as. */
double lull_fit_weight(const struct lull_fit_data *data, const struct lull_fit_point *point,
                       double fitted);

#define LULL_FIT_CHANCE 0.05 /* the level of the tests that choose */

/* The value at x and its derivatives by all coefficients (NULL: not wanted). */
double lull_fit_evaluate(const struct lull_fit_model *model, const double *x, double *ret_gradient);

/* Sets the covariance and what follows from it: variance, intervals, deviation. `linear` is
 * the last linear fit, whose residuals are those of the model. */
void lull_fit_conclude(const struct lull_fit_data *data, const struct lull_linear_fit *linear,
                       struct lull_fit_model *model);

/* Behind the name of a law: */
#define LULL_FIT_NOT_APART "has coefficients that the points do not tell apart"

/* Fills a model of the law, or says in `absent` why there is none. */
void lull_fit_curve(const struct lull_fit_data *data, struct lull_fit_model *model);
void lull_fit_normal_form(const struct lull_fit_data *data, struct lull_fit_model *model);

/* The left-out error: what each point differs by from the law that the others make, to first order.
 * `rest` is measured less fitted; `work` holds n orthonormal columns (lull_fit_linear). */
double lull_fit_leave_out(const struct lull_fit_data *data, const double *rest, const double *work,
                          size_t n);

/* Whether the squares of a law with n_more more coefficients and `freedom` degrees of freedom are
 * smaller by more than chance explains, at the level `alpha`: an F test. */
bool lull_fit_pays(double squares_before, double squares, size_t n_more, size_t freedom,
                   double alpha);

/* Whether `model` predicts points left out better than the one chosen so far, and that pays. What
 * is exact already is never replaced. */
bool lull_fit_is_better(const struct lull_fit_model *chosen, const struct lull_fit_model *model,
                        double alpha);

#endif
