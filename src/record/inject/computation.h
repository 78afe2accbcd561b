/* Computations that are made longer: how much, and when. Internal to the folder. */
#ifndef LULL_RECORD_INJECT_COMPUTATION_H
#define LULL_RECORD_INJECT_COMPUTATION_H

#include "tape/inject.h"

void rec_computation_start(const struct lull_tape_inject *settings,
                           const struct lull_tape_delay *delays, const int64_t *draws,
                           const struct lull_tape_detour *detours);
/* MPI_Init is over, and the process has that rank: the first computation of this thread begins. */
void rec_computation_begin(uint32_t rank);

#endif
