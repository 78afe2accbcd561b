/* Distributions of random amounts: draws, moments and cumulative distribution.
 *
 * Draws from the same state of a generator have the same bits on every machine: they use
 * additions, multiplications, divisions, square roots, and the logarithm and exponential of
 * stats/random.h. Moments and cdf are for people and use the C library.
 *
 * The functions that make one fail with LULL_ERR_RANGE and a line that names the parameter, and
 * otherwise do not fail; NULL where the text is not wanted. Units are the caller's. */
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
    double a, b; /* value | mean | least, most | scale, shape | value, probability | mean, sd */
    double least, most; /* NORMAL: bounds, may be infinite */
};

lull_status lull_distribution_constant(double value, struct lull_distribution *ret_distribution,
                                       struct lull_error *err);
/* mean >= 0 */
lull_status lull_distribution_exponential(double mean, struct lull_distribution *ret_distribution,
                                          struct lull_error *err);
/* between least and most >= least */
lull_status lull_distribution_uniform(double least, double most,
                                      struct lull_distribution *ret_distribution,
                                      struct lull_error *err);
/* mean >= 0, shape k in [1e-3, 1e9]: standard deviation mean / sqrt(k) */
lull_status lull_distribution_gamma(double mean, double shape,
                                    struct lull_distribution *ret_distribution,
                                    struct lull_error *err);
/* `value` with a probability in (0, 1], else 0 */
lull_status lull_distribution_bernoulli(double value, double probability,
                                        struct lull_distribution *ret_distribution,
                                        struct lull_error *err);
/* A normal distribution of this mean and sd >= 0, of which only [least, most] is kept; the mean
 * must lie there, so that draws by rejection end soon. Mean and variance of what is drawn differ
 * from the parameters where the bounds are near. */
lull_status lull_distribution_normal(double mean, double sd, double least, double most,
                                     struct lull_distribution *ret_distribution,
                                     struct lull_error *err);

double lull_distribution_sample(const struct lull_distribution *distribution,
                                struct lull_random *random);
double lull_distribution_mean(const struct lull_distribution *distribution);
double lull_distribution_variance(const struct lull_distribution *distribution);
/* Probability of a draw <= x. */
double lull_distribution_cdf(const struct lull_distribution *distribution, double x);

#endif
