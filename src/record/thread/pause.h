/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses: recording stops and goes on. There are four reasons to pause: the program asks for it, or
 * the present moment is not in the part of the run that the user has asked `lull record` for, by
 * time, by signals, or by iterations. Recording goes on when none of the four holds.
 *
 * A thread of the recorder watches time and signals, because a pause takes a lock, which no signal
 * handler may. Where threads are sampled, and the program has several, it keeps the samples of those
 * that do not enter the recorder (sample/sample.h). It sleeps nearly always, and is there only for
 * these three. */
#ifndef LULL_RECORD_THREAD_PAUSE_H
#define LULL_RECORD_THREAD_PAUSE_H

#include "record/core.h"

/* ==== pauses ================================================================================== */

void rec_pause_start(void);
/* The program asks to be left out from here on, or to be measured again (MPI_Pcontrol, lull.h).
 * That holds for all of its threads, also those that begin later. What begins in a pause is not
 * recorded; what began before it and ends in it has its end on the tape. */
void rec_pause(void);
void rec_resume(void);
bool rec_is_pause(void); /* whether one goes on in this process */
/* From now on `ends` is called before a pause ends, and when it has ended, by the thread that ends it. */
void rec_pause_watch(void (*ends)(void));
/* The calling thread's location begins or ceases to be recorded, in a pause or not. */
void rec_pause_enter(struct rec_thread *self, uint64_t now);
void rec_pause_leave(struct rec_thread *self, uint64_t now);
/* Writes onto the tape the pauses of which the thread has not yet taken note. */
void rec_pause_note(struct rec_thread *self);
/* The same of a device stream, whose next record has that time, and may come much later: nothing
 * happens where a pause goes on or has ended later. */
void rec_pause_note_before(struct rec_thread *self, uint64_t time);
/* Called in a forked child, in which nothing is recorded: what its thread writes from here on goes
 * nowhere. Does nothing in the parent. */
void rec_leave_to_parent(void);

/* ==== the part that the user wants ============================================================ */

/* Reads LULL_RECORD_START, _DURATION, _SIGNALS and _ITERATIONS from the environment. */
void rec_window_prepare(void);
/* Before the first thread is recorded: a pause begins, unless recording is wanted from here on. */
void rec_window_start(void);
/* Starts the recorder's thread, which counts time from here. Called when the main thread is recorded,
 * with `alone`; then it is started only if time or signals are to be watched. Called again for each
 * further thread. */
void rec_window_watch(bool alone);
/* Ends the watching thread and waits, for a second (record/patience.h), until it calls the system no more.
 * Signals change nothing from then on. */
void rec_window_unwatch(void);

/* Whether iterations are chosen. Then the program's marks call the functions below: before a mark
 * is recorded, and after the end of a region has been. */
extern bool rec_window_has_iterations;
void rec_window_iteration(long number);
void rec_window_begin(const char *name);
void rec_window_end(void);

#endif
