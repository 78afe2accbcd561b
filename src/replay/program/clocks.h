/* Clocks that were never compared: how far those of the processes are apart.
 *
 * Nobody leaves a collective operation in which all wait for all before the last has entered it.
 * Where a trace says otherwise, its tracer has not synchronised the clocks (EZTrace). Then the
 * exits from the first LULL_CLOCKS_OPERATIONS such operations of all processes, which are nearly at
 * the same time, tell the offsets: the median of the differences. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_CLOCKS_H
#define LULL_REPLAY_PROGRAM_CLOCKS_H

#include <stdint.h>

#define LULL_CLOCKS_OPERATIONS 64

/* How a process went through an operation. */
struct lull_passage {
    int64_t enter, exit;
};

/* The first ones of a process, in order. */
struct lull_passages {
    struct lull_passage *items;
    uint32_t count; /* up to LULL_CLOCKS_OPERATIONS */
};

/* Fills shifts[n] with what is to be added to the times of each of n processes, at least 0; all 0
 * where the clocks do not contradict each other, and for processes without passages the least. */
void lull_clocks_compare(const struct lull_passages *processes, uint32_t n, int64_t *ret_shifts);

#endif
