/* Laws that are not linear in their coefficients: Gauss-Newton with halved steps, from the best of
 * a grid of starting points, inside the bounds of the law. */
#include "model/fit/law.h"

#include <math.h>
#include <string.h>

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

/* ---- where to begin ------------------------------------------------------------------------- */

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

/* ---- the fit -------------------------------------------------------------------------------- */

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
        coefficient->low = fmax(coefficient->low, low_of(j));
        coefficient->high = fmin(coefficient->high, high_of(problem, j));
    }
    return true;
}

void lull_fit_curve(const struct lull_fit_data *data, struct lull_fit_model *model)
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
