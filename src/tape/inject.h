/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of `lull record --inject`, which disturbs a program on purpose.
 *
 * RUN/inject/<rank>.settings tells the recorder what to add. It is written before the program
 * begins, and the recorder maps it. It holds plain numbers: the recorder draws no random numbers
 * itself, and adds what a simulation with the same option would add.
 * RUN/inject/<process number>.moments tells the recorders of one node when messages were sent. */
#ifndef LULL_TAPE_INJECT_H
#define LULL_TAPE_INJECT_H

#include "tape/layout.h"

#define LULL_TAPE_INJECT_NAME     "inject" /* a folder */
#define LULL_TAPE_INJECT_MAGIC    "LULLINJC"
#define LULL_TAPE_MOMENTS_MAGIC   "LULLMMTS"
#define LULL_TAPE_INJECT_SETTINGS "settings"
#define LULL_TAPE_INJECT_MOMENTS  "moments"

/* ns: a shorter time between two calls of MPI does not count as a computation. */
#define LULL_TAPE_LEAST_COMPUTATION 1000

/* A rank is `length` ns late once: in its first computation at or after `when`, which counts ns
 * since the end of MPI_Init, or iterations where `at_iteration` is not 0. */
struct lull_tape_delay {
    uint32_t rank, at_iteration;
    int64_t when, length;
};

/* A detour of a periodic noise: from `begin` ns after the begin of the period on, the core is away
 * for `length` ns. `before` is the sum of the lengths of the detours before it in the period. */
struct lull_tape_detour {
    int64_t begin, length, before;
};

/* A file of settings holds, one after the other: this struct; n_delays delays; n_draws amounts of
 * noise (i64 ns), the k-th for the k-th computation, and behind the last one they begin again with
 * the first; the n_detours detours of a period, in order of time; the name of the function whose
 * calls begin iterations, and what the user wrote, both terminated. */
struct lull_tape_inject {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t size;      /* bytes of the whole file */
    uint32_t rank;      /* whose noise this is */
    double latency;     /* ns that a message takes, whatever its size; negative: messages are left
                           alone */
    double ns_per_byte; /* added to the latency for each byte */
    uint32_t n_delays, n_draws, n_detours;
    uint32_t name_size, text_size; /* bytes, with the terminating 0 */
    uint32_t reserved;
    double per; /* ns of computation that one amount of noise is for; 0: each computation gets one
                   amount, whatever its length */
    int64_t period, phase; /* ns: the period of the detours; where in it the rank is at the end of
                              MPI_Init */
    uint64_t seed;
};

/* A file of moments holds this struct, then `messages` moments of messages that have been sent and
 * not received yet, then `collectives` moments of collective operations that the process has begun.
 * Both are hash tables; the key is a hash of the message or operation. */
struct lull_tape_moments {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t node;                  /* the same for processes with one clock */
    uint32_t messages, collectives; /* slots of the two tables, powers of two */
};

struct lull_tape_moment {
    uint64_t key; /* 0: the slot is free */
    int64_t ns;   /* CLOCK_MONOTONIC */
};

#endif
