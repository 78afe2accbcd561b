/* The tapes of threads that may run on where the process ends: another thread concludes them,
 * beside which the thread's own writing goes nowhere. */
#ifndef LULL_RECORD_STORE_TAKEN_H
#define LULL_RECORD_STORE_TAKEN_H

#include "record/core.h"

/* Takes a thread's tape away from it. *ret_taken is the thread as it was at that moment, without
 * its shapes, and writes into the same file by mappings of its own, until rec_buffer_end. False:
 * it was in the middle of a record or has only just begun, or there is no memory: its tape holds
 * what it does where a program is killed. */
bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken);
/* The end of a running thread's life so far. */
uint64_t rec_taken_until(const struct rec_thread *thread);

#endif
