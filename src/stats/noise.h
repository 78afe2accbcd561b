/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise of a core: what a fixed amount of work takes longer than it does undisturbed.
 *
 * The same quantum of work is timed again and again; what a sample takes above the undisturbed time
 * is a detour. All times in seconds. */
#ifndef LULL_STATS_NOISE_H
#define LULL_STATS_NOISE_H

#include <stddef.h>

struct lull_noise_figures {
    double quantum; /* undisturbed time of one quantum: the 10 % quantile of the samples */
    double total;   /* sum of the samples */
    size_t detours; /* samples longer than quantum + threshold */
    double lost;    /* sum of what these took above the quantum */
    double share;   /* lost / total: mean noise, the fraction of time that is not the program's */
    double rate;    /* detours per second of total */
    double mean, longest; /* of a detour; 0 without detours */
    double power; /* sum of squares of the detours / total, in s: the variance that one second of
                     work gathers if detours come independently. For detours of length d with period
                     p, share = d / p and power = d^2 / p. */
};

/* `threshold` >= 0 in seconds: a difference below it comes from the clock and is no detour.
 * `sorted_scratch` has room for `count` values and is overwritten. count >= 1. */
struct lull_noise_figures lull_noise_measure(const double *samples, size_t count, double threshold,
                                             double *sorted_scratch);

/* How regularly detours at the times `at` with the lengths `length` repeat with `frequency` (Hz):
 * the squared modulus of sum(length exp(-2 pi i frequency at)) / sum(length). It is 1 for detours
 * that all lie whole periods apart, and near 1 / count for detours at random times. count >= 1. */
double lull_noise_periodicity(const double *at, const double *length, size_t count,
                              double frequency);

#endif
