/* What a fit says of places where nothing was measured. */
#include "model/fit/fit.h"

#include "model/fit/law.h"
#include "stats/special.h"

#include <math.h>

/* Of coefficients that points without noise leave no room: laws that hold each other differ by it.
 */
static const double coefficient_rounding = 1e-6;

struct lull_fit_prediction lull_fit_predict(const struct lull_fit_model *model, const double *x)
{
    double gradient[LULL_FIT_COEFFICIENTS];
    double value = lull_fit_evaluate(model, x, gradient);
    double variance = model->variance * (model->relative ? value * value : 1);
    for (size_t i = 0; i < model->n_coefficients; i++)
        for (size_t j = 0; j < model->n_coefficients; j++)
            variance += gradient[i] * model->covariance[i][j] * gradient[j];
    double half = model->t * sqrt(variance);
    return (struct lull_fit_prediction){value, value - half, value + half};
}

/* A law that fits the points as well as the best: the best one's squares would have to be no larger
 * by more than one coefficient's worth. */
static bool is_rival(const struct lull_fit *fit, const struct lull_fit_model *model)
{
    const struct lull_fit_model *best = &fit->models[fit->best];
    return model != best && !model->absent &&
           (model->deviation <= best->deviation ||
            !lull_fit_pays(model->deviation * model->deviation, best->deviation * best->deviation,
                           1, best->freedom, 1 - fit->confidence));
}

const char *lull_fit_not_borne(const struct lull_fit *fit, const double *x,
                               struct lull_arena *arena)
{
    const struct lull_fit_model *best = &fit->models[fit->best];
    for (size_t p = 0; p < fit->n_params; p++) {
        double wide = fit->high[p] / fit->low[p];
        if (x[p] > fit->high[p] * wide || x[p] < fit->low[p] / wide)
            return lull_arena_printf(arena,
                                     "further from what was measured, %g to %g, than that is "
                                     "wide",
                                     fit->low[p], fit->high[p]);
    }
    struct lull_fit_prediction prediction = lull_fit_predict(best, x);
    if (!(prediction.high - prediction.low <= prediction.value))
        return lull_arena_printf(arena, "the interval is wider than the value");
    for (size_t m = 0; m < fit->n_models; m++) {
        const struct lull_fit_model *model = &fit->models[m];
        if (!is_rival(fit, model))
            continue;
        double value = lull_fit_value(model, x), slack = coefficient_rounding * fabs(value);
        if (!(value >= prediction.low - slack && value <= prediction.high + slack))
            return lull_arena_printf(arena, "%s fits as well and says %.4g", model->law->name,
                                     value);
    }
    return NULL;
}

double lull_fit_reach(const struct lull_fit *fit, struct lull_arena *arena)
{
    enum { SCAN_STEPS = 64 };
    double reach = fit->high[0], wide = fit->high[0] / fit->low[0];
    for (int i = 1; i <= SCAN_STEPS; i++) {
        double x = fit->high[0] * pow(wide, (double)i / SCAN_STEPS);
        if (i == SCAN_STEPS)
            x = fit->high[0] * wide;
        if (lull_fit_not_borne(fit, &x, arena))
            break;
        reach = x;
    }
    return reach;
}

/* What is gained by going from `from` to x, per unit of x. */
static double efficiency(const struct lull_fit_model *model, double from, double x)
{
    double value = lull_fit_value(model, &x), first = lull_fit_value(model, &from);
    if (model->kind == LULL_FIT_TIME)
        return first * from / (value * x);
    return model->kind == LULL_FIT_RATE ? value * from / (first * x) : value / first;
}

struct lull_fit_turning lull_fit_turning(const struct lull_fit *fit, double limit)
{
    enum { SCAN_STEPS = 2000 };
    const struct lull_fit_model *model = &fit->models[fit->best];
    struct lull_fit_turning turning = {NAN, NAN};
    double from = fit->low[0], wide = limit / from, before = from, best = from;
    double best_value = lull_fit_value(model, &from);
    for (int i = 1; i <= SCAN_STEPS; i++) {
        double x = from * pow(wide, (double)i / SCAN_STEPS), value = lull_fit_value(model, &x);
        if (isnan(turning.half) && efficiency(model, from, x) < 0.5) {
            double low = before, high = x;
            for (int k = 0; k < 60; k++) {
                double middle = (low + high) / 2;
                if (efficiency(model, from, middle) < 0.5)
                    high = middle;
                else
                    low = middle;
            }
            turning.half = high;
        }
        if (model->kind == LULL_FIT_TIME ? value < best_value : value > best_value) {
            best = x;
            best_value = value;
        }
        before = x;
    }
    turning.peak = best < before ? best : NAN; /* at the end it is still getting better */
    return turning;
}
