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
#ifndef LULL_RECORD_FUNCTION_FUNCTION_H
#define LULL_RECORD_FUNCTION_FUNCTION_H

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

/* ---- which functions are left out (choice.c) --------------------------------------------------
 *
 * What is known of a function's address: its region and these bits; 0: nothing yet. */
enum { REC_FUNCTION_EXCLUDED = 1, REC_FUNCTION_RECORDED = 2, REC_FUNCTION_THROTTLED = 4 };
enum { REC_FUNCTION_SHIFT = 3 };

uintptr_t rec_function_known(uintptr_t address);
/* At its first call; never 0. */
uintptr_t rec_function_learn(uintptr_t address);

/* What is known of a place that tells of a function's beginning, where the stack is at `stack`: the
 * bytes from there to where the stack of the function begins that the place is in, and this bit. */
enum { REC_PLACE_INLINED = 1, REC_PLACE_KNOWN = 2 };
uintptr_t rec_function_place(uintptr_t place); /* 0: nothing yet */
uintptr_t rec_function_learn_place(uintptr_t function, uintptr_t place, uintptr_t stack);

/* The thread has called it REC_THROTTLE.calls times, which took so many ticks. */
struct rec_throttle {
    uint64_t calls; /* 0: no function is left out */
    double ns;      /* the mean must be below this */
};
extern struct rec_throttle rec_throttle;
void rec_function_throttle(uintptr_t address, uint32_t region, uint64_t ticks);
/* Calls of a function that was left out then. */
void rec_function_left_out(uint32_t region, uint64_t calls);

/* Whether the thread is about to record a call of a function below that stack: who asks is a
 * signal's handler then, and what it does cannot be recorded. */
bool rec_functions_are_busy(const struct rec_thread *self, uintptr_t stack);

#endif
