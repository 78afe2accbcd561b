/* Callbacks of LLVM's runtime that are not in ompt.c. */
#ifndef LULL_RECORD_OMP_OMPT_H
#define LULL_RECORD_OMP_OMPT_H

#include "record/omp/ompt_interface.h"

void rec_ompt_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t lock,
                            const void *code);
void rec_ompt_mutex_acquired(int kind, uint64_t lock, const void *code);
void rec_ompt_mutex_released(int kind, uint64_t lock, const void *code);
void rec_ompt_nest_lock(int endpoint, uint64_t lock, const void *code);

#endif
