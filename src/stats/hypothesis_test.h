/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests whether two samples come from one distribution, whatever that is, and whether what was
 * measured later differs from what was measured before. */
#ifndef LULL_STATS_HYPOTHESIS_TEST_H
#define LULL_STATS_HYPOTHESIS_TEST_H

#include <stdbool.h>
#include <stddef.h>

/* ==== ranks =================================================================================== */

/* The probability, two-sided, that two samples of one distribution are ordered at least as unevenly
 * as these (Mann and Whitney's U, or Wilcoxon's rank sum). Exact without ties, for up to 64 values
 * in each sample; else by the normal approximation with the correction for ties. Both samples are
 * ascending; 1 where one is empty. The values are taken to be independent. Source: Conover,
 * Practical Nonparametric Statistics, 3rd ed., section 5.1. */
double lull_rank_test(const double *a, size_t n_a, const double *b, size_t n_b);

/* The smallest probability that lull_rank_test can give for samples of these sizes: that of samples
 * of which one lies above the other. */
double lull_rank_least(size_t n_a, size_t n_b);

/* For the interval of the shift between two distributions. Of the n_a * n_b differences between a
 * value of one sample and one of the other, in ascending order, leave out *ret_margin at either
 * end: the outermost of the rest enclose the shift with at least this confidence. The interval
 * belongs to the estimate of Hodges and Lehmann, the median of the differences. Returns false where
 * the samples are too small for any interval. Source: Conover, section 5.4. */
bool lull_rank_margin(size_t n_a, size_t n_b, double confidence, size_t *ret_margin);

/* Holm's procedure: which of `count` hypotheses to reject, by the probabilities of their tests, so
 * that with probability 1 - `level` no true one is rejected. ret_asked (NULL: not wanted): how small
 * the probability of each has to be for that, if all smaller ones are rejected. Where memory runs
 * out none is rejected, and nothing is asked (0). Source: Holm, Scand. J. Statist. 6 (1979), 65. */
void lull_holm(const double *probabilities, size_t count, double level, bool *ret_rejected,
               double *ret_asked);

/* ==== shift =================================================================================== */

/* Whether what was measured later lies higher or lower than what was measured before: a test by
 * ranks for values that come in the order of time and may depend on each other, and the places at
 * which a long series changes.
 *
 * Times of runs of a program are neither normal nor independent: a machine that is busy now is
 * often still busy when the next run begins. So two tests are made, and the larger of the two
 * probabilities counts. The test of the ranks (Mann and Whitney) is exact for any distribution, but
 * presumes independent values. The test of the means (Student) allows for correlation: it takes the
 * variance of a mean from an autoregressive process of first order. The correlation of that process
 * is the upper limit, at 95 %, of the one estimated from the values, because the estimate itself is
 * too small as often as too large. Source of the variance: Anderson, The Statistical Analysis of
 * Time Series, 1971, section 8.3; of the bias of the estimate: Kendall, Biometrika 41 (1954), 403.
 */

struct lull_shift {
    double effect;      /* share of the pairs in which the later value is larger, ties as halves */
    double distance;    /* mean after minus mean before, in standard deviations of a value; infinite
                           where the values of neither part differ */
    double correlation; /* upper limit of the correlation of neighbours, in [0, 0.95] */
    /* One-sided: the probability that later values lie at least so far above (or below) where
     * nothing has changed. */
    double higher, lower;
    double
        independent; /* the same by the ranks alone, for the side on which the later values lie */
};

/* `before` and `after` are in the order of time. All probabilities are 1 where one of them is empty
 * or memory runs out. */
struct lull_shift lull_shift_test(const double *before, size_t n_before, const double *after,
                                  size_t n_after);

/* How many more values after the change would bring `higher` (or `lower`) down to `level`, if
 * effect and distance stay as they are. 0 if it is there already; LULL_SHIFT_NEVER where no number
 * up to 1000 does, because the values lie too close to each other or there are too few from
 * before. */
#define LULL_SHIFT_NEVER ((size_t)-1)
size_t lull_shift_more(const struct lull_shift *shift, size_t n_before, size_t n_after, bool higher,
                       double level);

/* The same against a known number, by the sign test: the probability that of `count` independent
 * values at least as many as here lie above `limit` (higher) or below it (lower) if it is their
 * median. Values that equal the limit are left out; `effect` is the share of the others above it.
 * Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.4. */
struct lull_shift lull_sign_test(const double *values, size_t count, double limit);
size_t lull_sign_more(const struct lull_shift *shift, size_t count, bool higher, double level);

/* The places where a series changes its level, as indices of the first value of each new level,
 * ascending. The first stage divides: energy statistics find the place that divides a part of the
 * series best (E-divisive; Matteson and James, JASA 109 (2014), 334, with exponent 1), and where a
 * test says that the two sides differ, both are divided again. The second stage removes: the place
 * whose neighbouring parts differ least is given up, one after the other, until lull_shift_test
 * finds a difference at each that is left. As in Hunter (arXiv 2301.03034), tests replace
 * permutations, so that the same series always has the same changes. `level` is the probability of
 * finding a change where there is none; it is shared among all places at which a part could have
 * been divided. `ret_places` has room for `count` values; returns the number of places. Takes time
 * in proportion to count^2 for each level of the series. */
size_t lull_change_points(const double *values, size_t count, double level, size_t *ret_places);

/* The place that divides the values best, 0 < place < count, and the statistic Q of the division
 * there. count >= 2. */
size_t lull_divide(const double *values, size_t count, double *ret_statistic);

#endif
