/* Functions of the program that a compiler has instrumented (-finstrument-functions): each is a
 * region, entered and left. Its address is what is known of it here; names come when the run is
 * read, but for a filter, which looks at them once for each file that is loaded (filter/filter.h).
 *
 * Some functions are left by longjmp or an exception, which not every compiler tells. So what is
 * open on a thread is kept with where its stack begins, and what lies below that of a function that
 * begins, or was in its place, is closed then; so is what a function that ends has called. How far
 * above the present stack a function's stack begins depends on the instruction that tells of it,
 * and is asked of the unwinder once for each.
 *
 * A function that is called often and is short costs more to record than it takes. After so many
 * calls on one thread in a row whose mean is below a limit, it is left out in the whole process:
 * its later calls are counted and have no events, so that their time is that of their callers. */
#ifndef LULL_RECORD_FUNCTION_H
#define LULL_RECORD_FUNCTION_H

#include "record/core.h"

/* Takes LULL_RECORD_FILTER and LULL_RECORD_THROTTLE from the environment. */
void rec_functions_prepare(void);
/* Before anything is recorded: looks which functions of the files that are loaded are left out. */
void rec_functions_start(void);
/* The thread of this location ends. */
void rec_functions_end(struct rec_thread *self);
/* The process does: counts what the thread, which may go on, has left out so far. */
void rec_functions_count(struct rec_thread *self);
void rec_functions_free(struct rec_thread *self); /* the location itself goes away */
/* The process ends: says how many calls were left out. */
void rec_functions_stop(void);

/* Whether the thread is about to record a call of a function below that stack: who asks is a
 * signal's handler then, and what it does cannot be recorded. */
bool rec_functions_are_busy(const struct rec_thread *self, uintptr_t stack);

#endif
