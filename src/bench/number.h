/* From what the visits to a number gave to the number. */
#ifndef LULL_BENCH_NUMBER_H
#define LULL_BENCH_NUMBER_H

#include "machine/machine.h"

#include <stddef.h>

/* Beyond these shares the system is called noisy. */
#define LULL_NOISY_INTERRUPTED 0.05 /* blocks in which a thread lost its core */
#define LULL_NOISY_LOST        0.05 /* time in which a thread did not have its core */
#define LULL_NOISY_STEAL       0.01 /* time that went to other guests */
#define LULL_NOISY_SPREAD      0.10 /* median of the blocks above the quantile quoted */

/* Fills value, interval, confidence and rounds from one value per visit (count >= 1; sorts them).
 *
 * The value is their median. The interval is where a later visit will find the number
 * (lull_predict, stats/quantile.h; LULL_BENCH_CONFIDENCE, or what so few visits allow): so it holds
 * what changes on the machine from second to second, its clock and its other guests, and does not
 * shrink when the number is measured for longer.
 *
 * Returns whether the number is known well enough: whether the interval of the median itself, which
 * does shrink, exists with LULL_BENCH_CONFIDENCE and is no wider than precision * value or than
 * `resolution`, in the unit of the number. */
bool lull_number_of_visits(struct lull_number *number, double *values, size_t count,
                           double precision, double resolution);

/* The seconds per cycle of the clock during a run, over their median: low <= 1 <= high. */
struct lull_clock_range {
    double low, high;
};
/* From seconds per cycle at moments spread over a run, which it sorts; 1 to 1 for none. */
struct lull_clock_range lull_clock_range_of(double *cycles, size_t count);
/* Nothing is surer than the clock that it was taken at: makes the interval at least as wide,
 * relative to the value, as that of the clock. What has no unit of time stays. */
void lull_number_widen(struct lull_number *number, const struct lull_clock_range *clock);

#endif
