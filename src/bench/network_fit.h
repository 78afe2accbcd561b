/* SPDX-License-Identifier: BSD-3-Clause */
/* From times of messages to the network of a machine: latency and bandwidth by size, and LogGP. */
#ifndef LULL_BENCH_NETWORK_FIT_H
#define LULL_BENCH_NETWORK_FIT_H

#include "base/arena.h"
#include "machine/machine.h"

#include <stddef.h>

/* Fits ranges of sizes with a line each (stats/regression.h), minimising relative errors. Where the
 * eager limit is known, sizes up to it and sizes beyond are fitted apart, and named eager and
 * rendezvous. `points` ascend in x (bytes) from 0 on; y is in s. A latency that cannot be told from
 * 0 is below resolution: its interval goes from 0 to a bound, its value is the middle, above 0, and
 * the bandwidth is that of a line which begins there. Where times do not grow with the size, the
 * bandwidth is what the error of the slope allows, and a note says so. Fails with LULL_ERR_RANGE
 * for fewer than 4 points. */
lull_status lull_network_fit(const struct lull_series_point *points, size_t count, bool has_limit,
                             uint64_t limit, struct lull_arena *arena,
                             struct lull_network_range **ret_ranges, size_t *ret_count,
                             struct lull_error *err);

/* Parametrised round trips (Hoefler, Lichei and Rehm, IPDPS 2007), in s: of one message (`one`), of
 * a burst of n messages (`burst`), of n messages with the time `delay` after each but the last
 * (`delayed`). Each array has one value per round. */
struct lull_loggp_rounds {
    const double *one, *burst, *delayed, *delay;
    size_t rounds;
    uint64_t messages; /* n >= 2 */
    double precision;  /* relative width of an interval that is narrow enough */
};

/* overhead = (delayed - one) / (n - 1) - delay, gap = (burst - one) / (n - 1), latency = one / 2 -
 * 2 overhead: medians over the rounds with their intervals. A number that is not above 0 is below
 * resolution: its interval goes from 0 to how far the rounds are off 0, but no farther than half a
 * round trip, and its value is the middle. */
void lull_loggp_of(const struct lull_loggp_rounds *rounds, struct lull_arena *arena,
                   struct lull_network_level *level);

/* Gap per byte: the slope of the line through the time of the smallest message that minimises
 * relative errors over all sizes. NAN where times do not grow. */
double lull_gap_per_byte(const struct lull_series_point *points, size_t count);

/* From the seconds of an exchange alone, a computation alone and both at once: which part of the
 * shorter one vanishes behind the other, 0 to 1. */
double lull_overlap(double exchange, double compute, double both);

#endif
