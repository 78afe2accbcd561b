/* SPDX-License-Identifier: BSD-3-Clause */
/* A crew: the threads of a process, which wait for each other. Internal to the room.
 *
 * The steps of kind CREW (activity/step.h) of all threads are taken in the order of time, once each
 * thread has one or has ended. So whatever a thread waits for has been taken before its wait ends.
 * Memory: the steps that are not in order yet, a ledger per thread, and the barriers, locks and
 * joins that the threads are in. */
#ifndef LULL_WAIT_CREW_H
#define LULL_WAIT_CREW_H

#include "wait/stream.h"

/* A barrier that some threads have come to. It is open until the first thread leaves, because then
 * all threads have come. */
struct crew_meeting {
    uint32_t members, references; /* how many threads have come; how many are still in it */
    int64_t last_time;            /* the measured time at which the last thread came */
    uint32_t last, region;        /* index of that thread in the crew, and the region that it came
                                     to */
    uint32_t parallel;            /* the outermost parallel region that it was in; or LULL_NONE */
    struct wait_moment late;      /* its ledger when it came */
};

/* The life of a thread that the program made. */
struct crew_life {
    uint64_t number;
    struct wait_moment made; /* the ledger of the thread that made it, at that time */
    uint32_t thread;         /* index in the crew */
    int64_t ended;           /* when it ended, measured; -1: it has not */
    struct wait_moment late; /* its own ledger at that time */
};

/* A time span in which a thread had a lock. */
struct crew_hold {
    int64_t began, ended;
    uint32_t thread, region, call; /* the thread's index in the crew; its region of the user; the
                                      region of the construct, or LULL_NONE */
    uint64_t lock;
};

struct crew_thread {
    struct lull_ring steps; /* of struct lull_step */
    uint32_t place;         /* in the heap of the crew */
    bool ended, waits_for_lock, joins;
    bool
        at_end; /* its barrier is at the end of a parallel region, and the trace does not tell it */
    struct wait_ledger ledger;
    struct crew_meeting *meeting; /* the barrier that it is in; NULL: it is in none */
    int64_t began;                /* when its wait at the barrier or in the join began */
    int64_t lock_began;           /* when its wait for a lock began */
    /* The ns that it has spent in the barrier or join. `settled` is the part before the last
     * arrival (or end of the thread) that is known so far, `pending` the part after it, which
     * becomes settled if another thread arrives still later. */
    int64_t settled, pending;
    int64_t stamp;   /* in a barrier: the last arrival that `settled` takes into account */
    uint64_t joined; /* number of the thread that it waits for in a join */
    struct lull_wait_location sums;
};

struct wait_crew {
    pthread_mutex_t lock; /* protects all below */
    uint32_t process, first_location, n_threads;
    bool no_memory;
    int64_t forked;              /* when the first thread last began a parallel region */
    struct crew_thread *threads; /* [n_threads] */
    uint32_t *heap;              /* [n_threads]: indexes of threads, by whose turn it is (crew.c) */
    struct crew_meeting *open;   /* the barrier that threads still come to; NULL: there is none */
    struct crew_life *lives;
    size_t n_lives, life_capacity;
    struct crew_hold *holds; /* in the order of their ends; only those that a present wait may be
                                for */
    size_t n_holds, hold_capacity;
    uint32_t n_lock_waiters;
};

/* NULL: no memory. */
struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process);
void lull_wait_crew_destroy(struct wait_crew *crew); /* NULL is allowed */
/* Takes the next steps of a thread of the crew. False: no memory. */
bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps);

#endif
