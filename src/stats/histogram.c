/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/histogram.h"

#include <assert.h>
#include <math.h>

struct lull_histogram lull_histogram_create(struct lull_arena *arena, double low, double high,
                                            bool logarithmic, size_t count)
{
    assert(low < high && count > 0 && (!logarithmic || low > 0));
    return (struct lull_histogram){.low = low,
                                   .high = high,
                                   .logarithmic = logarithmic,
                                   .count = count,
                                   .bins = lull_arena_zero(arena, count, sizeof(uint64_t))};
}

double lull_histogram_edge(const struct lull_histogram *histogram, size_t i)
{
    double share = (double)i / (double)histogram->count;
    if (i == 0 || i == histogram->count)
        return i == 0 ? histogram->low : histogram->high;
    if (histogram->logarithmic)
        return histogram->low * pow(histogram->high / histogram->low, share);
    return histogram->low + (histogram->high - histogram->low) * share;
}

void lull_histogram_add(struct lull_histogram *histogram, double value)
{
    if (value < histogram->low) {
        histogram->below++;
        return;
    }
    if (!(value < histogram->high)) {
        histogram->above++;
        return;
    }
    double share = histogram->logarithmic
                       ? log(value / histogram->low) / log(histogram->high / histogram->low)
                       : (value - histogram->low) / (histogram->high - histogram->low);
    double place = share * (double)histogram->count;
    size_t bin = place < 0 ? 0 : (size_t)place;
    bin = bin < histogram->count ? bin : histogram->count - 1;
    /* Rounding may have given a neighbouring bin; the edges decide. */
    while (bin > 0 && value < lull_histogram_edge(histogram, bin))
        bin--;
    while (bin + 1 < histogram->count && value >= lull_histogram_edge(histogram, bin + 1))
        bin++;
    histogram->bins[bin]++;
}
