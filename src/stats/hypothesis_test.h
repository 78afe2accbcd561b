/* Rank tests: whether two samples come from one distribution, whatever that is. */
#ifndef LULL_STATS_HYPOTHESIS_TEST_H
#define LULL_STATS_HYPOTHESIS_TEST_H

#include <stdbool.h>
#include <stddef.h>

/* ==== ranks =================================================================================== */

double lull_rank_test(const double *a, size_t n_a, const double *b, size_t n_b);

/* How many of the n_a * n_b differences between a value of one sample and one of the other, in
 * their order, lie beyond either end of an interval that holds the shift between the two
 * distributions with at least this confidence. False where the samples are too small for any. The
 * interval belongs to the estimate of Hodges and Lehmann, the median of the differences. Source:
 * Conover, section 5.4. */
bool lull_rank_margin(size_t n_a, size_t n_b, double confidence, size_t *ret_margin);

/* Holm's procedure: of `count` tests, which are rejected so that with probability 1 - `level` no
 * true hypothesis is among them. Source: Holm, Scand. J. Statist. 6 (1979), 65. */
void lull_holm(const double *probabilities, size_t count, double level, bool *ret_rejected);

/* ==== shift =================================================================================== */

/* Whether what was measured later lies higher or lower than what was measured before: a test by
 * ranks for values that come in the order of time and may depend on each other, and the places at
 * which a long series changes.
 *
 * Runs of a program are neither normal nor independent: a machine that is busy now is busy still
 * when the next run begins. Two probabilities are taken, and the larger counts. That of the ranks
 * (Mann and Whitney) is exact for any distribution, but presumes independent values. That of the
 * means (Student) allows for correlation: the variance of a mean is that of an autoregressive
 * process of first order, whose correlation is not the estimate, which is too small as often as too
 * large, but its upper limit at 95 %. Source of the variance: Anderson, The Statistical Analysis of
 * Time Series, 1971, section 8.3; of the bias of the estimate: Kendall, Biometrika 41 (1954), 403.
 */

struct lull_shift {
    double effect;      /* share of the pairs in which the later value is larger, ties as halves */
    double distance;    /* of the means, in standard deviations of a value; infinite without any */
    double correlation; /* upper limit of that of neighbours, in [0, 0.95] */
    /* One-sided: how probable it is that the later values lie so far above (or below) where nothing
     * has changed. */
    double higher, lower;
    double independent; /* that of the ranks alone, of the side on which the later values lie */
};

/* `before` and `after` in the order of time; 1 for both probabilities where one is empty or memory
 * runs out. */
struct lull_shift lull_shift_test(const double *before, size_t n_before, const double *after,
                                  size_t n_after);

/* How many more later values would bring `higher` (or `lower`) down to `level`, if they go on as
 * those that are there: 0 if it is there already, LULL_SHIFT_NEVER where no number up to 1000
 * does, because the values lie too close to each other or there are too few from before. */
#define LULL_SHIFT_NEVER ((size_t)-1)
size_t lull_shift_more(const struct lull_shift *shift, size_t n_before, size_t n_after, bool higher,
                       double level);

/* The same against a number that is known: how probable it is that of `count` independent values at
 * least so many as here lie above it (higher) or below it (lower) if it is their median. Values
 * that equal the limit are left out. The sign test; source: Conover, Practical Nonparametric
 * Statistics, 3rd ed., section 3.4. */
struct lull_shift lull_sign_test(const double *values, size_t count, double limit);
size_t lull_sign_more(const struct lull_shift *shift, size_t count, bool higher, double level);

/* The places where a series changes its level, as indices of the first value of each new level,
 * ascending. Energy statistics find the place that divides a part of the series best (E-divisive;
 * Matteson and James, JASA 109 (2014), 334, with exponent 1); where a test says that its sides
 * differ, both are divided again. Then the places whose neighbouring parts differ least are given
 * up, one after the other, until lull_shift_test is content with each. As in Hunter (arXiv
 * 2301.03034) tests stand in the place of permutations, so that the same series has the same
 * changes always. `level` is the probability of a change where there is none, shared among the
 * places that a part could have been divided at. `ret_places` has room for `count` values; returns
 * their number. Takes time in proportion to count^2 for each level. */
size_t lull_change_points(const double *values, size_t count, double level, size_t *ret_places);

/* The place that divides the values best, 0 < place < count, and the statistic Q of the division
 * there. count >= 2. */
size_t lull_divide(const double *values, size_t count, double *ret_statistic);

#endif
