/* The expected maximum of several independent draws: what P ranks that wait for each other lose to
 * noise. */
#ifndef LULL_MODEL_PROGRAM_MAXIMUM_H
#define LULL_MODEL_PROGRAM_MAXIMUM_H

#include "stats/distribution.h"

/* In the unit of the distribution; draws >= 1, also between whole numbers. Exact for constant,
 * uniform, exponential (the harmonic number) and Bernoulli; gamma and normal by integrating
 * 1 - F(x)^draws, to 1e-6. */
double lull_expected_maximum(const struct lull_distribution *distribution, double draws);

#endif
