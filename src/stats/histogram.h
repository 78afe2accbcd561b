/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms: how many values fall into each of several bins. */
#ifndef LULL_STATS_HISTOGRAM_H
#define LULL_STATS_HISTOGRAM_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_histogram {
    double low, high;      /* outer edges */
    bool logarithmic;      /* the edges of each bin have the same ratio; then low > 0 */
    size_t count;          /* of bins */
    uint64_t *bins;        /* bin i counts the values with edge(i) <= value < edge(i + 1) */
    uint64_t below, above; /* `below` counts the values < low, `above` those >= high and NaNs */
};

/* An empty histogram; low < high, count >= 1. The bins live in the arena. */
struct lull_histogram lull_histogram_create(struct lull_arena *arena, double low, double high,
                                            bool logarithmic, size_t count);
void lull_histogram_add(struct lull_histogram *histogram, double value);
/* Edge i, 0 <= i <= count. */
double lull_histogram_edge(const struct lull_histogram *histogram, size_t i);

#endif
