/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that make threads or wait. Such a call is recorded between a begin and an end; in a pause
 * only the meeting of threads goes onto the tape. */
#ifndef LULL_RECORD_THREAD_WAITS_H
#define LULL_RECORD_THREAD_WAITS_H

#include "record/core.h"
#include "record/site/site.h"

#include <pthread.h>

/* A function that makes threads or waits, works on files, or belongs to the runtime of a device. */
struct rec_wait_function {
    const char *name;
    uint32_t role;     /* enum lull_tape_role */
    uint32_t region;   /* atomic; 0: not yet defined */
    uint32_t paradigm; /* enum lull_tape_paradigm */
};

struct rec_wait {
    struct rec_thread *self;
    uint32_t region;
    bool recorded; /* false: in a pause */
    uint64_t begin;
};

/* Where the program has called a function: REC_CALLER and REC_FRAME (site/site.h). `site` stands
 * for the function: a number from REC_LOCK_SITES or REC_FILE_SITES on. */
struct rec_wait_place {
    unsigned site;
    const void *from, *frame;
};
enum {
    REC_LOCK_SITES = REC_SYSTEM_SITES,
    REC_FILE_SITES = 0x5800,
    REC_DEVICE_SITES = 0x6000
}; /* OpenMP has numbers from REC_OMP_SITES on (omp/team.h) */

/* Begins a call that has a call site and meets no thread. False: the call is not recorded, because
 * of a pause, because the thread is no location, or because a runtime or the recorder calls; calls
 * of a device's runtime are recorded whoever makes them. */
bool rec_wait_begin_at(struct rec_wait *wait, struct rec_wait_function *function,
                       const struct rec_wait_place *place);
/* The call was over at `end`. Returns the time that further records of the call must have; they are
 * written before rec_wait_leave. */
uint64_t rec_wait_end_at(struct rec_wait *wait, uint64_t end);
/* The call was too short to be recorded. */
void rec_wait_drop(struct rec_wait *wait);
/* Behind rec_wait_end_at or rec_wait_drop: the thread is outside of the call. */
void rec_wait_leave(struct rec_wait *wait);

#endif
