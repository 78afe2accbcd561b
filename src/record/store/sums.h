/* Running sums of one thread, mapped: visits and time of each region, kept
 * also when events are not. See struct lull_tape_sums_header. */
#ifndef LULL_RECORD_STORE_SUMS_H
#define LULL_RECORD_STORE_SUMS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_thread;

/* A page, and each time as much again at least, up to 4 MiB. */
enum { REC_SUMS_PARTS = 12 };

struct rec_sums {
    struct lull_tape_sums_header *header;
    size_t size, reserved;          /* bytes that are mapped, and that there is room for */
    bool full;                      /* there is no room for more, and none is asked for again */
    uint32_t n_parts;               /* of what is mapped, one behind the other */
    uint32_t parts[REC_SUMS_PARTS]; /* bytes of each; written before it is counted */
};

/* Bytes of address space that the sums of a thread may take. */
size_t rec_sums_space(void);
/* They are to stand at `space`. */
bool rec_sums_begin(struct rec_thread *self, void *space, size_t size);
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
/* No room for more is asked for from now on. */
void rec_sums_stop(struct rec_thread *self);
/* They are complete. */
void rec_sums_end(struct rec_thread *self);

#endif
