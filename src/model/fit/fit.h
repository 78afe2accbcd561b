/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws of scaling fitted to measurements: coefficients with confidence intervals, the law that
 * predicts best, and predictions as far as the data bear them. docs/fit.md has the formulas.
 *
 * A coefficient's interval is Student's, from the linearised law. The errors of the measurements
 * are taken to be in proportion to the fitted value (RELATIVE: weights 1 / fit^2, computed anew
 * after each fit until they no longer change) or all of one size (ABSOLUTE). A coordinate that was
 * measured n times is one point with the mean of its measurements and n times the weight. */
#ifndef LULL_MODEL_FIT_FIT_H
#define LULL_MODEL_FIT_FIT_H

#include "model/fit/measurements.h"
#include "stats/regression.h"

/* ==== fit ===================================================================================== */

enum { LULL_FIT_COEFFICIENTS = LULL_FIT_PARAMETERS + 1 };

enum lull_fit_errors {
    LULL_FIT_BY_KIND, /* RATE: absolute, as published fits of throughput are; others: relative */
    LULL_FIT_RELATIVE,
    LULL_FIT_ABSOLUTE
};

/* x^exponent log2(x)^logs */
struct lull_fit_term {
    double exponent;
    int logs;
    const char *text; /* the exponent for people: "3/4" */
};

/* What one coefficient of the normal form is multiplied with: the product of at most one term per
 * parameter. */
struct lull_fit_block {
    const struct lull_fit_term *terms[LULL_FIT_PARAMETERS]; /* NULL: the parameter is not in it */
};

struct lull_fit_coefficient {
    const char *name;
    double value, low, high;
    bool bounded; /* the value is at the bound that the law sets; a free fit would go beyond it */
};

struct lull_fit_law;

struct lull_fit_model {
    const struct lull_fit_law *law;
    const char *absent; /* why there is no fit; NULL: there is one */
    enum lull_fit_kind kind;
    size_t n_params;
    struct lull_fit_coefficient coefficients[LULL_FIT_COEFFICIENTS];
    size_t n_coefficients;
    struct lull_fit_block blocks[LULL_FIT_PARAMETERS]; /* of a normal form: blocks[i] belongs to
                                                          coefficients[i + 1]; 0 is the constant */
    double covariance[LULL_FIT_COEFFICIENTS][LULL_FIT_COEFFICIENTS]; /* of the coefficients */
    double variance; /* of a measurement of weight 1 */
    double t;        /* Student's quantile: half an interval in standard deviations */
    size_t freedom;  /* points less coefficients */
    bool relative;
    double deviation; /* root mean square of the relative differences of points and fit */
    double cv_error;  /* the same where each point is compared with a fit to all others */
    unsigned tried;   /* hypotheses among which the search chose; 1 where there was no choice */
};

struct lull_fit_law {
    const char *name, *summary;
    const char *formula;   /* of 1 / speedup (weak: of the speedup), for people; or NULL */
    size_t n_coefficients; /* the most it can have */
    size_t least_values;   /* how many different values it needs of every parameter */
    bool one_parameter;    /* it is a law of the number of processes, from 1 up: it is not tried for
                              quantities, nor where there are several parameters */
    bool weak;             /* the work grows with the processes */
    /* 1 / speedup at p processes, and its derivatives by the coefficients from 1 on (`shape`). NULL
     * for a law that is no law of speedup. */
    double (*inverse_speedup)(double p, const double *shape, double *ret_gradient);
    struct {
        const char *name;
        double high; /* its greatest value; its least is 0 */
    } shapes[2];
    bool searched;  /* a normal form, found by a search among hypotheses */
    bool shrinking; /* a normal form with terms that fall, for work that is divided */
};

/* All laws, simple ones first, NULL at the end. */
extern const struct lull_fit_law *const lull_fit_laws[];
const struct lull_fit_law *lull_fit_law_find(const char *name); /* NULL if unknown */

struct lull_fit_options {
    const struct lull_fit_law *const *laws; /* NULL at the end; NULL: all */
    enum lull_fit_errors errors;
    double confidence; /* 0: 0.95 */
};

struct lull_fit {
    const struct lull_fit_series *series;
    struct lull_fit_model *models; /* in the order of lull_fit_laws */
    size_t n_models;
    size_t best; /* index of the chosen model, which has a fit */
    double confidence;
    double low[LULL_FIT_PARAMETERS], high[LULL_FIT_PARAMETERS]; /* least and greatest value of each
                                                                   parameter that was measured */
    size_t n_params;
};

/* Fits the laws and chooses one. From the simplest law on, a law with more coefficients, or one
 * that a search found, replaces the law chosen so far if it predicts points left out better and if
 * the gain is more than chance explains. The latter is an F test at the level of 5 %, divided by
 * the number of different curves with as many coefficients, and by the number of hypotheses that a
 * search tried. Fails with LULL_ERR_RANGE, naming the series, where no law can be fitted, as for
 * too few points or points all at the same place. The result lives in `arena`. */
lull_status lull_fit_series_fit(const struct lull_fit_series *series, const char *const *params,
                                size_t n_params, const struct lull_fit_options *options,
                                struct lull_arena *arena, struct lull_fit **ret_fit,
                                struct lull_error *err);

double lull_fit_value(const struct lull_fit_model *model, const double *x);

/* What one more measurement at x is expected to give, and its interval. */
struct lull_fit_prediction {
    double value, low, high;
};
struct lull_fit_prediction lull_fit_predict(const struct lull_fit_model *model, const double *x);

/* Why the data do not bear a prediction at x, in a few words that live in `arena`; NULL: the data
 * bear it. They bear it where x lies beyond the measured range by no more than that range is wide
 * (both on a logarithmic scale: 2 to 16 bears up to 128), the interval of the prediction is no
 * wider than its value, and what every other law that fits the data as well predicts lies inside
 * the interval. */
const char *lull_fit_not_borne(const struct lull_fit *fit, const double *x,
                               struct lull_arena *arena);

/* The largest x of a fit of one parameter that the data bear. */
double lull_fit_reach(const struct lull_fit *fit, struct lull_arena *arena);

/* Values of the only parameter of a fit, between the smallest measured one and `limit`, where the
 * program stops scaling. NAN: there is none below `limit`. */
struct lull_fit_turning {
    double half; /* from here on the efficiency is below half of that at the smallest measured x */
    double peak; /* here the time is least, or the throughput highest */
};
struct lull_fit_turning lull_fit_turning(const struct lull_fit *fit, double limit);

/* The model for people: "t1 (s + (1 - s)/processes)", "c0 + c1 processes^(1/2) log2(size)". */
const char *lull_fit_formula(const struct lull_fit_model *model, const char *const *params,
                             struct lull_arena *arena);

/* ==== for the fits of single laws ============================================================= */

/* What the laws of speedup and the normal form share; internal to src/model/fit. */

/* The points of a series, as the fit of one law gets them. */
struct lull_fit_data {
    const struct lull_fit_point *points;
    size_t count, n_params;
    enum lull_fit_kind kind;
    bool relative;
    double mean; /* of the measured values y */
    double confidence;
    struct lull_arena *arena;
};

/* The weight of a measurement for which the law says `fitted`: 1 / its variance, up to a factor
 * that all points share. A fit that is still under way may be far too low, which would give a point
 * too much weight; `fitted` therefore counts as at least half of the measured value. */
double lull_fit_weight(const struct lull_fit_data *data, const struct lull_fit_point *point,
                       double fitted);

#define LULL_FIT_CHANCE 0.05 /* the level of the tests that choose */

/* The value at x, and its derivatives by all coefficients (ret_gradient NULL: not wanted). */
double lull_fit_evaluate(const struct lull_fit_model *model, const double *x, double *ret_gradient);

/* Sets deviation, degrees of freedom, variance, covariance and the intervals of the coefficients.
 * `linear` is the last linear fit, whose residuals are those of the model. */
void lull_fit_conclude(const struct lull_fit_data *data, const struct lull_linear_fit *linear,
                       struct lull_fit_model *model);

/* The end of a sentence that begins with the name of a law. */
#define LULL_FIT_NOT_APART "has coefficients that the points do not tell apart"

/* Fits a model whose law is a normal form, or says in `absent` why there is no fit. */
void lull_fit_normal_form(const struct lull_fit_data *data, struct lull_fit_model *model);

/* The cross-validation error (cv_error): how far each point is from the law that is fitted to all
 * others, to first order. `rest` is measured less fitted, [points]; `work` holds n orthonormal
 * columns (lull_fit_linear). */
double lull_fit_leave_out(const struct lull_fit_data *data, const double *rest, const double *work,
                          size_t n);

/* Whether `model` predicts points left out better than `chosen`, and its squares are smaller by
 * more than chance explains (F test at the level `alpha`). A model that meets all points exactly is
 * never replaced. */
bool lull_fit_is_better(const struct lull_fit_model *chosen, const struct lull_fit_model *model,
                        double alpha);

#endif
