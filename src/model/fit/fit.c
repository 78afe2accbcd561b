/* SPDX-License-Identifier: BSD-3-Clause */
/* Fitting all laws, and the choice among them. */
#include "model/fit/fit.h"

#include "stats/regression.h"
#include "stats/special.h"

#include <math.h>
#include <string.h>

/* ==== the laws ================================================================================ */

/* The laws, and what they say at a point. */

/* ---- laws of speedup ------------------------------------------------------------------------- */

static double amdahl(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[0] = 1 - 1 / p;
    return shape[0] + (1 - shape[0]) / p;
}

static double amdahl_log(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[1] = log2(p);
    return amdahl(p, shape, ret_gradient) + shape[1] * ret_gradient[1];
}

static double amdahl_linear(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[1] = p - 1;
    return amdahl(p, shape, ret_gradient) + shape[1] * ret_gradient[1];
}

static double gustafson(double p, const double *shape, double *ret_gradient)
{
    double inverse = 1 / (shape[0] + (1 - shape[0]) * p);
    ret_gradient[0] = (p - 1) * inverse * inverse;
    return inverse;
}

/* Gunther's universal scalability law: contention alpha, coherence beta. */
static double usl(double p, const double *shape, double *ret_gradient)
{
    ret_gradient[0] = (p - 1) / p;
    ret_gradient[1] = p - 1;
    return (1 + shape[0] * (p - 1) + shape[1] * p * (p - 1)) / p;
}

static const struct lull_fit_law law_constant = {
    .name = "constant", .summary = "nothing changes", .n_coefficients = 1, .least_values = 3};

static const struct lull_fit_law law_amdahl = {
    .name = "amdahl",
    .summary = "a serial fraction s; the rest is divided among the processes",
    .formula = "s + (1 - s)/P",
    .n_coefficients = 2,
    .least_values = 3,
    .one_parameter = true,
    .inverse_speedup = amdahl,
    .shapes = {{"s", 1}}};

static const struct lull_fit_law law_gustafson = {
    .name = "gustafson",
    .summary = "the work grows with the processes, but for a serial fraction s",
    .formula = "s + (1 - s) P",
    .n_coefficients = 2,
    .least_values = 3,
    .one_parameter = true,
    .weak = true,
    .inverse_speedup = gustafson,
    .shapes = {{"s", 1}}};

static const struct lull_fit_law law_amdahl_log = {
    .name = "amdahl-log",
    .summary = "Amdahl, and communication that grows with the logarithm of the processes",
    .formula = "s + (1 - s)/P + c log2(P)",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = amdahl_log,
    .shapes = {{"s", 1}, {"c", INFINITY}}};

static const struct lull_fit_law law_amdahl_linear = {
    .name = "amdahl-linear",
    .summary = "Amdahl, and communication that grows with the processes",
    .formula = "s + (1 - s)/P + c (P - 1)",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = amdahl_linear,
    .shapes = {{"s", 1}, {"c", INFINITY}}};

static const struct lull_fit_law law_usl = {
    .name = "usl",
    .summary = "universal scalability law: contention alpha, coherence beta",
    .formula = "(1 + alpha (P - 1) + beta P (P - 1))/P",
    .n_coefficients = 3,
    .least_values = 4,
    .one_parameter = true,
    .inverse_speedup = usl,
    .shapes = {{"alpha", 1}, {"beta", INFINITY}}};

static const struct lull_fit_law law_pmnf = {
    .name = "pmnf",
    .summary = "performance model normal form: sums and products of x^i log2(x)^j",
    .n_coefficients = LULL_FIT_PARAMETERS + 1,
    .least_values = 5,
    .searched = true};

static const struct lull_fit_law law_pmnf_strong = {
    .name = "pmnf-strong",
    .summary = "normal form of strong scaling: also terms that fall, and work divided by x",
    .n_coefficients = LULL_FIT_PARAMETERS + 1,
    .least_values = 5,
    .searched = true,
    .shrinking = true};

const struct lull_fit_law *const lull_fit_laws[] = {
    &law_constant,   &law_amdahl,        &law_gustafson,
    &law_amdahl_log, &law_amdahl_linear, &law_usl,
    &law_pmnf,       &law_pmnf_strong,   NULL};

const struct lull_fit_law *lull_fit_law_find(const char *name)
{
    for (size_t i = 0; lull_fit_laws[i]; i++)
        if (strcmp(lull_fit_laws[i]->name, name) == 0)
            return lull_fit_laws[i];
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The value of a law of speedup: with u the inverse speedup, a time is scale * u, or scale * P u
 * where the work grows with P; a rate is scale / u, an efficiency scale / (P u). */
static double evaluate_speedup(const struct lull_fit_model *model, double p, double *ret_gradient)
{
    double shape[LULL_FIT_COEFFICIENTS], slope[LULL_FIT_COEFFICIENTS] = {0};
    for (size_t i = 1; i < model->n_coefficients; i++)
        shape[i - 1] = model->coefficients[i].value;
    double u = model->law->inverse_speedup(p, shape, slope);
    double scale = model->coefficients[0].value, value, by_u;
    if (model->kind == LULL_FIT_TIME) {
        by_u = model->law->weak ? p : 1;
        value = by_u * u;
    } else {
        value = 1 / (model->kind == LULL_FIT_RATE ? u : p * u);
        by_u = -value / u;
    }
    if (ret_gradient) {
        ret_gradient[0] = value;
        for (size_t i = 1; i < model->n_coefficients; i++)
            ret_gradient[i] = scale * by_u * slope[i - 1];
    }
    return scale * value;
}

double lull_fit_evaluate(const struct lull_fit_model *model, const double *x, double *ret_gradient)
{
    if (model->law->inverse_speedup)
        return evaluate_speedup(model, x[0], ret_gradient);
    double sum = 0;
    for (size_t i = 0; i < model->n_coefficients; i++) {
        double column = 1;
        for (size_t p = 0; i > 0 && p < model->n_params; p++) {
            const struct lull_fit_term *term = model->blocks[i - 1].terms[p];
            if (term)
                column *= pow(x[p], term->exponent) * pow(log2(x[p]), term->logs);
        }
        if (ret_gradient)
            ret_gradient[i] = column;
        sum += model->coefficients[i].value * column;
    }
    return sum;
}

double lull_fit_value(const struct lull_fit_model *model, const double *x)
{
    return lull_fit_evaluate(model, x, NULL);
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *fit_term_text(const struct lull_fit_term *term, const char *name,
                                 struct lull_arena *arena)
{
    const char *power = "", *logs = "";
    if (term->exponent == 1)
        power = lull_arena_printf(arena, " %s", name);
    else if (term->exponent != 0)
        power = lull_arena_printf(arena, strpbrk(term->text, "/-") ? " %s^(%s)" : " %s^%s", name,
                                  term->text);
    if (term->logs)
        logs = lull_arena_printf(arena, term->logs == 1 ? " log2(%s)" : " log2(%s)^2", name);
    return lull_arena_printf(arena, "%s%s", power, logs);
}

/* The law's part in what it says of a time, a throughput and so on, with the parameter's name. */
static const char *speedup_formula(const struct lull_fit_model *model, const char *name,
                                   struct lull_arena *arena)
{
    static const char *const frames[2][3][2] = {
        {{"t1 (", ")"}, {"x1/(", ")"}, {"e1/(P (", "))"}}, /* around 1 / speedup */
        {{"t1 P/(", ")"}, {"x1 (", ")"}, {"e1 (", ")/P"}}, /* weak: around the speedup */
    };
    const char *const *frame = frames[model->law->weak][model->kind];
    const char *pattern =
        lull_arena_printf(arena, "%s%s%s", frame[0], model->law->formula, frame[1]);
    const char *text = "";
    for (; *pattern; pattern++)
        text = *pattern == 'P' ? lull_arena_printf(arena, "%s%s", text, name)
                               : lull_arena_printf(arena, "%s%c", text, *pattern);
    return text;
}

const char *lull_fit_formula(const struct lull_fit_model *model, const char *const *params,
                             struct lull_arena *arena)
{
    if (model->law->formula)
        return speedup_formula(model, params[0], arena);
    const char *text = "c0";
    for (size_t i = 1; i < model->n_coefficients; i++) {
        text = lull_arena_printf(arena, "%s + %s", text, model->coefficients[i].name);
        for (size_t p = 0; p < model->n_params; p++)
            if (model->blocks[i - 1].terms[p])
                text = lull_arena_printf(
                    arena, "%s%s", text,
                    fit_term_text(model->blocks[i - 1].terms[p], params[p], arena));
    }
    return text;
}

/* ==== laws of speedup fitted ================================================================== */

/* These laws are not linear in their coefficients. They are fitted by the Gauss-Newton method with
 * halved steps, from the best of a grid of starting points, inside the bounds of the law. */

enum { MOST_NEWTON_STEPS = 200, MOST_HALVINGS = 40 };

/* Steps below this, relative to the coefficient, change nothing any more. */
static const double step_end = 1e-13;

struct problem {
    const struct lull_fit_data *data;
    struct lull_fit_model *model;
    double *columns[LULL_FIT_COEFFICIENTS]; /* derivatives at the points */
    double *rest, *weights, *work;          /* rest: measured less fitted */
    double *target;                         /* of the steps that are still free */
};

static double high_of(const struct problem *problem, size_t i)
{
    return i == 0 ? INFINITY : problem->model->law->shapes[i - 1].high;
}

static double low_of(size_t i)
{
    return i == 0 ? -INFINITY : 0;
}

/* Values, derivatives and weights at the present coefficients; returns the weighted squares. */
static double linearise(struct problem *problem)
{
    double gradient[LULL_FIT_COEFFICIENTS], squares = 0;
    for (size_t i = 0; i < problem->data->count; i++) {
        const struct lull_fit_point *point = &problem->data->points[i];
        double fitted = lull_fit_evaluate(problem->model, point->x, gradient);
        for (size_t j = 0; j < problem->model->n_coefficients; j++)
            problem->columns[j][i] = gradient[j];
        problem->rest[i] = point->y - fitted;
        problem->weights[i] = lull_fit_weight(problem->data, point, fitted);
        squares += problem->weights[i] * problem->rest[i] * problem->rest[i];
    }
    return squares;
}

/* The squares at other coefficients, with the weights of the last linearisation. */
static double squares_at(const struct problem *problem, const double *coefficients)
{
    struct lull_fit_model trial = *problem->model;
    double squares = 0;
    for (size_t j = 0; j < trial.n_coefficients; j++)
        trial.coefficients[j].value = coefficients[j];
    for (size_t i = 0; i < problem->data->count; i++) {
        const struct lull_fit_point *point = &problem->data->points[i];
        double rest = point->y - lull_fit_evaluate(&trial, point->x, NULL);
        squares += problem->weights[i] * rest * rest;
    }
    return isfinite(squares) ? squares : INFINITY;
}

/* Least squares of the remainders in the columns that are not held. */
static bool solve_free(const struct problem *problem, const double *rest, const bool *held,
                       double *ret_step, struct lull_linear_fit *ret_linear)
{
    const double *columns[LULL_FIT_COEFFICIENTS];
    size_t index[LULL_FIT_COEFFICIENTS], n = 0;
    for (size_t j = 0; j < problem->model->n_coefficients; j++)
        if (!held[j]) {
            columns[n] = problem->columns[j];
            index[n++] = j;
        }
    if (lull_fit_linear(columns, n, rest, problem->weights, problem->data->count, problem->work,
                        ret_linear, NULL) != LULL_OK)
        return false;
    for (size_t k = 0; k < n; k++)
        ret_step[index[k]] = ret_linear->coefficients[k];
    return true;
}

/* The best step inside the bounds: a coefficient that would leave them goes to its bound and is
 * held there, and the others are sought again. */
static bool find_step(const struct problem *problem, double *step, bool *held)
{
    const struct lull_fit_model *model = problem->model;
    size_t count = problem->data->count;
    double *target = problem->target;
    struct lull_linear_fit linear;
    memset(held, 0, LULL_FIT_COEFFICIENTS * sizeof *held);
    memcpy(target, problem->rest, count * sizeof *target);
    for (bool again = true; again;) {
        again = false;
        if (!solve_free(problem, target, held, step, &linear))
            return false;
        for (size_t j = 0; j < model->n_coefficients && !again; j++) {
            double value = model->coefficients[j].value, next = value + step[j];
            if (held[j] || (next >= low_of(j) && next <= high_of(problem, j)))
                continue;
            step[j] = (next < low_of(j) ? low_of(j) : high_of(problem, j)) - value;
            held[j] = again = true;
            for (size_t i = 0; i < count; i++)
                target[i] -= step[j] * problem->columns[j][i];
        }
    }
    return true;
}

/* Goes along the step as far as the squares fall. Returns how far, relative to the coefficients; 0:
 * nowhere. */
static double go(struct problem *problem, double squares, const double *step)
{
    struct lull_fit_model *model = problem->model;
    double share = 1, trial[LULL_FIT_COEFFICIENTS] = {0};
    for (int halving = 0; halving < MOST_HALVINGS; halving++, share /= 2) {
        double way = 0;
        for (size_t j = 0; j < model->n_coefficients; j++) {
            double value = model->coefficients[j].value;
            trial[j] = value + share * step[j];
            way = fmax(way, fabs(share * step[j]) / fmax(fabs(value), 1e-6));
        }
        if (squares_at(problem, trial) > squares)
            continue;
        for (size_t j = 0; j < model->n_coefficients; j++)
            model->coefficients[j].value = trial[j];
        return way;
    }
    return 0;
}

/* ---- where to begin -------------------------------------------------------------------------- */

/* The scale that fits best for the shape that is set, and the squares that remain. */
static double fit_scale(struct problem *problem)
{
    struct lull_fit_model *model = problem->model;
    double gradient[LULL_FIT_COEFFICIENTS], up = 0, down = 0, squares = 0;
    for (size_t i = 0; i < problem->data->count; i++) {
        const struct lull_fit_point *point = &problem->data->points[i];
        lull_fit_evaluate(model, point->x, gradient);
        problem->weights[i] = lull_fit_weight(problem->data, point, point->y);
        problem->columns[0][i] = gradient[0];
        up += problem->weights[i] * gradient[0] * point->y;
        down += problem->weights[i] * gradient[0] * gradient[0];
    }
    model->coefficients[0].value = up / down;
    for (size_t i = 0; i < problem->data->count; i++) {
        double rest = problem->data->points[i].y - problem->columns[0][i] * (up / down);
        squares += problem->weights[i] * rest * rest;
    }
    return squares;
}

static void begin(struct problem *problem)
{
    static const double first[] = {0, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9};
    static const double second[] = {0, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1};
    struct lull_fit_model *model = problem->model, best = *model;
    double least = INFINITY;
    model->coefficients[0].value = 1;
    for (size_t a = 0; a < sizeof first / sizeof *first; a++)
        for (size_t b = 0; b < (model->n_coefficients > 2 ? sizeof second / sizeof *second : 1);
             b++) {
            model->coefficients[1].value = first[a];
            model->coefficients[2].value = second[b];
            double squares = fit_scale(problem);
            if (squares < least) {
                least = squares;
                best = *model;
            }
        }
    *model = best;
}

/* ---- the fit --------------------------------------------------------------------------------- */

static void name_coefficients(struct lull_fit_model *model)
{
    static const char *const scales[] = {"t1", "x1", "e1"};
    model->coefficients[0].name = scales[model->kind];
    for (size_t i = 1; i < model->n_coefficients; i++)
        model->coefficients[i].name = model->law->shapes[i - 1].name;
}

/* False where the points do not tell the coefficients apart. */
static bool iterate(struct problem *problem, bool *held)
{
    double step[LULL_FIT_COEFFICIENTS], way = 1;
    for (int i = 0; i < MOST_NEWTON_STEPS && way > step_end; i++) {
        double squares = linearise(problem);
        if (!find_step(problem, step, held))
            return false;
        way = go(problem, squares, step);
    }
    return true;
}

/* The left-out error from the coefficients that are free; covariance from all, so that one at its
 * bound has an interval, too. */
static bool conclude_curve(struct problem *problem, const bool *held)
{
    static const bool none[LULL_FIT_COEFFICIENTS];
    struct lull_fit_model *model = problem->model;
    struct lull_linear_fit linear;
    double step[LULL_FIT_COEFFICIENTS], squares = linearise(problem);
    size_t n_free = 0;
    if (!solve_free(problem, problem->rest, held, step, &linear))
        return false;
    for (size_t j = 0; j < model->n_coefficients; j++) {
        n_free += !held[j];
        model->coefficients[j].bounded = held[j];
    }
    model->cv_error = lull_fit_leave_out(problem->data, problem->rest, problem->work, n_free);
    if (!solve_free(problem, problem->rest, none, step, &linear))
        return false;
    linear.squares = squares; /* of the law itself, which its bounds may hold */
    lull_fit_conclude(problem->data, &linear, model);
    for (size_t j = 0; j < model->n_coefficients; j++) {
        struct lull_fit_coefficient *coefficient = &model->coefficients[j];
        coefficient->low = fmax(coefficient->low, 0); /* also for t1, x1 and e1 */
        coefficient->high = fmin(coefficient->high, high_of(problem, j));
    }
    return true;
}

/* Fills a model of the law, or says in `absent` why there is none. */
static void fit_curve(const struct lull_fit_data *data, struct lull_fit_model *model)
{
    struct problem problem = {.data = data, .model = model};
    bool held[LULL_FIT_COEFFICIENTS];
    size_t bytes = data->count * sizeof(double);
    model->n_coefficients = model->law->n_coefficients;
    model->tried = 1;
    name_coefficients(model);
    for (size_t j = 0; j < model->n_coefficients; j++)
        problem.columns[j] = lull_arena_alloc(data->arena, bytes);
    problem.rest = lull_arena_alloc(data->arena, bytes);
    problem.target = lull_arena_alloc(data->arena, bytes);
    problem.weights = lull_arena_alloc(data->arena, bytes);
    problem.work = lull_arena_alloc(data->arena, bytes * (model->n_coefficients + 1));

    begin(&problem);
    if (!iterate(&problem, held) || !conclude_curve(&problem, held))
        model->absent = LULL_FIT_NOT_APART;
}

/* ==== all laws, and the choice ================================================================ */

enum { MOST_OF_SEVERAL = 2000 }; /* the search keeps thousands of columns of this length */

/* What a fit differs by when only rounding is left. */
static const double exact = 1e-9;

/* ---- what the laws share --------------------------------------------------------------------- */

/* How far a fitted value is off, relative to the middle of both (RELATIVE, at most 2) or to the
 * mean of all (ABSOLUTE). */
static double fit_deviation(const struct lull_fit_data *data, double measured, double fitted)
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
        double off = fit_deviation(data, point->y, lull_fit_value(model, point->x));
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

/* Whether the squares of a law with n_more more coefficients and `freedom` degrees of freedom are
 * smaller by more than chance explains, at the level `alpha`: an F test. */
static bool fit_pays(double squares_before, double squares, size_t n_more, size_t freedom,
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
           fit_pays(chosen->deviation * chosen->deviation, model->deviation * model->deviation,
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
        double off = fit_deviation(data, point->y, point->y - alone);
        sum += point->repetitions * off * off;
        total += point->repetitions;
    }
    return sqrt(sum / total);
}

/* ---- one law --------------------------------------------------------------------------------- */

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
        fit_curve(data, model);
    else
        lull_fit_normal_form(data, model);
}

/* ---- the choice ------------------------------------------------------------------------------ */

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

/* ---- the series ------------------------------------------------------------------------------ */

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

/* ==== predictions ============================================================================= */

/* What a fit says of places where nothing was measured. */

/* Points without noise give an interval without width. Two laws that are the same curve then differ
 * by the rounding of their coefficients, which is taken to be this share of a value. */
static const double coefficient_rounding = 1e-6;

struct lull_fit_prediction lull_fit_predict(const struct lull_fit_model *model, const double *x)
{
    double gradient[LULL_FIT_COEFFICIENTS];
    double value = lull_fit_evaluate(model, x, gradient);
    double variance = model->variance * (model->relative ? value * value : 1);
    for (size_t i = 0; i < model->n_coefficients; i++)
        for (size_t j = 0; j < model->n_coefficients; j++)
            variance += gradient[i] * model->covariance[i][j] * gradient[j];
    double half = model->t * sqrt(variance), low = value - half;
    if (model->kind != LULL_FIT_QUANTITY && value >= 0 && low < 0)
        low = 0; /* no time, rate or efficiency is below */
    return (struct lull_fit_prediction){value, low, value + half};
}

/* Whether a law fits the points as well as the best one: its deviation is no larger, or by no more
 * than what one coefficient gains by chance (an F test at the level of the intervals). */
static bool is_rival(const struct lull_fit *fit, const struct lull_fit_model *model)
{
    const struct lull_fit_model *best = &fit->models[fit->best];
    return model != best && !model->absent &&
           (model->deviation <= best->deviation ||
            !fit_pays(model->deviation * model->deviation, best->deviation * best->deviation, 1,
                      best->freedom, 1 - fit->confidence));
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
