/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributions of random amounts: draws, moments and cumulative distribution.
 *
 * Draws from the same state of a generator have the same bits on every machine: they use
 * additions, multiplications, divisions, square roots, and the logarithm and exponential of
 * stats/random.h. Moments and cdf are for people and use the C library.
 *
 * The functions that make a distribution fail with LULL_ERR_RANGE and a line that names the wrong
 * parameter, and for no other reason; `err` may be NULL. Units are the caller's. */
#ifndef LULL_STATS_DISTRIBUTION_H
#define LULL_STATS_DISTRIBUTION_H

#include "base/error.h"
#include "stats/random.h"

enum lull_distribution_kind {
    LULL_DISTRIBUTION_CONSTANT,
    LULL_DISTRIBUTION_EXPONENTIAL,
    LULL_DISTRIBUTION_UNIFORM,
    LULL_DISTRIBUTION_GAMMA,
    LULL_DISTRIBUTION_BERNOULLI,
    LULL_DISTRIBUTION_NORMAL, /* truncated */
    LULL_DISTRIBUTIONS
};

struct lull_distribution {
    enum lull_distribution_kind kind;
    double a, b; /* CONSTANT: value, unused; EXPONENTIAL: mean, unused; UNIFORM: least, most; GAMMA:
                    scale, shape; BERNOULLI: value, probability; NORMAL: mean, standard deviation */
    double least, most; /* NORMAL: bounds, which may be infinite */
};

lull_status lull_distribution_constant(double value, struct lull_distribution *ret_distribution,
                                       struct lull_error *err);
/* mean >= 0. */
lull_status lull_distribution_exponential(double mean, struct lull_distribution *ret_distribution,
                                          struct lull_error *err);
/* Between `least` and `most`, most >= least. */
lull_status lull_distribution_uniform(double least, double most,
                                      struct lull_distribution *ret_distribution,
                                      struct lull_error *err);
/* mean >= 0, shape in [1e-3, 1e9]; the standard deviation is mean / sqrt(shape). */
lull_status lull_distribution_gamma(double mean, double shape,
                                    struct lull_distribution *ret_distribution,
                                    struct lull_error *err);
/* `value` with a probability in (0, 1], else 0. */
lull_status lull_distribution_bernoulli(double value, double probability,
                                        struct lull_distribution *ret_distribution,
                                        struct lull_error *err);
/* A normal distribution with this mean and standard deviation sd >= 0, of which only [least, most]
 * is kept. The mean must lie between the bounds, so that draws by rejection end soon. Where the
 * bounds are near, mean and variance of the draws differ from the parameters. */
lull_status lull_distribution_normal(double mean, double sd, double least, double most,
                                     struct lull_distribution *ret_distribution,
                                     struct lull_error *err);

double lull_distribution_sample(const struct lull_distribution *distribution,
                                struct lull_random *random);
double lull_distribution_mean(const struct lull_distribution *distribution);
double lull_distribution_variance(const struct lull_distribution *distribution);
/* The probability of a draw <= x. */
double lull_distribution_cdf(const struct lull_distribution *distribution, double x);

#endif
