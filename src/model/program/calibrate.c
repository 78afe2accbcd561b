/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/program/calibrate.h"

#include "stats/regression.h"
#include "stats/special.h"

#include <math.h>
#include <string.h>

struct calibrating {
    struct lull_program_model *model;
    const uint32_t *free;
    size_t n_free;
    const struct lull_measured_term **points; /* [n_points] */
    size_t n_points;
    double *values;                 /* [n_parameters] */
    struct lull_term_cost *costs;   /* [n_terms] */
    double at[LULL_CALIBRATE_MOST]; /* logarithms of the free parameters */
};

/* Where the search for a parameter begins: at its value, or if it has none at one usual for its
 * unit. */
static double first_guess(const struct lull_model_parameter *parameter)
{
    if (parameter->value > 0)
        return parameter->value;
    return strcmp(parameter->unit, "s") == 0 ? 1e-6 : strstr(parameter->unit, "/s") ? 1e9 : 1;
}

/* The error of a point: the logarithm of predicted over measured time. */
static lull_status error_of(struct calibrating *calibrating, const double *at,
                            const struct lull_measured_term *point, double *ret_error,
                            struct lull_error *err)
{
    struct lull_program_model *model = calibrating->model;
    memcpy(calibrating->values, point->values, model->n_parameters * sizeof *calibrating->values);
    for (size_t j = 0; j < calibrating->n_free; j++)
        calibrating->values[calibrating->free[j]] = exp(at[j]);
    lull_status status = lull_model_evaluate(model, calibrating->values, calibrating->costs, err);
    if (status == LULL_OK)
        *ret_error = log(calibrating->costs[point->term].seconds / point->seconds);
    return status;
}

static lull_status sum_of_squares(struct calibrating *calibrating, const double *at,
                                  double *ret_errors, double *ret_sum, struct lull_error *err)
{
    *ret_sum = 0;
    for (size_t i = 0; i < calibrating->n_points; i++) {
        lull_status status = error_of(calibrating, at, calibrating->points[i], &ret_errors[i], err);
        if (status != LULL_OK)
            return status;
        *ret_sum += ret_errors[i] * ret_errors[i];
    }
    return LULL_OK;
}

/* The derivative of a point's error by the logarithm of a parameter. */
static lull_status slope_of(struct calibrating *calibrating, size_t j,
                            const struct lull_measured_term *point, double *ret_slope,
                            struct lull_error *err)
{
    static const double step = 1e-4;
    double at[LULL_CALIBRATE_MOST], above, below;
    memcpy(at, calibrating->at, sizeof at);
    at[j] += step;
    lull_status status = error_of(calibrating, at, point, &above, err);
    at[j] -= 2 * step;
    if (status == LULL_OK)
        status = error_of(calibrating, at, point, &below, err);
    if (status == LULL_OK)
        *ret_slope = isfinite(above) && isfinite(below) ? (above - below) / (2 * step) : 0;
    return status;
}

/* Keeps the points whose prediction depends on a free parameter. */
static lull_status choose_points(struct calibrating *calibrating,
                                 const struct lull_measured_term *measured, size_t count,
                                 struct lull_error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool matters = false;
        for (size_t j = 0; j < calibrating->n_free; j++) {
            double slope;
            lull_status status = slope_of(calibrating, j, &measured[i], &slope, err);
            if (status != LULL_OK)
                return status;
            matters = matters || fabs(slope) > 1e-9;
        }
        if (matters)
            calibrating->points[calibrating->n_points++] = &measured[i];
    }
    return LULL_OK;
}

struct solution {
    double *columns[LULL_CALIBRATE_MOST]; /* [n_points] each */
    double *errors, *tried, *work;
    struct lull_linear_fit fit;
};

static lull_status find_slopes(struct calibrating *calibrating, struct solution *solution,
                               struct lull_error *err)
{
    for (size_t j = 0; j < calibrating->n_free; j++) {
        double largest = 0;
        for (size_t i = 0; i < calibrating->n_points; i++) {
            lull_status status =
                slope_of(calibrating, j, calibrating->points[i], &solution->columns[j][i], err);
            if (status != LULL_OK)
                return status;
            largest = fmax(largest, fabs(solution->columns[j][i]));
        }
        if (largest < 1e-9)
            return lull_fail(err, LULL_ERR_RANGE,
                             "parameter '%s' has no effect on what was measured",
                             calibrating->model->parameters[calibrating->free[j]].name);
    }
    return LULL_OK;
}

/* Makes one step of Gauss and Newton. A step that makes the sum of squares larger is halved.
 * *ret_moved is how far the parameters went. */
static lull_status step(struct calibrating *calibrating, struct solution *solution, double *sum,
                        double *ret_moved, struct lull_error *err)
{
    double at[LULL_CALIBRATE_MOST], tried;
    lull_status status = find_slopes(calibrating, solution, err);
    if (status == LULL_OK &&
        lull_fit_linear((const double *const *)solution->columns, calibrating->n_free,
                        solution->errors, NULL, calibrating->n_points, solution->work,
                        &solution->fit, NULL) != LULL_OK)
        status = lull_fail(err, LULL_ERR_RANGE,
                           "the measured times do not tell the free parameters apart");
    if (status != LULL_OK)
        return status;
    for (double part = 1; part > 1e-6; part /= 2) {
        *ret_moved = 0;
        for (size_t j = 0; j < calibrating->n_free; j++) {
            double change = part * solution->fit.coefficients[j];
            at[j] = calibrating->at[j] - fmax(-20, fmin(20, change));
            *ret_moved = fmax(*ret_moved, fabs(change));
        }
        status = sum_of_squares(calibrating, at, solution->tried, &tried, err);
        if (status != LULL_OK)
            return status;
        if (tried <= *sum) {
            memcpy(calibrating->at, at, sizeof at);
            memcpy(solution->errors, solution->tried,
                   calibrating->n_points * sizeof *solution->errors);
            *sum = tried;
            return LULL_OK;
        }
    }
    *ret_moved = 0; /* no step makes it smaller */
    return LULL_OK;
}

static void conclude_calibration(const struct calibrating *calibrating,
                                 const struct solution *solution, double sum, double confidence,
                                 struct lull_calibration *calibration)
{
    size_t freedom = calibrating->n_points - calibrating->n_free;
    calibration->n_points = calibrating->n_points;
    calibration->residual = freedom > 0 ? sqrt(sum / (double)freedom) : NAN;
    double t = freedom > 0 ? lull_student_quantile(0.5 + confidence / 2, (double)freedom) : NAN;
    for (size_t j = 0; j < calibrating->n_free; j++) {
        struct lull_model_parameter *parameter =
            &calibrating->model->parameters[calibrating->free[j]];
        double half = t * calibration->residual * sqrt(solution->fit.inverse[j][j]);
        parameter->value = exp(calibrating->at[j]);
        parameter->low = parameter->value * exp(-half);
        parameter->high = parameter->value * exp(half);
        parameter->source = LULL_PARAMETER_CALIBRATED;
    }
}

static lull_status solve(struct calibrating *calibrating, struct solution *solution,
                         double *ret_sum, struct lull_error *err)
{
    enum { MOST_CALIBRATION_STEPS = 100 };
    double moved = INFINITY;
    lull_status status =
        sum_of_squares(calibrating, calibrating->at, solution->errors, ret_sum, err);
    for (int i = 0; status == LULL_OK && moved > 1e-9; i++) {
        if (i == MOST_CALIBRATION_STEPS)
            return lull_fail(err, LULL_ERR_RANGE, "the calibration does not converge");
        status = step(calibrating, solution, ret_sum, &moved, err);
    }
    return status;
}

lull_status lull_model_calibrate(struct lull_program_model *model, const uint32_t *free,
                                 size_t n_free, const struct lull_measured_term *measured,
                                 size_t n_measured, double confidence, struct lull_arena *arena,
                                 struct lull_calibration *ret_calibration, struct lull_error *err)
{
    struct calibrating calibrating = {
        .model = model,
        .free = free,
        .n_free = n_free,
        .points = lull_arena_zero(arena, n_measured + 1, sizeof *calibrating.points),
        .values = lull_arena_zero(arena, model->n_parameters, sizeof *calibrating.values),
        .costs = lull_arena_zero(arena, model->n_terms, sizeof *calibrating.costs)};
    struct solution solution = {
        .errors = lull_arena_zero(arena, n_measured + 1, sizeof *solution.errors),
        .tried = lull_arena_zero(arena, n_measured + 1, sizeof *solution.tried),
        .work = lull_arena_zero(arena, (n_measured + 1) * (n_free + 1), sizeof *solution.work)};
    double sum;
    if (n_free > LULL_CALIBRATE_MOST)
        return lull_fail(err, LULL_ERR_RANGE, "%zu free parameters, expected at most %d", n_free,
                         LULL_CALIBRATE_MOST);
    for (size_t j = 0; j < n_free; j++) {
        calibrating.at[j] = log(first_guess(&model->parameters[free[j]]));
        solution.columns[j] = lull_arena_zero(arena, n_measured + 1, sizeof *solution.columns[j]);
    }
    lull_status status = choose_points(&calibrating, measured, n_measured, err);
    if (status != LULL_OK)
        return status;
    if (calibrating.n_points < n_free)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%zu measured times of terms for %zu free parameters, expected as many or "
                         "more",
                         calibrating.n_points, n_free);
    status = solve(&calibrating, &solution, &sum, err);
    if (status == LULL_OK)
        conclude_calibration(&calibrating, &solution, sum, confidence, ret_calibration);
    return status;
}
