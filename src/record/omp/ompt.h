/* LLVM's runtime: what is not in ompt.c. */
#ifndef LULL_RECORD_OMP_OMPT_H
#define LULL_RECORD_OMP_OMPT_H

#include "record/core.h"
#include "record/omp/ompt_interface.h"

/* Atomic: the runtime tells us what happens. */
extern bool rec_ompt_tells;

/* The request for a chunk that the thread is in has been its last one of the loop, which ends now.
 * Returns the present; 0: it is in none that is recorded. */
uint64_t rec_ompt_end_request(struct rec_thread *self);

void rec_ompt_work(int type, int endpoint, union ompt_data *parallel, union ompt_data *task,
                   uint64_t count, const void *code);

void rec_ompt_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t lock,
                            const void *code);
void rec_ompt_mutex_acquired(int kind, uint64_t lock, const void *code);
void rec_ompt_mutex_released(int kind, uint64_t lock, const void *code);
void rec_ompt_nest_lock(int endpoint, uint64_t lock, const void *code);

#endif
