/* SPDX-License-Identifier: BSD-3-Clause */
/* When recording begins and ends: of the process, and of each thread of it (rec_thread_begin in
 * core.h). This file calls all parts of the recorder. */
#ifndef LULL_RECORD_LIFE_CYCLE_H
#define LULL_RECORD_LIFE_CYCLE_H

#include <stdint.h>

/* Starts the recorder unless it runs already; called by the constructor, and safe to call from
 * other constructors that may come first. */
void rec_start(void);
/* The process ends in an orderly way: closes all tapes. Later calls of the program pass through. */
void rec_stop(void);
/* Sets the world rank, and names the locations after it, when MPI tells it. */
void rec_set_rank(uint32_t rank);

#endif
