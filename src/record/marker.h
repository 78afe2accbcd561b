/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that a program marks: by lull.h, or for another tool (record/foreign_marks.c). The other
 * tool's functions are defined in the recorder, so that the program finds them also without that
 * tool's library, and the calls go on to that library where it is there. Each mark becomes a region
 * as one of lull.h; an end ends the region that began last on the thread. */
#ifndef LULL_RECORD_MARKER_H
#define LULL_RECORD_MARKER_H

#include "record/core.h"

#include <string.h>

/* Begins a region on the calling thread. `name` is copied; NULL: the region is not recorded, but
 * its end is expected. */
void rec_mark_begin(const char *name);
void rec_mark_end(void);

/* A function of the tool's own library, whose file name begins with `library`. */
struct rec_original {
    const char *library, *name;
    void *found;     /* atomic; NULL: not yet, or there is none */
    uint64_t looked; /* atomic: how many files had been loaded by then */
};
/* Looks for the function; NULL: it is not there. A module that is loaded later may bring it: it is
 * looked for again whenever files have been loaded. */
void *rec_original(struct rec_original *original);

#define REC_ORIGINAL(library, function)                                       \
    __extension__({                                                           \
        static struct rec_original original_ = {library, #function, NULL, 0}; \
        __typeof__(&function) next_;                                          \
        void *symbol_ = rec_original(&original_);                             \
        memcpy(&next_, &symbol_, sizeof next_);                               \
        next_;                                                                \
    })

/* Keeps for good that this handle of a region has that name. */
void rec_handle_is(const void *handle, const char *name);
const char *rec_handle_name(const void *handle); /* NULL: it is not known */
/* Makes a handle of our own: a pointer to the name, with `size` bytes of 0 behind it. The same name
 * and size have the same handle, because programs may ask for one at each visit. NULL: no
 * memory. */
void *rec_handle_make(const char *name, size_t size);
bool rec_handle_is_own(const void *handle);
/* In a forked child, which may go on marking: frees the lock, which another thread of the parent
 * may have held. */
void rec_handles_forked(void);

#endif
