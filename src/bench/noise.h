/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise of the cores: "noise.share.N", and what the machine file holds of each core.
 *
 * Fixed work quantum: one thread per core, all cores at the same time, as a parallel program uses
 * them, repeats the same work of about LULL_NOISE_QUANTUM. What a repetition takes above the
 * undisturbed time is a detour (stats/noise.h). A visit records one segment; the segments of a core
 * are joined without the time between them. */
#ifndef LULL_BENCH_NOISE_H
#define LULL_BENCH_NOISE_H

#include "base/arena.h"
#include "machine/machine.h"
#include "stats/noise.h"

#include <stddef.h>
#include <stdint.h>

#define LULL_NOISE_THRESHOLD 0.5e-6 /* s: shorter detours are the measurement's own variation */
#define LULL_NOISE_SHARE     0.01   /* share of the time: a core that loses more is called noisy */
enum { LULL_NOISE_MOST_DETOURS = 100000 }; /* detours that are kept of a core */

/* The recording of one core as it grows. */
struct lull_noise_core {
    double duration;  /* s, of the segments so far */
    uint64_t samples; /* in them */
    struct lull_detour *detours;
    size_t n_detours, capacity;
    double *quanta, *shares, *powers; /* [n_segments] of each segment */
    size_t n_segments, quantum_capacity, share_capacity, power_capacity;
};

/* Takes from each sample what a change of the processor's speed adds, which is not noise: the
 * difference between the median of LULL_NOISE_NEIGHBOURS samples that follow each other and the 10
 * % quantile of all, but not more than half of that quantile. `scratch` holds `count` values. */
enum { LULL_NOISE_NEIGHBOURS = 65 };
void lull_noise_level(double *samples, size_t count, double *scratch);

/* Adds a segment: the seconds that each quantum took, one after the other; this levels them.
 * `scratch` holds `count` values, count >= 1. When the core has LULL_NOISE_MOST_DETOURS detours,
 * the segment's detours and its time are left out, but not its share and power. */
void lull_noise_core_add(struct lull_noise_core *core, double *samples, size_t count,
                         double *scratch, struct lull_arena *arena);

/* What the machine file holds of the core: medians over the segments with their intervals, the
 * detours, and their histogram in bins of equal ratio. There is at least one segment. `steal`:
 * share of the time that the hypervisor took, or NAN. */
struct lull_machine_noise lull_noise_core_sum_up(const struct lull_noise_core *core, uint32_t cpu,
                                                 double steal, struct lull_arena *arena);

#endif
