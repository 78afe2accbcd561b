/* The tape of one thread: a file that grows by whole chunks, and the chunk that is being filled. */
#ifndef LULL_RECORD_STORE_BUFFER_H
#define LULL_RECORD_STORE_BUFFER_H

#include "record/core.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== buffer ================================================================================== */

/* Creates the files of a thread. False: it cannot be recorded. */
bool rec_buffer_begin(struct rec_thread *self);
/* Closes the files of a thread and gives its memory back. */
void rec_buffer_end(struct rec_thread *self);
/* What the thread writes from now on goes nowhere: neither into files nor to a forked parent. */
void rec_buffer_detach(struct rec_thread *self);
/* "rank 3", "rank 3 thread 1" */
void rec_buffer_name(struct rec_thread *self);

/* ==== ring ==================================================================================== */

/* A ring (lull record --keep last:SIZE): places in the file of the process for as many full chunks
 * as its budget has, of all threads together. When all are taken, the chunk that was stored first
 * gives way to the newest. So a thread that does little keeps what it did in that time and no more,
 * and from some moment on the events of all threads are there. */

/* Does nothing where no ring is wanted. */
void rec_ring_start(void);

/* ==== taken =================================================================================== */

/* The tapes of threads that may run on where the process ends: another thread concludes them,
 * beside which the thread's own writing goes nowhere. */

/* Takes a thread's tape away from it. *ret_taken is the thread as it was at that moment, without
 * its shapes, and writes into the same file by mappings of its own, until rec_buffer_end. False:
 * it was in the middle of a record or has only just begun, or there is no memory: its tape holds
 * what it does where a program is killed. */
bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken);
/* The end of a running thread's life so far. */
uint64_t rec_taken_until(const struct rec_thread *thread);

#endif
