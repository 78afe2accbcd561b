/* Regions that a program marks for another tool: its functions are defined here, so that they are
 * found also without that tool's library, and go on to it where it is there. Each becomes a region
 * as lull.h marks it; an end ends the region that began last on the thread. */
#ifndef LULL_RECORD_MARKER_H
#define LULL_RECORD_MARKER_H

#include "record/core.h"

#include <string.h>

/* record/thread/marker.c: `name` is copied; NULL: nothing is recorded up to its end. */
void rec_mark_begin(const char *name);
void rec_mark_end(void);

/* A function of the tool's own library, whose file's name begins so. */
struct rec_original {
    const char *library, *name;
    void *found;     /* atomic; NULL: not yet, or there is none */
    uint64_t looked; /* atomic: how many files had been loaded by then */
};
/* NULL: it is not there. It may come later, with a module. */
void *rec_original(struct rec_original *original);

#define REC_ORIGINAL(library, function)                                       \
    __extension__({                                                           \
        static struct rec_original original_ = {library, #function, NULL, 0}; \
        __typeof__(&function) next_;                                          \
        void *symbol_ = rec_original(&original_);                             \
        memcpy(&next_, &symbol_, sizeof next_);                               \
        next_;                                                                \
    })

/* Handles of regions and their names, which are kept. */
void rec_handle_is(const void *handle, const char *name);
const char *rec_handle_name(const void *handle); /* NULL: it is not known */
/* A handle of our own, of `size` bytes of 0 and a pointer to the name in front, the same for the
 * same name and size, which programs may ask for at each visit; NULL: no memory. */
void *rec_handle_make(const char *name, size_t size);
bool rec_handle_is_own(const void *handle);
/* In a forked child, whose program marks on: another thread of the parent may have been in here. */
void rec_handles_forked(void);

#endif
