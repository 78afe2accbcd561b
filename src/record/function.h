/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the program that a compiler has instrumented (-finstrument-functions): each is a
 * region, entered and left. Only its address is known here. Names are looked up when the run is
 * read. Only a filter needs names earlier, and reads them once for each loaded file
 * (filter/filter.h).
 *
 * Some functions are left by longjmp or an exception, which not every compiler tells. So each
 * function that is open on a thread is kept with the address where its stack begins. A function
 * that begins closes the open ones whose stack lies below its own or in its place; a function that
 * ends closes those that it has called. How far a function's stack begins above the present stack
 * pointer depends on the instruction that tells of the function; the unwinder is asked once for
 * each such instruction.
 *
 * A function that is called often and is short costs more to record than it takes. The calls on one
 * thread are looked at together, as many as LULL_RECORD_THROTTLE says. When their mean is below the
 * limit there, the function is left out in the whole process: its later calls are counted and have
 * no events, so that their time is that of their callers. */
#ifndef LULL_RECORD_FUNCTION_H
#define LULL_RECORD_FUNCTION_H

#include "record/core.h"

/* Takes LULL_RECORD_FILTER and LULL_RECORD_THROTTLE from the environment. */
void rec_functions_prepare(void);
/* Before anything is recorded: applies the filter to the functions of all files that are loaded. */
void rec_functions_start(void);
/* The thread of this location ends. */
void rec_functions_end(struct rec_thread *self);
/* The process ends: adds up the calls that were left out so far on a thread, which may still
 * run. */
void rec_functions_count(struct rec_thread *self);
void rec_functions_free(struct rec_thread *self); /* the location itself goes away */
/* The process ends: defines for the reader how many calls were left out. */
void rec_functions_stop(void);

/* Whether the thread is recording a call of a function whose stack lies above that address. Then
 * the caller is a signal handler that has interrupted the recorder, and what it does cannot be
 * recorded. */
bool rec_functions_are_busy(const struct rec_thread *self, uintptr_t stack);

#endif
