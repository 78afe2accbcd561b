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

/* A distribution by its quantiles, with lines between them. */
struct lull_quantiles {
    const double *values;        /* [count], ascending */
    const double *probabilities; /* [count], from 0 to 1, ascending; NULL: equally spaced */
    size_t count;                /* 2 or more; 0: this is none */
};

/* Exact; never above the last quantile. */
double lull_expected_maximum_of_quantiles(const struct lull_quantiles *quantiles, double draws);
/* The quantile of a probability in [0, 1). */
double lull_quantiles_sample(const struct lull_quantiles *quantiles, double probability);

#endif
