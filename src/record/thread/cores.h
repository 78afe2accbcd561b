/* How much of its time a thread had a core, as the system's scheduler tells. */
#ifndef LULL_RECORD_THREAD_CORES_H
#define LULL_RECORD_THREAD_CORES_H

#include "record/core.h"

/* The calling thread begins. */
void rec_cores_begin(struct rec_thread *self);
/* Brings the header of the thread's tape up to date, if that was not done in the last 50 ms; for
 * any thread of the process that has not ended. */
void rec_cores_read(struct rec_thread *self);
/* The same at once. */
void rec_cores_end(struct rec_thread *self);

#endif
