/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions that confidence intervals need. Their relative error is about 1e-12 in the
 * ranges used here. */
#ifndef LULL_STATS_SPECIAL_H
#define LULL_STATS_SPECIAL_H

#include <stdint.h>

/* The logarithm of the gamma function for x > 0. Unlike C's lgamma(), it writes no variable that
 * all threads share. */
double lull_log_gamma(double x);

/* The regularised incomplete beta function I_x(a, b) for a, b > 0 and x in [0, 1], by its continued
 * fraction. Source: DLMF 8.17.22. */
double lull_beta_regularised(double a, double b, double x);

/* P(B <= k) for B of a binomial distribution with n trials of probability p in [0, 1]; 0 below
 * k = 0. Source: DLMF 8.17.5. */
double lull_binomial_cdf(int64_t k, uint64_t n, double p);

/* P(T > t) for Student's distribution with `freedom` > 0 degrees of freedom, t >= 0. */
double lull_student_tail(double t, double freedom);

/* The t with P(T <= t) = p for Student's distribution with `freedom` >= 1 degrees of freedom,
 * 0 < p < 1. */
double lull_student_quantile(double p, double freedom);

#endif
