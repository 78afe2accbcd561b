/* A crew: the threads of a process, which wait for each other. Internal to the room.
 *
 * The steps of each thread become notes. The notes of all threads are taken in the order of time,
 * once each thread has a note or has ended. So whatever a thread waits for has come before its wait
 * ends. Memory: the notes that are not in order yet, a ledger per thread, and what the threads are
 * in: barriers, locks and joins. */
#ifndef LULL_WAIT_CREW_H
#define LULL_WAIT_CREW_H

#include "wait/stream.h"

enum { CREW_LOCKS = 8 }; /* locks that a thread has at once and that are followed; more are not */

/* What matters of a step; which members a kind has is said there (enum in crew.c). */
struct crew_note {
    int64_t time, began; /* measured */
    uint64_t number, lock;
    uint32_t region;
    uint8_t kind;
};

/* What is known of a thread where its steps are read.
 *
 * All threads of an OpenMP team meet at the end of its parallel region. Some tracers (Extrae for
 * libgomp) do not tell that barrier. Then the last span of scheduling, fork and join is the
 * master's wait for the others, and nothing is told of the others between the end of their part and
 * the next region. */
struct crew_reading {
    bool in_barrier;
    bool joins;
    bool meets;   /* this region has an implicit barrier that is told */
    bool at_end;  /* it has come to the end of a region, and the next one has not begun */
    int64_t left; /* when it left the barrier whose spans have not been read to their end; 0: it has
                      not left */
    uint32_t user; /* region of the user */
    struct {
        uint64_t lock;
        int64_t began;
        uint32_t times; /* how often it was taken and not given back; 0: this item is free */
    } held[CREW_LOCKS];
    uint64_t acquired;           /* the lock that it took last ... */
    int64_t acquired_at;         /* ... and when */
    struct crew_note scheduling; /* a span of scheduling that lasted up to now, time 0: none. If the
                                    region ends next, it was a wait */
};

/* A barrier that some threads have come to. It is open until the first thread leaves: then all have
 * come. */
struct crew_meeting {
    uint32_t members, references; /* threads that have come; that are still in it */
    int64_t last_time;            /* when the last one came, measured */
    uint32_t last, region;        /* which thread of the crew that was, and to which region */
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
    struct crew_reading reading;
    struct lull_ring notes;
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

/* Whether VISITs of a region are needed. */
bool lull_wait_crew_wants_visits(const struct lull_region *region);

/* NULL: no memory. */
struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process);
void lull_wait_crew_destroy(struct wait_crew *crew); /* NULL is allowed */
/* Takes the next steps of a thread of the crew. False: no memory. */
bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps);

#endif
