/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up: how long MPI_Init took in a run whose analysed part has it, as that of other tools'
 * traces does. */
#ifndef LULL_STUDY_START_UP_H
#define LULL_STUDY_START_UP_H

#include "study/run.h"

/* Whether a region of the trace is MPI_Init or MPI_Init_thread. */
bool lull_has_init(const struct lull_trace *trace);

/* The share of the run's time that MPI_Init took, and how to leave it out: a sentence in `arena`.
 * NULL: less than a tenth, or that is not known. The run must have been analysed. Reads the first
 * events of up to 256 processes again. */
const char *lull_start_up_describe(const struct lull_run *run, uint32_t application,
                                   struct lull_arena *arena);

#endif
