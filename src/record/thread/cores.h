/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of its time a thread had a core, as the scheduler of the system tells, and what the
 * kernel did for the thread. The sums of both are in the header of the thread's tape.
 * rec_cores_read (core.h) brings them up to date every 50 ms, where a call or region ends, so that
 * they are known also of a program that is killed. */
#ifndef LULL_RECORD_THREAD_CORES_H
#define LULL_RECORD_THREAD_CORES_H

#include "record/core.h"

/* The calling thread begins to live at its location. */
void rec_cores_begin(struct rec_thread *self);
/* Brings the header of the calling thread's tape up to date. */
void rec_cores_end(struct rec_thread *self);
/* The same for any thread of the process that has not ended. */
void rec_cores_end_of(struct rec_thread *other);

/* The processor time of the calling thread up to a moment. */
struct rec_core_use {
    int64_t on; /* ns of processor time; -1: the system does not tell */
    long waits; /* how often it has gone to sleep by itself */
};
struct rec_core_use rec_core_use_now(void);
/* How many of the `ticks` since `before` the calling thread itself has spent: those in which it had
 * a core, or all of them where it has waited meanwhile (for a disk, a lock). In the other ticks the
 * thread could have run, but others had the core. */
uint64_t rec_core_ticks_since(const struct rec_core_use *before, uint64_t ticks);

#endif
