/* The part of the program that the user wants recorded, as `lull record` was told: by time, by
 * signals, by iterations. All else is a pause. Each of the three is a reason of its own to pause
 * (record/core.h, rec_pause_for), and recording goes on when none of them holds.
 *
 * A thread of the recorder watches time and signals, because a pause takes a lock, which no signal
 * handler may. It sleeps nearly always, and is there only if one of the two was asked for. */
#ifndef LULL_RECORD_THREAD_PAUSE_H
#define LULL_RECORD_THREAD_PAUSE_H

#include <stdbool.h>

/* Takes LULL_RECORD_START, _DURATION, _SIGNALS and _ITERATIONS from the environment. */
void rec_window_prepare(void);
/* Before the first thread is recorded: a pause begins, unless recording is wanted from here on. */
void rec_window_start(void);
/* When the main thread is recorded: starts the watching thread, which counts time from here. */
void rec_window_watch(void);

/* Whether iterations are chosen. Then the program's marks call the functions below: before a mark
 * is recorded, and after the end of a region has been. */
extern bool rec_window_has_iterations;
void rec_window_iteration(long number);
void rec_window_begin(const char *name);
void rec_window_end(void);

#endif
