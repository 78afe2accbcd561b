/* SPDX-License-Identifier: BSD-3-Clause */
/* The tape of one thread in the file of its process: full chunks, which are written to the file,
 * and the chunk that is being filled, which is a mapping of the file (the tail). The functions that
 * append records to the tail are in core.h. */
#ifndef LULL_RECORD_STORE_BUFFER_H
#define LULL_RECORD_STORE_BUFFER_H

#include "record/core.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== a thread's tape ========================================================================= */

/* Makes the tape of a thread. False: the thread cannot be recorded. */
bool rec_buffer_begin(struct rec_thread *self);
/* Completes the tape of a thread and gives the memory back. */
void rec_buffer_end(struct rec_thread *self);
/* What the thread writes from now on goes nowhere: neither into the file nor to the parent of a
 * fork. */
void rec_buffer_detach(struct rec_thread *self);
/* Names the location: "rank 3", "rank 3 thread 1". */
void rec_buffer_name(struct rec_thread *self);

/* ==== ring ==================================================================================== */

/* A ring (`lull record --keep last:SIZE`) has places in the file of the process for as many full
 * chunks as fit into the budget, for all threads together. When all places are taken, the newest
 * chunk is written over the one that was stored first, of whatever thread. So from some moment on
 * the events of all threads are there, and before that moment only some. */

/* Does nothing where no ring is wanted. */
void rec_ring_start(void);

/* ==== tapes of threads that run on ============================================================ */

/* Where the process ends, its threads may still run. The thread that ends the process takes their
 * tapes away and concludes them; what a running thread writes meanwhile goes nowhere. */

/* Takes a thread's tape away from it. *ret_taken is the thread as it was at that moment, without
 * its shapes; records that are appended to *ret_taken go into the same file by mappings of its own,
 * until rec_buffer_end. False: the thread was in the middle of a record or has only just begun, or
 * there is no memory. The tape then holds what it would hold if the program had been killed. */
bool rec_taken_from(struct rec_thread *thread, struct rec_thread *ret_taken);
/* The end of a running thread's life so far. */
uint64_t rec_taken_until(const struct rec_thread *thread);

#endif
