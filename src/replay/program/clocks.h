/* Clocks that were never compared: how far those of the processes are apart.
 *
 * Nobody leaves a collective operation in which all wait for all before the last has entered it.
 * Where a trace says otherwise, its tracer has not synchronised the clocks (EZTrace). Then the
 * exits from the first LULL_CLOCKS_OPERATIONS such operations of all processes, which are nearly at
 * the same time, tell the offsets: the median of the differences. Internal to the room. */
#ifndef LULL_REPLAY_CLOCKS_H
#define LULL_REPLAY_CLOCKS_H

#include "trace/trace.h"

#define LULL_CLOCKS_OPERATIONS 64

/* Fills shifts[n_processes] with what is to be added to the times of each process, at least 0; all
 * 0 where the clocks do not contradict each other. */
lull_status lull_replay_clocks(const struct lull_trace *trace, uint32_t application,
                               int64_t *shifts, struct lull_error *err);

#endif
