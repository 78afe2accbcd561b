/* A crew: the threads of a process, which wait for each other. Internal to the room.
 *
 * The CREWs (activity/step.h) of all threads are taken in the order of time, once each thread has
 * one or has ended. So whatever a thread waits for has come before its wait ends. Memory: the steps
 * that are not in order yet, a ledger per thread, and what the threads are in: barriers, locks and
 * joins. */
#ifndef LULL_WAIT_CREW_H
#define LULL_WAIT_CREW_H

#include "wait/stream.h"

/* A barrier that some threads have come to. It is open until the first thread leaves: then all have
 * come. */
struct crew_meeting {
    uint32_t members, references; /* threads that have come; that are still in it */
    int64_t last_time;            /* when the last one came, measured */
    uint32_t last, region;        /* which thread of the crew that was, and to which region */
    uint32_t parallel;            /* the outermost parallel region that it was in, or LULL_NONE */
    struct wait_moment late;      /* its ledger then */
};

/* A thread that the program made. */
struct crew_life {
    uint64_t number;
    struct wait_moment made; /* the ledger of the thread that made it, then */
    uint32_t thread;         /* index in the crew */
    int64_t ended;           /* measured; -1: not yet */
    struct wait_moment late; /* its own ledger when it ended */
};

/* A time in which a thread had a lock. */
struct crew_hold {
    int64_t began, ended;
    uint32_t thread, region, call; /* index in the crew; region of the user; the construct */
    uint64_t lock;
};

struct crew_thread {
    struct lull_ring steps; /* of struct lull_step */
    bool ended, waits_for_lock, joins;
    bool at_end; /* the barrier that it is in is not told by the trace */
    struct wait_ledger ledger;
    struct crew_meeting *meeting; /* the barrier that it is in; or NULL */
    int64_t began;                /* when its wait at the barrier, or for a thread, began */
    int64_t lock_began;           /* when its wait for a lock began */
    int64_t settled, pending;     /* ns of its wait at the barrier before, and after, the last
                                     arrival so far ... */
    int64_t stamp;                /* ... which was at this time */
    uint64_t joined;              /* number of the thread whose end it waits for */
    struct lull_wait_location sums;
};

struct wait_crew {
    pthread_mutex_t lock; /* of all below */
    uint32_t process, first_location, n_threads;
    bool no_memory;
    int64_t forked;              /* when the master's parallel region began */
    struct crew_thread *threads; /* [n_threads] */
    struct crew_meeting *open;   /* the barrier that threads still come to; or NULL */
    struct crew_life *lives;
    size_t n_lives, life_capacity;
    struct crew_hold *holds; /* in the order of their ends; only those that a wait may be for */
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
