/* The part of the program that the user wants recorded, as lull record was told: by time, by
 * signals, by iterations. What lies outside is a pause (thread/pause.c), each with its own reason,
 * so that nothing is recorded while there is one.
 *
 * Time and signals are seen to by a thread of the recorder that sleeps, and is there only if one of
 * them was asked for: a pause takes a lock, which no handler of a signal may. */
#ifndef LULL_RECORD_THREAD_PAUSE_H
#define LULL_RECORD_THREAD_PAUSE_H

#include <stdbool.h>

/* Takes LULL_RECORD_START, _DURATION, _SIGNALS and _ITERATIONS from the environment. */
void rec_window_prepare(void);
/* Before the first thread is recorded: a pause begins unless all is wanted from here on. */
void rec_window_start(void);
/* When the main thread is recorded: time goes on from here. */
void rec_window_watch(void);

/* Whether iterations are chosen: then the program's marks come by here, before anything of them is
 * recorded, and after the end of a region has been. */
extern bool rec_window_has_iterations;
void rec_window_iteration(long number);
void rec_window_begin(const char *name);
void rec_window_end(void);

#endif
