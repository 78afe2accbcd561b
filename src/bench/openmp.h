/* SPDX-License-Identifier: BSD-3-Clause */
/* What an OpenMP construct costs: its time minus the time of a reference, the same work without
 * it. */
#ifndef LULL_BENCH_OPENMP_H
#define LULL_BENCH_OPENMP_H

#include "base/arena.h"
#include "bench/timing.h"
#include "machine/machine.h"

/* Two numbers in s from rounds of test and reference that belong together (count >= 1): the median,
 * over the rounds, of the differences of the low quantiles, and of the differences of the medians.
 * The resolution of a difference is the larger of the widths of the two quantiles' intervals in
 * their rounds (median over the rounds). A difference that is not above it is below resolution: its
 * note says so, and its value is not below 0. `precision` as in lull_probe_number. Names are left
 * out. */
void lull_overhead_of(const struct lull_round *test, const struct lull_round *reference,
                      size_t count, double precision, struct lull_arena *arena,
                      struct lull_number *ret_low, struct lull_number *ret_median);

#endif
