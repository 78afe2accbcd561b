/* SPDX-License-Identifier: BSD-3-Clause */
/* What a region is, from its name; internal to the trace room.
 *
 * Some tracers (EZTrace) call every region a user function: then the name decides. The tables know
 * the MPI functions (in C and Fortran spelling), those of OpenSHMEM, EZTrace's "OpenMP ..." and
 * Score-P's "!$omp ..." constructs, pthread calls, and the tracers' own regions. */
#ifndef LULL_TRACE_CLASSIFY_H
#define LULL_TRACE_CLASSIFY_H

#include "trace/trace.h"

/* Corrects paradigm and role where they say nothing, then derives activity, user, parallel and
 * collective. `parallel` is only ever switched on. */
void lull_classify_region(struct lull_region *region);

/* Role of a counter, from its name. */
uint8_t lull_classify_counter(const char *name);

#endif
