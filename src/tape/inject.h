/* What `lull record --inject` leaves to the recorder: RUN/inject/<rank>.settings, written before
 * the program begins and mapped by it. Plain numbers, so that the recorder draws nothing itself and
 * adds what a simulation with the same words would add. And what the recorders of one node tell
 * each other: RUN/inject/<process number>.moments. */
#ifndef LULL_TAPE_INJECT_H
#define LULL_TAPE_INJECT_H

#include "tape/layout.h"

#define LULL_TAPE_INJECT_NAME     "inject" /* a folder */
#define LULL_TAPE_INJECT_MAGIC    "LULLINJC"
#define LULL_TAPE_MOMENTS_MAGIC   "LULLMMTS"
#define LULL_TAPE_INJECT_SETTINGS "settings"
#define LULL_TAPE_INJECT_MOMENTS  "moments"

/* What is shorter than that many ns, between two calls of MPI, is no computation. */
#define LULL_TAPE_LEAST_COMPUTATION 1000

/* A rank is `length` ns late once: in its first computation at or after a time since the end of
 * MPI_Init, or in an iteration. */
struct lull_tape_delay {
    uint32_t rank, at_iteration;
    int64_t when, length;
};

/* `before`: sum of the lengths of those before it. */
struct lull_tape_detour {
    int64_t begin, length, before;
};

/* This struct; n_delays delays; n_draws amounts of noise (i64 ns), the first for the first
 * computation, and so on, from the first again behind the last; n_detours detours of a period in
 * order; then the name of the function whose calls begin iterations, and what the user wrote, both
 * terminated. */
struct lull_tape_inject {
    char magic[8];
    uint32_t version, byte_order;
    uint32_t size;      /* of all */
    uint32_t rank;      /* whose noise this is */
    double latency;     /* ns; negative: messages are left alone */
    double ns_per_byte; /* beside it */
    uint32_t n_delays, n_draws, n_detours;
    uint32_t name_size, text_size; /* with their ends */
    uint32_t reserved;
    double per; /* ns of computation that an amount is for; 0: for each computation, whatever its
                   length */
    int64_t period, phase; /* of the detours; where the rank is at the end of MPI_Init */
    uint64_t seed;
};

/* RUN/inject/<process number>.moments: this, then the moments of messages that have been sent and
 * not received yet, then those of collective operations that the process has begun. A moment is
 * found by a hash of what it belongs to. */
struct lull_tape_moments {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t node;                  /* the same for processes with one clock */
    uint32_t messages, collectives; /* powers of two */
};

struct lull_tape_moment {
    uint64_t key; /* 0: free */
    int64_t ns;   /* CLOCK_MONOTONIC */
};

#endif
