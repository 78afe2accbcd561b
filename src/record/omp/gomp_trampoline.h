/* Tasks under gcc's runtime whose block of arguments stays as the program has made it: the runtime
 * gets, in place of the task's code, one of a fixed number of functions of ours, which belongs to
 * that code for good. So it need not copy a larger block that says which code is meant. */
#ifndef LULL_RECORD_OMP_GOMP_TRAMPOLINE_H
#define LULL_RECORD_OMP_GOMP_TRAMPOLINE_H

#include "record/omp/gomp_functions.h"

/* The function for a task's code, which calls rec_gomp_run_task. NULL: all of them belong to
 * others, or too many of those with a like address do. */
rec_body *rec_gomp_trampoline(rec_body *body);

/* Runs a task's code with its arguments as the region of that id, which is left out where nothing
 * is recorded. */
void rec_gomp_run_task(rec_body *body, uint32_t region, void *data);

#endif
