/* How often values fall where. */
#ifndef LULL_STATS_HISTOGRAM_H
#define LULL_STATS_HISTOGRAM_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_histogram {
    double low, high;      /* outer edges */
    bool logarithmic;      /* bins of equal ratio; then low > 0 */
    size_t count;          /* bins */
    uint64_t *bins;        /* bin i holds edge(i) <= value < edge(i + 1) */
    uint64_t below, above; /* value < low; value >= high, and NaN */
};

/* low < high, count >= 1. Bins live in the arena. */
struct lull_histogram lull_histogram_create(struct lull_arena *arena, double low, double high,
                                            bool logarithmic, size_t count);
void lull_histogram_add(struct lull_histogram *histogram, double value);
/* Edge i = 0 .. count. */
double lull_histogram_edge(const struct lull_histogram *histogram, size_t i);

#endif
