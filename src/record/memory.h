/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the process has, as the system tells: what is resident, the high-water mark of that,
 * which the system keeps exactly, and what is swapped out. Read when recording begins, every 100 ms where
 * a call or region of any thread ends, and when recording ends. A reading takes 5 us, and
 * some 30 where the program has used the caches meanwhile (bench/record_memory.py); where even the fastest
 * takes more than 50 us, the system is asked so much less often that the fastest would take 0.05 % of the
 * time. The numbers stand in the definitions of the process (LULL_TAPE_DEFINE_MEMORY) and are changed
 * there, so that they are known also of a program that is killed. Some of the readings are kept with
 * their times (record/readings.h).
 *
 * Nothing is asked of the program's allocator, and the system's high-water mark is not reset, because the
 * program may read it, too, unless the user asks for the memory of regions (record/region_memory.h). Huge
 * pages of hugetlbfs are not in these numbers, and pages that processes share count in each of them. */
#ifndef LULL_RECORD_MEMORY_H
#define LULL_RECORD_MEMORY_H

#include <stdint.h>

/* The definitions of the process have begun. */
void rec_memory_begin(void);
/* Reads the numbers if the last reading is old enough. */
void rec_memory_read(void);
/* Reads and notes the system's high-water mark, in bytes; 0: it is not known. */
uint64_t rec_memory_mark(void);
/* Raises a number that other threads may raise, too: the largest value stays. */
void rec_raise_to(uint64_t *to, uint64_t value);
/* Reads them for the last time, before the definitions end. */
void rec_memory_end(void);

#endif
