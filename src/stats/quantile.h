/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of a sample, and intervals for the quantiles of its population.
 *
 * The interval of a quantile is made of two of the sample's own values (order statistics), whose
 * ranks follow from the binomial distribution: it holds for every continuous distribution, and its
 * coverage is at least the confidence asked for when the values are independent.
 * Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2. */
#ifndef LULL_STATS_QUANTILE_H
#define LULL_STATS_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>

/* Sorts ascending, in place. No value may be a NaN. */
void lull_sort(double *values, size_t count);

/* The q-quantile, 0 <= q <= 1, of an ascending sample of at least one value; between two values it
 * is interpolated (position (count - 1) q, "type 7" of Hyndman and Fan). */
double lull_quantile(const double *sorted, size_t count, double q);

/* Ranks (from 0) of the two order statistics that enclose the q-quantile of the population with
 * probability >= confidence, with about half of the rest on either side. Returns false where a
 * sample of this size cannot give that; the ranks are then those of the smallest and the largest
 * value on the side that is missing. count >= 1, 0 < q < 1, 0 < confidence < 1. */
bool lull_quantile_ranks(size_t count, double q, double confidence, size_t *ret_low,
                         size_t *ret_high);

struct lull_estimate {
    double value;     /* the quantile of the sample */
    double low, high; /* the interval, low <= value <= high */
    size_t count;     /* values in the sample */
    bool bounded;     /* the interval has the confidence asked for */
};

struct lull_estimate lull_quantile_estimate(const double *sorted, size_t count, double q,
                                            double confidence);

/* An interval in which one more value of the same population is expected. It lies between the r-th
 * smallest and the r-th largest value of the sample, with the largest r for which it encloses the
 * new value with probability >= confidence; where the sample is too small for that, r is 1.
 * `attained` is the probability, 1 - 2 r / (count + 1): exact for every continuous distribution and
 * independent values. count >= 1. Source: Hahn and Meeker, Statistical Intervals, 1991, section
 * 5.4. */
struct lull_prediction {
    double low, high;
    double attained;
};
struct lull_prediction lull_predict(const double *sorted, size_t count, double confidence);

/* Of a standard normal distribution 97.5 % lie below this. */
#define LULL_NORMAL_975 1.959963984540054

/* The interval, 95 %, of a proportion of which `part`, in [0, 1], was seen in `n` > 0 observations, which
 * need not be a whole number; 0 <= low <= part <= high <= 1. Source: E. B. Wilson, Probable Inference, the
 * Law of Succession, and Statistical Inference, J. Amer. Stat. Assoc. 22 (1927) 209. */
void lull_proportion_interval(double part, double n, double *ret_low, double *ret_high);

/* The median; for an even count half the sum of the two middle values. */
double lull_median(const double *sorted, size_t count);

/* The median of the distances from the median; `scratch` has room for `count` values. Times 1.4826
 * it estimates the standard deviation of a normal distribution. */
double lull_mad(const double *sorted, size_t count, double *scratch);

#endif
