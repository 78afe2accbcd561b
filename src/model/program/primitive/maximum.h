/* The expected maximum of several independent draws: what P ranks that wait for each other lose to
 * noise. */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_MAXIMUM_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_MAXIMUM_H

#include "stats/distribution.h"

#include <stddef.h>

/* In the unit of the distribution; draws >= 1, also between whole numbers. Exact for constant,
 * uniform, exponential (the harmonic number) and Bernoulli; gamma and normal by integrating
 * 1 - F(x)^draws, to 1e-6. */
double lull_expected_maximum(const struct lull_distribution *distribution, double draws);

/* Exact, of a distribution given by count >= 2 quantiles of equally spaced probabilities from 0 to
 * 1, with lines between them: never above the last one. */
double lull_expected_maximum_of_quantiles(const double *quantiles, size_t count, double draws);
/* The quantile of a probability in [0, 1). */
double lull_quantiles_sample(const double *quantiles, size_t count, double probability);

#endif
