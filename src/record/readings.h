/* SPDX-License-Identifier: BSD-3-Clause */
/* Readings of how much memory the process has, over time: LULL_TAPE_READINGS of them at most, in the
 * definitions of the process, so that they are known also of a program that is killed. When all places
 * are taken, every second reading is given up, and from then on readings are taken half as often. */
#ifndef LULL_RECORD_READINGS_H
#define LULL_RECORD_READINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Between two readings lie at least so many ticks. */
void rec_readings_begin(uint64_t ticks);
/* Keeps a reading, if it is time for one; `last`: in any case. Threads may do this at the same time. */
void rec_readings_keep(uint64_t bytes, bool last);

#endif
