/* Computations that are made longer: how much, and when. Internal to the folder. */
#ifndef LULL_RECORD_INJECT_COMPUTATION_H
#define LULL_RECORD_INJECT_COMPUTATION_H

#include "tape/inject.h"

void rec_computation_start(const struct lull_tape_inject *settings,
                           const struct lull_tape_delay *delays, const int64_t *draws,
                           const struct lull_tape_detour *detours);
/* MPI_Init is over, and the process has that rank: the first computation of this thread begins. */
void rec_computation_begin(uint32_t rank);

/* What is lost to n > 0 detours of a period when `work` > 0 ns are done from its moment `at` on: a
 * detour that is under way, and each that begins before the work is done. The same as in
 * simulations (sim/noise/recording.h). */
int64_t rec_lost_to_detours(const struct lull_tape_detour *detours, uint32_t n, int64_t period,
                            int64_t at, int64_t work);

#endif
