/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums of one thread, in a mapping of its file: visits and time of each region, kept also
 * where events are not. See struct lull_tape_sums_header. */
#ifndef LULL_RECORD_STORE_SUMS_H
#define LULL_RECORD_STORE_SUMS_H

#include "record/core.h"

/* Bytes of address space that the sums of a thread may take. */
size_t rec_sums_space(void);
/* Makes the sums of a thread in its `size` bytes of address space at `space`. */
bool rec_sums_begin(struct rec_thread *self, void *space, size_t size);
/* A thread begins to live at this location: the first one, or another one in its place. */
void rec_sums_from(struct rec_thread *self, uint64_t now);
/* The thread's life goes on to `now` at least: regions that are open get their time so far. */
void rec_sums_until(struct rec_thread *self, uint64_t now);
/* The recorder itself took `ticks` until `now`: no region gets them. */
void rec_sums_flush(struct rec_thread *self, uint64_t ticks, uint64_t now);
/* Of a device stream: bytes were moved by an operation that its region's sum has. */
void rec_sums_move(struct rec_thread *self, uint32_t region, uint64_t bytes);
/* From now on no more room is asked for. */
void rec_sums_stop(struct rec_thread *self);
/* The sums are complete. */
void rec_sums_end(struct rec_thread *self);

#endif
