/* SPDX-License-Identifier: BSD-3-Clause */
/* Hardware counters of the measured program, counted for each thread by itself.
 *
 * LULL_RECORD_COUNTERS names them: NAME, or BACKEND:NAME, separated by commas. Unset: instructions
 * and cycles where perf_event has them. All come from one back-end: the first that has all of them,
 * else the first that has most of them. Counters that it lacks are left out, and one line says why.
 *
 * A reading is taken where a call or region begins and ends. What was counted since the thread's
 * previous reading goes to the sums of the region in which the thread was, and onto the tape
 * (LULL_TAPE_COUNTS). Readings are taken by the recorder between the program and the runtime. So
 * most of the recorder's own instructions are counted with those of the runtime; the few between a
 * reading and the program are counted with the program's.
 *
 * To add a back-end: write a file of its own in this folder with a `const struct
 * rec_counter_backend`, and add its address to the array in counters.c. */
#ifndef LULL_RECORD_COUNTERS_COUNTERS_H
#define LULL_RECORD_COUNTERS_COUNTERS_H

#include "record/core.h"

/* A counter that was found. `type`, `code` and `rate` are the back-end's own. */
struct rec_counter {
    char name[64]; /* as it is called in the run */
    uint64_t type, code;
    double rate;
};

struct rec_counter_backend {
    const char *name;
    /* Looks for a counter by the name that the user gave, without the name of the back-end. NULL:
     * found; else a text that says why it is not there, valid until the next call. */
    const char *(*find)(const char *name, struct rec_counter *ret_counter);
    /* Starts the counters for the calling thread; false: there are none for it. */
    bool (*begin)(struct rec_counting *counting, const struct rec_counter *counters, unsigned n);
    /* Their values at `now` (ticks), which is the present or shortly before. They only grow. */
    void (*read)(struct rec_counting *counting, const struct rec_counter *counters, unsigned n,
                 uint64_t now, uint64_t *values);
    void (*end)(struct rec_counting *counting, unsigned n); /* by the thread itself */
};

extern const struct rec_counter_backend rec_counters_perf, rec_counters_papi, rec_counters_system,
    rec_counters_fake;

/* Finds the counters, once definitions can be written; `list` is the value of LULL_RECORD_COUNTERS,
 * or NULL. */
void rec_counters_start(const char *list);
unsigned rec_counters_number(void);
uint32_t rec_counters_id(unsigned counter); /* of its definition */

/* Starts the counters of the calling thread at `now`, and stops them. */
void rec_counters_begin(struct rec_thread *self, uint64_t now);
void rec_counters_end(struct rec_thread *self);

/* What was counted since the previous reading belongs to no region. */
void rec_counters_skip(struct rec_thread *self, uint64_t now);
/* What is counted between these two calls belongs to no region; between them the recorder writes a
 * chunk. `values` carries a reading from the first call to the second. */
void rec_counters_hide(struct rec_thread *self, uint64_t now, uint64_t *values);
void rec_counters_unhide(struct rec_thread *self, uint64_t now, const uint64_t *values);

#endif
