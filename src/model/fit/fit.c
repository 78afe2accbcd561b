/* Fitting all laws, and the choice among them. */
#include "model/fit/fit.h"

#include "model/fit/law.h"
#include "stats/special.h"

#include <math.h>

enum { MOST_OF_SEVERAL = 2000 }; /* the search keeps thousands of columns of this length */
/* What a fit differs by when only rounding is left. */
static const double exact = 1e-9;

/* ---- what the laws share -------------------------------------------------------------------- */

double lull_fit_deviation(const struct lull_fit_data *data, double measured, double fitted)
{
    double middle = data->relative ? (fabs(measured) + fabs(fitted)) / 2 : data->mean;
    return measured == fitted ? 0 : (measured - fitted) / middle;
}

double lull_fit_weight(const struct lull_fit_data *data, const struct lull_fit_point *point,
                       double fitted)
{
    double size = fmax(fitted, point->y / 2);
    return point->repetitions / (data->relative ? size * size : 1);
}

void lull_fit_conclude(const struct lull_fit_data *data, const struct lull_linear_fit *linear,
                       struct lull_fit_model *model)
{
    double sum = 0, total = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct lull_fit_point *point = &data->points[i];
        double off = lull_fit_deviation(data, point->y, lull_fit_value(model, point->x));
        sum += point->repetitions * off * off;
        total += point->repetitions;
    }
    model->deviation = sqrt(sum / total);
    model->relative = data->relative;
    model->freedom = data->count - model->n_coefficients;
    model->variance = linear->squares / (double)model->freedom;
    model->t = lull_student_quantile(0.5 + data->confidence / 2, (double)model->freedom);
    for (size_t i = 0; i < model->n_coefficients; i++) {
        struct lull_fit_coefficient *coefficient = &model->coefficients[i];
        for (size_t j = 0; j < model->n_coefficients; j++)
            model->covariance[i][j] = model->variance * linear->inverse[i][j];
        double half = model->t * sqrt(model->covariance[i][i]);
        coefficient->low = coefficient->value - half;
        coefficient->high = coefficient->value + half;
    }
}

bool lull_fit_pays(double squares_before, double squares, size_t n_more, size_t freedom,
                   double alpha)
{
    if (freedom == 0 || !(squares < squares_before))
        return false;
    double more = (double)n_more, left = (double)freedom;
    double ratio = (squares_before - squares) / more / (squares / left);
    return squares <= 0 ||
           lull_beta_regularised(left / 2, more / 2, left / (left + more * ratio)) < alpha;
}

bool lull_fit_is_better(const struct lull_fit_model *chosen, const struct lull_fit_model *model,
                        double alpha)
{
    size_t more = model->n_coefficients > chosen->n_coefficients
                      ? model->n_coefficients - chosen->n_coefficients
                      : 1;
    return chosen->deviation > exact && model->cv_error < chosen->cv_error &&
           lull_fit_pays(chosen->deviation * chosen->deviation, model->deviation * model->deviation,
                         more, model->freedom, alpha);
}

double lull_fit_leave_out(const struct lull_fit_data *data, const double *rest, const double *work,
                          size_t n)
{
    double sum = 0, total = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct lull_fit_point *point = &data->points[i];
        double leverage = 0;
        for (size_t j = 0; j < n; j++)
            leverage += work[j * data->count + i] * work[j * data->count + i];
        double alone = rest[i] / fmax(1 - leverage, 1e-12);
        double off = lull_fit_deviation(data, point->y, point->y - alone);
        sum += point->repetitions * off * off;
        total += point->repetitions;
    }
    return sqrt(sum / total);
}

/* ---- one law -------------------------------------------------------------------------------- */

static size_t count_values(const struct lull_fit_series *series, size_t parameter)
{
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i && is_new; k++)
            is_new = series->points[k].x[parameter] != series->points[i].x[parameter];
        count += is_new;
        if (count >= 5) /* no law needs more */
            break;
    }
    return count;
}

/* Why a law cannot be fitted to these points; NULL: it can. */
static const char *find_obstacle(const struct lull_fit_law *law, const struct lull_fit_data *data,
                                 const struct lull_fit_series *series, const char *const *params)
{
    if (law->one_parameter && data->kind == LULL_FIT_QUANTITY)
        return "is about times, throughputs and efficiencies";
    if (law->one_parameter && data->n_params > 1)
        return "is a law of one parameter";
    for (size_t p = 0; p < data->n_params; p++) {
        size_t values = count_values(series, p);
        if (values < law->least_values)
            return lull_arena_printf(data->arena, "needs %zu values of %s, there %s %zu",
                                     law->least_values, params[p], values == 1 ? "is" : "are",
                                     values);
    }
    if (law->searched && data->n_params > 1 && data->count > MOST_OF_SEVERAL)
        return lull_arena_printf(data->arena, "takes at most %d points of several parameters",
                                 MOST_OF_SEVERAL);
    if (law->one_parameter && series->points[0].x[0] < 1)
        return lull_arena_printf(data->arena, "counts %s from 1, there is %g", params[0],
                                 series->points[0].x[0]);
    return NULL;
}

static void fit_law(const struct lull_fit_data *data, const struct lull_fit_series *series,
                    const char *const *params, struct lull_fit_model *model)
{
    model->kind = data->kind;
    model->n_params = data->n_params;
    model->absent = find_obstacle(model->law, data, series, params);
    if (model->absent)
        return;
    if (model->law->inverse_speedup)
        lull_fit_curve(data, model);
    else
        lull_fit_normal_form(data, model);
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* The laws from `first` on that are compared with each other: as many coefficients, no search.
 * Returns their end. */
static size_t end_of_group(const struct lull_fit *fit, size_t first)
{
    const struct lull_fit_law *law = fit->models[first].law;
    size_t end = first + 1;
    while (end < fit->n_models && !law->searched && !fit->models[end].law->searched &&
           fit->models[end].law->n_coefficients == law->n_coefficients)
        end++;
    return end;
}

/* Laws may be one curve with other coefficients; their errors differ by rounding then. */
static bool is_same_curve(const struct lull_fit_model *a, const struct lull_fit_model *b)
{
    return fabs(a->cv_error - b->cv_error) <= 1e-6 * a->cv_error;
}

static size_t count_curves(const struct lull_fit *fit, size_t first, size_t end)
{
    size_t count = 0;
    for (size_t m = first; m < end; m++) {
        bool is_new = !fit->models[m].absent;
        for (size_t k = first; k < m; k++)
            is_new &= fit->models[k].absent || !is_same_curve(&fit->models[k], &fit->models[m]);
        count += is_new;
    }
    return count;
}

static void choose(struct lull_fit *fit)
{
    size_t chosen = 0;
    while (chosen < fit->n_models && fit->models[chosen].absent)
        chosen++;
    for (size_t first = chosen + 1, end; first < fit->n_models; first = end) {
        end = end_of_group(fit, first);
        double alpha = LULL_FIT_CHANCE / fmax(1, (double)count_curves(fit, first, end));
        size_t best = chosen;
        for (size_t m = first; m < end; m++)
            if (!fit->models[m].absent &&
                lull_fit_is_better(&fit->models[chosen], &fit->models[m],
                                   alpha / fit->models[m].tried) &&
                (best == chosen || (fit->models[m].cv_error < fit->models[best].cv_error &&
                                    !is_same_curve(&fit->models[m], &fit->models[best]))))
                best = m;
        chosen = best;
    }
    fit->best = chosen;
}

/* ---- the series ----------------------------------------------------------------------------- */

static lull_status check_points(const struct lull_fit_series *series, const char *const *params,
                                const struct lull_fit_data *data, struct lull_error *err)
{
    const char *name = lull_fit_series_name(series, data->arena);
    if (series->count == 0)
        return lull_fail(err, LULL_ERR_RANGE, "%s: no points", name);
    for (size_t p = 0; p < data->n_params; p++)
        if (count_values(series, p) < 2)
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: all points have %s = %g, expected several values", name,
                             params[p], series->points[0].x[p]);
    for (size_t i = 0; data->relative && i < series->count; i++)
        if (!(series->points[i].y > 0))
            return lull_fail(err, LULL_ERR_RANGE,
                             "%s: is 0 at %s = %g, expected values above 0 (errors are taken in "
                             "proportion to them)",
                             name, params[0], series->points[i].x[0]);
    return LULL_OK;
}

static struct lull_fit_data prepare_data(const struct lull_fit_series *series, size_t n_params,
                                         const struct lull_fit_options *options,
                                         struct lull_arena *arena)
{
    struct lull_fit_data data = {.points = series->points,
                                 .count = series->count,
                                 .n_params = n_params,
                                 .kind = series->kind,
                                 .relative = options->errors == LULL_FIT_BY_KIND
                                                 ? series->kind != LULL_FIT_RATE
                                                 : options->errors == LULL_FIT_RELATIVE,
                                 .confidence = options->confidence > 0 ? options->confidence : 0.95,
                                 .arena = arena};
    for (size_t i = 0; i < series->count; i++)
        data.mean += series->points[i].y / (double)series->count;
    return data;
}

static void measure_range(struct lull_fit *fit)
{
    for (size_t p = 0; p < fit->n_params; p++) {
        fit->low[p] = INFINITY;
        fit->high[p] = 0;
        for (size_t i = 0; i < fit->series->count; i++) {
            fit->low[p] = fmin(fit->low[p], fit->series->points[i].x[p]);
            fit->high[p] = fmax(fit->high[p], fit->series->points[i].x[p]);
        }
    }
}

lull_status lull_fit_series_fit(const struct lull_fit_series *series, const char *const *params,
                                size_t n_params, const struct lull_fit_options *options,
                                struct lull_arena *arena, struct lull_fit **ret_fit,
                                struct lull_error *err)
{
    const struct lull_fit_law *const *laws = options->laws ? options->laws : lull_fit_laws;
    struct lull_arena *scratch = lull_arena_create(NULL);
    struct lull_fit_data data = prepare_data(series, n_params, options, scratch);
    lull_status status = check_points(series, params, &data, err);
    struct lull_fit *fit = lull_arena_zero(arena, 1, sizeof *fit);
    *fit = (struct lull_fit){.series = series, .confidence = data.confidence, .n_params = n_params};
    while (laws[fit->n_models])
        fit->n_models++;
    fit->models = lull_arena_zero(arena, fit->n_models, sizeof *fit->models);
    for (size_t m = 0; status == LULL_OK && m < fit->n_models; m++) {
        fit->models[m].law = laws[m];
        fit_law(&data, series, params, &fit->models[m]);
        if (fit->models[m].absent)
            fit->models[m].absent = lull_arena_strdup(arena, fit->models[m].absent);
    }
    if (status == LULL_OK) {
        choose(fit);
        measure_range(fit);
        if (fit->best == fit->n_models)
            status =
                lull_fail(err, LULL_ERR_RANGE, "%s: %s %s", lull_fit_series_name(series, scratch),
                          laws[0]->name, fit->models[0].absent);
    }
    lull_arena_destroy(scratch);
    if (status == LULL_OK)
        *ret_fit = fit;
    return status;
}
