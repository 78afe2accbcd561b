/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the OpenMP 5.1 tools interface (OMPT) that the recorder uses, so that a compiler
 * without omp-tools.h can build it. Names and numbers are the specification's (sections 4.4 and
 * 4.5), the names in capitals or without their ending _t. */
#ifndef LULL_RECORD_OMP_OMPT_H
#define LULL_RECORD_OMP_OMPT_H

#include <stdint.h>

union ompt_data {
    uint64_t value;
    void *ptr;
};

typedef void (*ompt_interface)(void);
typedef ompt_interface ompt_lookup(const char *name);
typedef int ompt_set_callback(int event, ompt_interface callback);

struct ompt_tool {
    int (*initialize)(ompt_lookup *lookup, int device, union ompt_data *data);
    void (*finalize)(union ompt_data *data);
    union ompt_data data;
};

enum ompt_event {
    OMPT_THREAD_BEGIN = 1,
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_TASK_CREATE = 5,
    OMPT_TASK_SCHEDULE = 6,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_DEVICE_INITIALIZE = 12,
    OMPT_MUTEX_RELEASED = 17,
    OMPT_WORK = 20,
    OMPT_SYNC_REGION = 23,
    OMPT_MUTEX_ACQUIRE = 26,
    OMPT_MUTEX_ACQUIRED = 27,
    OMPT_NEST_LOCK = 28,
    OMPT_TARGET_EMI = 33,
    OMPT_TARGET_DATA_OP_EMI = 34,
    OMPT_TARGET_SUBMIT_EMI = 35
};

/* What ompt_set_callback returns: less than this, the callback is never called. */
enum { OMPT_SET_SOMETIMES = 3 };

enum { OMPT_BEGIN = 1, OMPT_END = 2 };

enum ompt_sync {
    OMPT_SYNC_BARRIER = 1,
    OMPT_SYNC_BARRIER_IMPLICIT,
    OMPT_SYNC_BARRIER_EXPLICIT,
    OMPT_SYNC_BARRIER_IMPLEMENTATION,
    OMPT_SYNC_TASKWAIT,
    OMPT_SYNC_TASKGROUP,
    OMPT_SYNC_REDUCTION,
    OMPT_SYNC_BARRIER_WORKSHARE,
    OMPT_SYNC_BARRIER_PARALLEL,
    OMPT_SYNC_BARRIER_TEAMS
};

/* target.c: asks the runtime to tell of target regions, where devices are recorded. */
void rec_target_start(ompt_set_callback *set);

#endif
