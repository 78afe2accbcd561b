/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats/noise.h"

#include "stats/quantile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define UNDISTURBED 0.10

struct lull_noise_figures lull_noise_measure(const double *samples, size_t count, double threshold,
                                             double *sorted_scratch)
{
    assert(count > 0 && threshold >= 0);
    memcpy(sorted_scratch, samples, count * sizeof *samples);
    lull_sort(sorted_scratch, count);
    struct lull_noise_figures noise = {.quantum =
                                           lull_quantile(sorted_scratch, count, UNDISTURBED)};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        noise.total += samples[i];
        double detour = samples[i] - noise.quantum;
        if (detour <= threshold)
            continue;
        noise.detours++;
        noise.lost += detour;
        squares += detour * detour;
        noise.longest = fmax(noise.longest, detour);
    }
    if (noise.total > 0) {
        noise.share = noise.lost / noise.total;
        noise.rate = (double)noise.detours / noise.total;
        noise.power = squares / noise.total;
    }
    if (noise.detours)
        noise.mean = noise.lost / (double)noise.detours;
    return noise;
}

double lull_noise_periodicity(const double *at, const double *length, size_t count,
                              double frequency)
{
    double real = 0, imaginary = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        double turns = frequency * at[i];
        double angle = 2 * M_PI * (turns - floor(turns));
        real += length[i] * cos(angle);
        imaginary += length[i] * sin(angle);
        total += length[i];
    }
    return total > 0 ? (real * real + imaginary * imaginary) / (total * total) : 0;
}
