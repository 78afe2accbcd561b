/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory the process had in each marked region (LULL_RECORD_REGION_MEMORY). Where a region begins
 * the system's high-water mark is reset (a "5" into /proc/self/clear_refs), and where it ends the mark is
 * read. This is not done unless the user asks for it, because the program may read the mark, too, as VmHWM
 * or by getrusage(2); the peak of the process, which the recorder notes, stays what it is.
 *
 * The mark is that of the whole process. So what a region has is the most that the process had while any
 * thread was in the region, whichever thread took the memory. Before a mark is reset it is read for all
 * regions that are open, so that nested regions and regions of several threads get what is theirs. Where
 * two threads begin regions at the same moment one of the visits is not measured, and what another
 * thread takes and gives back between the reading and the reset, some us, is not seen.
 *
 * The first visit of each of the first 64 regions is measured, and others as long as all of this takes no
 * more than 0.05 % of the time since recording began. All visits are counted. A thread that ends within a
 * marked region leaves it open: what the process has later counts for it. */
#ifndef LULL_RECORD_REGION_MEMORY_H
#define LULL_RECORD_REGION_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* rec_region_memory_prepare reads the setting, before it is taken out of the environment;
 * rec_region_memory_begin follows when definitions can be written. */
void rec_region_memory_prepare(void);
void rec_region_memory_begin(void);

extern bool rec_region_memory_on;

/* A thread is about to enter a region. Returns what rec_region_memory_leave gets when it has left it; 0: this
 * visit is not measured. Only where rec_region_memory_on. */
uint32_t rec_region_memory_enter(uint32_t region);
void rec_region_memory_leave(uint32_t measured);

#endif
