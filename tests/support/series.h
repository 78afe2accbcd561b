/* Noise as runs of programs have it: series of mean effect 0 and about unit spread. */
#ifndef LULL_TESTS_SUPPORT_SERIES_H
#define LULL_TESTS_SUPPORT_SERIES_H

#include "stats/random.h"

#include <stddef.h>

enum noise_kind {
    NOISE_NORMAL,
    NOISE_SKEWED,     /* exponential */
    NOISE_BIMODAL,    /* three in ten are 3 higher */
    NOISE_CORRELATED, /* normal, each half of the one before */
    NOISE_KINDS
};

void noise_draw(struct lull_random *random, enum noise_kind kind, size_t count, double *ret_values);

#endif
