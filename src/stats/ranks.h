/* Rank tests: whether two samples come from one distribution, whatever that is. */
#ifndef LULL_STATS_RANKS_H
#define LULL_STATS_RANKS_H

#include <stdbool.h>
#include <stddef.h>

/* The probability, two-sided, that two samples of one distribution are ordered at least as unevenly
 * as these (Mann and Whitney's U, or Wilcoxon's rank sum). Exact without ties, for up to
 * LULL_RANKS_EXACT values in each; else by the normal approximation with the correction for ties.
 * Both samples ascending; 1 where one is empty. The values are taken to be independent. Source:
 * Conover, Practical Nonparametric Statistics, 3rd ed., section 5.1. */
#define LULL_RANKS_EXACT 64
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

#endif
