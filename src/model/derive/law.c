/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/derive/law.h"

#include "stats/special.h"

#include <math.h>
#include <string.h>

struct data {
    const double (*factors)[LULL_LAW_FACTORS];
    const double *y;
    size_t count, n_factors;
};

static double basis(const struct data *data, size_t i, const double *exponents)
{
    double product = 1;
    for (size_t f = 0; f < data->n_factors; f++)
        if (exponents[f] != 0)
            product *= pow(data->factors[i][f], exponents[f]);
    return product;
}

/* Fits the coefficient by least squares of the relative errors. *ret_sum is the sum of their
 * squares. */
static void fit(const struct data *data, struct lull_derived_law *law, double *ret_sum)
{
    double first = 0, second = 0;
    size_t n = 0;
    *ret_sum = law->residual = 0;
    for (size_t i = 0; i < data->count; i++) {
        double ratio = data->y[i] > 0 ? basis(data, i, law->exponents) / data->y[i] : 0;
        first += ratio;
        second += ratio * ratio;
        n += ratio > 0;
    }
    law->coefficient = n > 0 ? first / second : 0;
    law->low = law->high = NAN;
    for (size_t i = 0; i < data->count && n > 0; i++) {
        if (!(data->y[i] > 0))
            continue;
        double error = law->coefficient * basis(data, i, law->exponents) / data->y[i] - 1;
        *ret_sum += error * error;
        law->residual = fmax(law->residual, fabs(error));
    }
    if (n > 1) {
        double freedom = (double)(n - 1);
        double half = lull_student_quantile(0.975, freedom) * sqrt(*ret_sum / freedom / second);
        law->low = law->coefficient - half;
        law->high = law->coefficient + half;
    }
}

struct lull_derived_law lull_law_find(const double (*factors)[LULL_LAW_FACTORS], const double *y,
                                      size_t count, const struct lull_law_candidates *candidates)
{
    const struct data data = {factors, y, count, candidates->n_factors};
    struct lull_derived_law best = {.coefficient = 0, .low = NAN, .high = NAN};
    double least = INFINITY;
    size_t at[LULL_LAW_FACTORS] = {0}, f;
    static const double exact = 1e-18; /* a sum of squares that is rounding only */
    do {
        struct lull_derived_law law = {.coefficient = 0};
        double sum;
        for (f = 0; f < candidates->n_factors; f++)
            law.exponents[f] = candidates->exponents[f][at[f]];
        fit(&data, &law, &sum);
        if (least > exact && (sum < 0.5 * least || sum <= exact)) {
            least = sum;
            best = law;
        }
        for (f = 0; f < candidates->n_factors; f++) {
            if (++at[f] < candidates->n_exponents[f])
                break;
            at[f] = 0;
        }
    } while (f < candidates->n_factors);
    /* A coefficient that is whole but for rounding was counted, and is made whole. */
    if (best.residual < 1e-9 &&
        fabs(best.coefficient - nearbyint(best.coefficient)) < 1e-9 * best.coefficient)
        best.coefficient = nearbyint(best.coefficient);
    return best;
}

double lull_law_at(const struct lull_derived_law *law, const double factors[LULL_LAW_FACTORS])
{
    double value = law->coefficient;
    for (size_t f = 0; f < LULL_LAW_FACTORS; f++)
        if (law->exponents[f] != 0)
            value *= pow(factors[f], law->exponents[f]);
    return value;
}

/* ---- own work and a share ------------------------------------------------------------------- */

double lull_serial_law_at(const struct lull_serial_law *law, double processes, double size)
{
    return law->own * pow(size, law->own_exponent) +
           law->divided * pow(size, law->divided_exponent) / processes;
}

/* Solves the normal equations of two columns, each divided by the measured value. Returns the sum
 * of the squares of the relative errors; infinite if a coefficient is not above 0. */
static double fit_serial(const double *processes, const double *sizes, const double *y,
                         size_t count, struct lull_serial_law *law)
{
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double u = pow(sizes[i], law->own_exponent) / y[i];
        double v = pow(sizes[i], law->divided_exponent) / processes[i] / y[i];
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    double determinant = uu * vv - uv * uv;
    law->own = (u1 * vv - v1 * uv) / determinant;
    law->divided = (v1 * uu - u1 * uv) / determinant;
    law->residual = 0;
    for (size_t i = 0; i < count; i++) {
        double error = lull_serial_law_at(law, processes[i], sizes[i]) / y[i] - 1;
        sum += error * error;
        law->residual = fmax(law->residual, fabs(error));
    }
    return law->own > 0 && law->divided > 0 ? sum : INFINITY;
}

static size_t count_different(const double *values, size_t count)
{
    size_t different = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (values[at] != values[i])
            at++;
        different += at == i;
    }
    return different;
}

bool lull_serial_law_find(const double *processes, const double *sizes, const double *y,
                          size_t count, struct lull_serial_law *ret_law)
{
    static const double exponents[] = {0, 1, 2, 3, 0.5, 1.5};
    size_t n = count_different(sizes, count) > 1 ? sizeof exponents / sizeof *exponents : 1;
    double least = INFINITY;
    if (count_different(processes, count) < 3)
        return false;
    for (size_t own = 0; own < n; own++)
        for (size_t divided = 0; divided < n; divided++) {
            struct lull_serial_law law = {.own_exponent = exponents[own],
                                          .divided_exponent = exponents[divided]};
            double sum = fit_serial(processes, sizes, y, count, &law);
            if (sum < least) {
                least = sum;
                *ret_law = law;
            }
        }
    return isfinite(least);
}
