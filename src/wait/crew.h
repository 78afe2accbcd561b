/* The threads of a process, which wait for each other; internal to the room.
 *
 * The steps of each thread become notes. Notes of all threads are taken in the order of time, once
 * each thread has some or has ended; so whatever a thread waits for has come before its wait ends.
 */
#ifndef LULL_WAIT_CREW_H
#define LULL_WAIT_CREW_H

#include "wait/stream.h"

enum { CREW_LOCKS = 8 }; /* that a thread has at once; more are not followed */

struct crew_note {
    int64_t time, began;
    uint64_t number, lock;
    uint32_t region;
    uint8_t kind;
};

/* Where a thread's steps are read.
 *
 * All threads of a team meet at the end of its parallel region. Some tracers (Extrae for libgomp)
 * do not tell that barrier: the master's wait for the others is the last of what is scheduling,
 * fork and join, and of the others nothing is told between the end of their part and the next
 * region. */
struct crew_reading {
    bool in_barrier;
    bool joins;
    bool meets;   /* at an implicit barrier of this region, which is told */
    bool at_end;  /* of a region, until the next one */
    int64_t left; /* the barrier, which the spans have not come to yet; 0: not yet */
    uint32_t user;
    struct {
        uint64_t lock;
        int64_t began;
        uint32_t times; /* how often it was taken, and not given back; 0: this one is free */
    } held[CREW_LOCKS];
    uint64_t acquired; /* the last one, */
    int64_t acquired_at;
    struct crew_note scheduling; /* that lasted up to now; time 0: none. At the end of a region it
                                    was a wait */
};

/* A barrier that some have come to. It is open until the first leaves: then all have come. */
struct crew_meeting {
    uint32_t members, references;
    int64_t last_time;
    uint32_t last, region; /* who came last, a thread of the crew, and to which */
    struct wait_moment late;
};

struct crew_life {
    uint64_t number;
    struct wait_moment made; /* of the thread that made it */
    uint32_t thread;         /* of the crew */
    int64_t ended;           /* -1: not yet */
    struct wait_moment late;
};

struct crew_hold {
    int64_t began, ended;
    uint32_t thread, region, call; /* region of the user; the construct */
    uint64_t lock;
};

struct crew_thread {
    struct crew_reading reading;
    struct lull_ring notes;
    bool ended, waits_for_lock, joins;
    bool at_end; /* the barrier that it is in is not told */
    struct wait_ledger ledger;
    struct crew_meeting *meeting; /* that it is in; or NULL */
    int64_t began;                /* of the wait in it, or for a thread */
    int64_t lock_began;           /* of that for a lock */
    int64_t settled, pending;     /* ns of it before, and after, the last arrival so far */
    int64_t stamp;                /* ... which was then */
    uint64_t joined;              /* whose end it waits for */
    struct lull_wait_location sums;
};

struct wait_crew {
    pthread_mutex_t lock;
    uint32_t process, first_location, n_threads;
    bool no_memory;
    int64_t forked; /* when the master's parallel region began */
    struct crew_thread *threads;
    struct crew_meeting *open; /* or NULL */
    struct crew_life *lives;
    size_t n_lives, life_capacity;
    struct crew_hold *holds; /* that somebody waits for, maybe */
    size_t n_holds, hold_capacity;
    uint32_t n_lock_waiters;
};

bool lull_wait_crew_wants_visits(const struct lull_region *region);

/* crew.c. NULL: no memory. */
struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process);
void lull_wait_crew_destroy(struct wait_crew *crew); /* NULL is allowed */
/* False: no memory. */
bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps);

#endif
