/* Laws of scaling fitted to measurements: coefficients with confidence intervals, the law that
 * predicts best, and predictions as far as the data bear them. docs/fit.md has the formulas.
 *
 * A coefficient's interval is Student's, from the linearised law. Errors are taken in proportion to
 * the fitted value (RELATIVE: weights 1 / fit^2, found again until they stay) or all of one size
 * (ABSOLUTE). A coordinate that was measured several times counts once, with the mean and as many
 * times the weight. */
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
    const char *text; /* of the exponent: "3/4" */
};

/* A coefficient and what it belongs to in the normal form: a product of one term per parameter. */
struct lull_fit_block {
    const struct lull_fit_term *terms[LULL_FIT_PARAMETERS]; /* NULL: the parameter is not in it */
};

struct lull_fit_coefficient {
    const char *name;
    double value, low, high;
    bool bounded; /* the fit wanted to go beyond what the law allows, and was held */
};

struct lull_fit_law;

struct lull_fit_model {
    const struct lull_fit_law *law;
    const char *absent; /* why there is no fit; NULL: there is one */
    enum lull_fit_kind kind;
    size_t n_params;
    struct lull_fit_coefficient coefficients[LULL_FIT_COEFFICIENTS];
    size_t n_coefficients;
    struct lull_fit_block blocks[LULL_FIT_PARAMETERS]; /* of a normal form: coefficients 1 on */
    double covariance[LULL_FIT_COEFFICIENTS][LULL_FIT_COEFFICIENTS];
    double variance; /* of a value of weight 1 */
    double t;        /* half an interval in standard deviations */
    size_t freedom;  /* points less coefficients */
    bool relative;
    double deviation; /* root mean square of the relative differences of points and fit */
    double cv_error;  /* the same for points that the fit did not see, each left out once */
    unsigned tried;   /* hypotheses among which the search chose; 1 where there was no choice */
};

struct lull_fit_law {
    const char *name, *summary;
    const char *formula;   /* of 1 / speedup (weak: of the speedup), for people; or NULL */
    size_t n_coefficients; /* the most it can have */
    size_t least_values;   /* different values that it needs of every parameter */
    bool one_parameter;    /* of processes, counted from 1: not for quantities and several x */
    bool weak;             /* the work grows with the processes */
    /* 1 / speedup at p processes, and its derivatives by the coefficients from 1 on */
    double (*inverse_speedup)(double p, const double *shape, double *ret_gradient);
    struct {
        const char *name;
        double high; /* the least is 0 */
    } shapes[2];
    bool searched;  /* a normal form */
    bool shrinking; /* with terms that fall, of work that is divided */
};

/* NULL at the end; simple ones first. */
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
    size_t best; /* index; its law has a fit */
    double confidence;
    double low[LULL_FIT_PARAMETERS], high[LULL_FIT_PARAMETERS]; /* what was measured */
    size_t n_params;
};

/* Fits the laws and chooses. From the simplest law on, one with more coefficients or found by a
 * search replaces the one chosen so far if it predicts points left out better and if the gain is
 * more than chance: an F test at 5 %, divided by the number of curves of as many coefficients and
 * of the hypotheses that a search tried. Fails with LULL_ERR_RANGE, naming the series, where no law
 * can be fitted: too few points, all at the same place. The result lives in `arena`. */
lull_status lull_fit_series_fit(const struct lull_fit_series *series, const char *const *params,
                                size_t n_params, const struct lull_fit_options *options,
                                struct lull_arena *arena, struct lull_fit **ret_fit,
                                struct lull_error *err);

double lull_fit_value(const struct lull_fit_model *model, const double *x);

/* Where one more measurement at x is expected. */
struct lull_fit_prediction {
    double value, low, high;
};
struct lull_fit_prediction lull_fit_predict(const struct lull_fit_model *model, const double *x);

/* Why the data do not bear a prediction at x, in a few words that live in `arena`; NULL: they do.
 * They do where x lies beyond the measured range by no more than the range is wide (both on a
 * logarithmic scale), the interval is no wider than the value itself, and every other law that fits
 * the data as well lies inside it. */
const char *lull_fit_not_borne(const struct lull_fit *fit, const double *x,
                               struct lull_arena *arena);

/* The largest x of a fit of one parameter that the data bear. */
double lull_fit_reach(const struct lull_fit *fit, struct lull_arena *arena);

/* Where a quantity of one parameter stops scaling. NaN: not below `limit`. */
struct lull_fit_turning {
    double half; /* its efficiency, by what it is at the smallest x, falls below one half */
    double peak; /* it is best: least time, highest throughput */
};
struct lull_fit_turning lull_fit_turning(const struct lull_fit *fit, double limit);

/* "t1 (s + (1 - s)/processes)", "c0 + c1 processes^(1/2) log2(size)". */
const char *lull_fit_formula(const struct lull_fit_model *model, const char *const *params,
                             struct lull_arena *arena);

/* ==== law ===================================================================================== */

/* Internal to fit: what the laws share. */

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

void lull_fit_normal_form(const struct lull_fit_data *data, struct lull_fit_model *model);

/* The left-out error: what each point differs by from the law that the others make, to first order.
 * `rest` is measured less fitted; `work` holds n orthonormal columns (lull_fit_linear). */
double lull_fit_leave_out(const struct lull_fit_data *data, const double *rest, const double *work,
                          size_t n);

/* Whether `model` predicts points left out better than the one chosen so far, and that pays. What
 * is exact already is never replaced. */
bool lull_fit_is_better(const struct lull_fit_model *chosen, const struct lull_fit_model *model,
                        double alpha);

#endif
