/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/special.h"

#include <assert.h>
#include <math.h>

/* The continued fraction by the modified Lentz method; it needs about sqrt(max(a, b)) steps where
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = value;
        for (int half = 0; half < 2; half++) {
            double term = half ? odd : even;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(value - before) <= 1e-16 * fabs(value))
            break;
    }
    return value;
}

double lull_log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

double lull_beta_regularised(double a, double b, double x)
{
    assert(a > 0 && b > 0 && x >= 0 && x <= 1);
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lull_log_gamma(a + b) - lull_log_gamma(a) - lull_log_gamma(b) + a * log(x) +
                       b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double lull_binomial_cdf(int64_t k, uint64_t n, double p)
{
    if (k < 0)
        return 0;
    if ((uint64_t)k >= n)
        return 1;
    return lull_beta_regularised((double)(n - (uint64_t)k), (double)k + 1, 1 - p);
}

double lull_student_tail(double t, double freedom)
{
    return 0.5 * lull_beta_regularised(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* By bisection: the tail falls with t, and a few hundred evaluations cost nothing here. */
double lull_student_quantile(double p, double freedom)
{
    assert(p > 0 && p < 1 && freedom >= 1);
    double tail = p < 0.5 ? p : 1 - p;
    double low = 0, high = 1;
    while (lull_student_tail(high, freedom) > tail && high < 1e300)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
        double middle = (low + high) / 2;
        if (lull_student_tail(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
    return p < 0.5 ? -high : high;
}
