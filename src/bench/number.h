/* SPDX-License-Identifier: BSD-3-Clause */
/* How the results of the visits to a number become the number with its interval. */
#ifndef LULL_BENCH_NUMBER_H
#define LULL_BENCH_NUMBER_H

#include "machine/machine.h"

#include <stddef.h>

/* Beyond these shares the system is called noisy. */
#define LULL_NOISY_INTERRUPTED 0.05 /* blocks in which a thread lost its core */
#define LULL_NOISY_LOST        0.05 /* time in which a thread did not have its core */
#define LULL_NOISY_STEAL       0.01 /* time that went to other guests */
#define LULL_NOISY_SPREAD      0.10 /* median of the blocks above the quantile quoted */

/* Fills value, interval, confidence and rounds from one value per visit (count >= 1; the values are
 * sorted).
 *
 * The value is their median. The interval is where a later visit will find the number
 * (lull_predict, stats/quantile.h), with LULL_BENCH_CONFIDENCE or with what so few visits allow. So
 * the interval contains what changes on the machine from second to second, its clock and its other
 * guests, and does not shrink when the number is measured for longer.
 *
 * Returns whether the number is known well enough: the interval of the median itself, which does
 * shrink, exists with LULL_BENCH_CONFIDENCE and is no wider than precision * value or than
 * `resolution` (in the unit of the number). */
bool lull_number_of_visits(struct lull_number *number, double *values, size_t count,
                           double precision, double resolution);

/* The range of the seconds per cycle of the clock during a run, divided by their median: low <= 1
 * <= high. */
struct lull_clock_range {
    double low, high;
};
/* That range, from seconds per cycle at moments spread over a run, which are sorted; 1 to 1 where
 * there are none. */
struct lull_clock_range lull_clock_range_of(double *cycles, size_t count);
/* No number is surer than the clock at which it was measured: makes the interval at least as wide,
 * relative to the value, as the range of the clock. A number without a unit of time stays. */
void lull_number_widen(struct lull_number *number, const struct lull_clock_range *clock);

#endif
