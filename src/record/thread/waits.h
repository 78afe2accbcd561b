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

/* What is waited for; see LULL_TAPE_NUMBER_THREAD_WAIT_BEGIN. number 0: nobody that is known. */
struct rec_meeting {
    uint64_t number;
    uint32_t location, threads;
};

struct rec_wait {
    struct rec_thread *self;
    uint32_t region;
    bool recorded; /* false: in a pause */
    uint64_t begin;
};

/* False: the call goes on as if there were no recorder. */
bool rec_wait_begin(struct rec_wait *wait, struct rec_wait_function *function);
/* The call is over, and the meeting has taken place, if it has a number. */
void rec_wait_end(struct rec_wait *wait, const struct rec_meeting *meeting);
/* The call is over, and has made the thread with that number, unless it is 0. */
void rec_wait_end_made(struct rec_wait *wait, uint64_t number);

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

/* Of the next thread that the program makes. */
uint64_t rec_thread_number(void);
/* The calling thread has that number and location. */
void rec_thread_is(uint64_t number, uint32_t location);
/* The newest of all threads so far, before a wait for one of them. */
uint64_t rec_thread_newest(void);
/* What a wait for the end of a thread was, once it has ended; `newest` as it was before: the
 * library may call another thread the same by now. */
struct rec_meeting rec_meeting_of(pthread_t thread, uint64_t newest);

/* A barrier at this address is for so many threads of this process from here on; 0: it is none any
 * more. */
void rec_barrier_is(const void *barrier, uint32_t threads);
/* A thread comes to a barrier. All that meet come before one of them leaves, so that they need only
 * be counted. */
struct rec_meeting rec_barrier_come(const void *barrier);

#endif
