/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/quantile.h"

#include "base/sorted.h"
#include "stats/special.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lull_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, compare);
}

double lull_quantile(const double *sorted, size_t count, double q)
{
    assert(count > 0 && q >= 0 && q <= 1);
    double position = (double)(count - 1) * q;
    size_t below = (size_t)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Let B be the number of values at or below the quantile; it is binomial. Order statistic L (from
 * 1) lies above the quantile if B < L. So the lower end is the largest L with P(B <= L - 1) <=
 * rest, and the upper end the smallest U with P(B >= U) <= rest. */
bool lull_quantile_ranks(size_t count, double q, double confidence, size_t *ret_low,
                         size_t *ret_high)
{
    assert(count > 0 && q > 0 && q < 1 && confidence > 0 && confidence < 1);
    double rest = (1 - confidence) / 2;
    struct lull_bisection at = {.begin = 1, .end = count + 1};
    while (lull_bisect(&at))
        at.in_front = lull_binomial_cdf((int64_t)at.middle - 1, count, q) <= rest;
    const size_t low = at.begin - 1; /* 0: there is none */
    at = (struct lull_bisection){.begin = 1, .end = count + 1};
    while (lull_bisect(&at))
        at.in_front = 1 - lull_binomial_cdf((int64_t)at.middle - 1, count, q) > rest;
    const size_t high = at.begin; /* count + 1: there is none */
    *ret_low = low > 0 ? low - 1 : 0;
    *ret_high = high <= count ? high - 1 : count - 1;
    return low > 0 && high <= count;
}

struct lull_estimate lull_quantile_estimate(const double *sorted, size_t count, double q,
                                            double confidence)
{
    size_t low, high;
    bool bounded = lull_quantile_ranks(count, q, confidence, &low, &high);
    double value = lull_quantile(sorted, count, q);
    return (struct lull_estimate){.value = value,
                                  .low = fmin(sorted[low], value),
                                  .high = fmax(sorted[high], value),
                                  .count = count,
                                  .bounded = bounded};
}

struct lull_prediction lull_predict(const double *sorted, size_t count, double confidence)
{
    assert(count > 0 && confidence > 0 && confidence < 1);
    double places = (double)count + 1;
    size_t most = (count + 1) / 2; /* beyond it the two values would change sides */
    size_t rank = (size_t)((1 - confidence) / 2 * places * (1 + 1e-12)); /* 0.025 * 40 is 1 */
    rank = rank < 1 ? 1 : rank > most ? most : rank;
    return (struct lull_prediction){sorted[rank - 1], sorted[count - rank],
                                    1 - 2 * (double)rank / places};
}

double lull_median(const double *sorted, size_t count)
{
    return lull_quantile(sorted, count, 0.5);
}

double lull_mad(const double *sorted, size_t count, double *scratch)
{
    double median = lull_median(sorted, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(sorted[i] - median);
    lull_sort(scratch, count);
    return lull_median(scratch, count);
}

void lull_proportion_interval(double part, double n, double *ret_low, double *ret_high)
{
    const double z = LULL_NORMAL_975;
    const double middle = (part + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z / (1 + z * z / n) * sqrt(part * (1 - part) / n + z * z / (4 * n * n));
    *ret_low = fmin(fmax(middle - half, 0), part);
    *ret_high = fmax(fmin(middle + half, 1), part);
}
