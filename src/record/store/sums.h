/* Running sums of one thread, mapped: visits and time of each region, kept
 * also when events are not. See struct lull_tape_sums_header. */
#ifndef LULL_RECORD_STORE_SUMS_H
#define LULL_RECORD_STORE_SUMS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_thread;

struct rec_sums {
    struct lull_tape_sums_header *header;
    size_t size, reserved; /* bytes that are mapped, and that there is room for */
    bool full;             /* there is no room for more, and none is asked for again */
};

bool rec_sums_begin(struct rec_thread *self);
/* Makes room for a region's sums; false when there is none to be had. */
bool rec_sums_grow(struct rec_thread *self, uint32_t region);
/* The thread begins to live, or another one in its place. */
void rec_sums_from(struct rec_thread *self, uint64_t now);
/* The thread lives until `now` at least: regions that are open get their time so far. */
void rec_sums_until(struct rec_thread *self, uint64_t now);
/* Of a thread that is paused: it has been so until `now`. */
void rec_sums_pause(struct rec_thread *self, uint64_t now);
/* The recorder itself took `ticks` until `now`. */
void rec_sums_flush(struct rec_thread *self, uint64_t ticks, uint64_t now);
/* What is added from now on goes nowhere: the mapping becomes private memory in one step. */
void rec_sums_detach(struct rec_thread *self);
void rec_sums_end(struct rec_thread *self, bool running);

#endif
