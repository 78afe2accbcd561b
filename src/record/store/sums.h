/* Running sums of one thread, in a mapping of its file: visits and time of each region, kept also
 * where events are not. See struct lull_tape_sums_header. */
#ifndef LULL_RECORD_STORE_SUMS_H
#define LULL_RECORD_STORE_SUMS_H

#include "tape/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rec_thread;

/* Parts of the mapping: the first is a page, and each further one is at least as large as all
 * before, up to 4 MiB. */
enum { REC_SUMS_PARTS = 12 };

struct rec_sums {
    struct lull_tape_sums_header *header;
    size_t size, reserved;          /* bytes that are mapped, and bytes of address space that there
                                       are */
    bool full;                      /* there is no room for more, and none is asked for again */
    uint32_t n_parts;               /* parts that are mapped, one behind the other */
    uint32_t parts[REC_SUMS_PARTS]; /* bytes of each; written before it is counted */
};

/* Bytes of address space that the sums of a thread may take. */
size_t rec_sums_space(void);
/* Makes the sums of a thread in its `size` bytes of address space at `space`. */
bool rec_sums_begin(struct rec_thread *self, void *space, size_t size);
/* Makes room for a region's sums; false when there is none to be had. */
bool rec_sums_grow(struct rec_thread *self, uint32_t region);
/* A thread begins to live here: the first one, or another one in its place. */
void rec_sums_from(struct rec_thread *self, uint64_t now);
/* The thread lives until `now` at least: regions that are open get their time so far. */
void rec_sums_until(struct rec_thread *self, uint64_t now);
/* A thread that is paused has been so until `now`: the time so far goes to the pause. */
void rec_sums_pause(struct rec_thread *self, uint64_t now);
/* The recorder itself took `ticks` until `now`: no region gets them. */
void rec_sums_flush(struct rec_thread *self, uint64_t ticks, uint64_t now);
/* No room for more is asked for from now on. */
void rec_sums_stop(struct rec_thread *self);
/* The sums are complete. */
void rec_sums_end(struct rec_thread *self);

#endif
