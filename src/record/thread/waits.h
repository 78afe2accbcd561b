/* Threads that the program makes itself, and how they wait for each other: their numbers, and the
 * records from which a reader knows who waited for whom.
 *
 * A call that makes a thread or waits is recorded between a begin and an end; in a pause only that
 * threads have met is on the tape. */
#ifndef LULL_RECORD_THREAD_WAITS_H
#define LULL_RECORD_THREAD_WAITS_H

#include "record/core.h"

#include <pthread.h>

/* A function of the threads' library. */
struct rec_wait_function {
    const char *name;
    uint32_t role;   /* enum lull_tape_role */
    uint32_t region; /* atomic; 0: not yet called */
    bool files;      /* it is one for files: what waits there has an activity of its own */
};

struct rec_wait {
    struct rec_thread *self;
    uint32_t region;
    bool recorded; /* false: in a pause */
    uint64_t begin;
};

/* Where a function of the program's was called from: REC_CALLER and REC_FRAME (site/site.h); `site`
 * stands for the function, from REC_LOCK_SITES or REC_FILE_SITES on. */
struct rec_wait_place {
    unsigned site;
    const void *from, *frame;
};
enum { REC_LOCK_SITES = 0x5000, REC_FILE_SITES = 0x5800 }; /* those of OpenMP: omp/team.h */

/* As rec_wait_begin, of a call that is told apart by its place and meets no thread. False also in a
 * pause, on a thread that is no location, and where a runtime or the recorder calls. */
bool rec_wait_begin_at(struct rec_wait *wait, struct rec_wait_function *function,
                       const struct rec_wait_place *place);
/* The call was over at `end`. Returns the time of what else is to be told of it, which
 * rec_wait_leave follows. */
uint64_t rec_wait_end_at(struct rec_wait *wait, uint64_t end);
/* The call was too short to be recorded. */
void rec_wait_drop(struct rec_wait *wait);
/* Behind either of these. */
void rec_wait_leave(struct rec_wait *wait);

#endif
