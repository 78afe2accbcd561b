#include "stats/fit/linear_fit.h"

#include <math.h>

/* What is left of a column that depends on others is this much of it, or less. */
static const double nothing_left = 1e-13;

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Takes the parts along the first n columns out of `vector`, and adds their lengths to `parts`. */
static void project_out(const double *columns, size_t n, size_t count, double *vector,
                        double *parts)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < n; j++) {
            const double *column = &columns[j * count];
            double part = dot(column, vector, count);
            parts[j] += part;
            for (size_t i = 0; i < count; i++)
                vector[i] -= part * column[i];
        }
}

/* inverse = R^-1 R^-T for the upper triangle R; coefficients = R^-1 parts. */
static void solve_triangle(double r[][LULL_FIT_COLUMNS], const double *parts, size_t n,
                           struct lull_linear_fit *fit)
{
    double root[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS] = {{0}}; /* R^-1 */
    for (size_t j = 0; j < n; j++) {
        root[j][j] = 1 / r[j][j];
        for (size_t i = j; i-- > 0;) {
            double sum = 0;
            for (size_t k = i + 1; k <= j; k++)
                sum += r[i][k] * root[k][j];
            root[i][j] = -sum / r[i][i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        double rest = parts[i];
        for (size_t k = i + 1; k < n; k++)
            rest -= r[i][k] * fit->coefficients[k];
        fit->coefficients[i] = rest / r[i][i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                fit->inverse[i][j] += root[i][k] * root[j][k];
}

lull_status lull_fit_linear(const double *const *columns, size_t n_columns, const double *y,
                            const double *weights, size_t count, double *work,
                            struct lull_linear_fit *ret_fit, struct lull_error *err)
{
    if (n_columns > count || n_columns > LULL_FIT_COLUMNS)
        return lull_fail(err, LULL_ERR_RANGE,
                         "a fit of %zu coefficients needs more than %zu points", n_columns, count);
    double r[LULL_FIT_COLUMNS][LULL_FIT_COLUMNS] = {{0}};
    double *rest = &work[n_columns * count], parts[LULL_FIT_COLUMNS] = {0};
    for (size_t j = 0; j < n_columns; j++) {
        double *column = &work[j * count], along[LULL_FIT_COLUMNS] = {0};
        for (size_t i = 0; i < count; i++)
            column[i] = columns[j][i] * (weights ? sqrt(weights[i]) : 1);
        double whole = sqrt(dot(column, column, count));
        project_out(work, j, count, column, along);
        double left = sqrt(dot(column, column, count));
        if (!isfinite(whole) || !(left > nothing_left * whole))
            return lull_fail(err, LULL_ERR_RANGE, "the points do not tell the coefficients apart");
        for (size_t k = 0; k < j; k++)
            r[k][j] = along[k];
        r[j][j] = left;
        for (size_t i = 0; i < count; i++)
            column[i] /= left;
    }
    for (size_t i = 0; i < count; i++)
        rest[i] = y[i] * (weights ? sqrt(weights[i]) : 1);
    project_out(work, n_columns, count, rest, parts);
    *ret_fit = (struct lull_linear_fit){.squares = dot(rest, rest, count)};
    solve_triangle(r, parts, n_columns, ret_fit);
    return LULL_OK;
}
