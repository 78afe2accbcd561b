/* The threads of a process, which wait for each other; internal to the room.
 *
 * The steps of each thread become notes. Notes of all threads are taken in the order of time, once
 * each thread has some or has ended; so whatever a thread waits for has come before its wait ends.
 */
#ifndef LULL_WAIT_CREW_H
#define LULL_WAIT_CREW_H

#include "wait/share.h"

enum crew_note_kind {
    CREW_WORK,       /* since `began`; region of the user, or WAIT_IN_MPI */
    CREW_REST,       /* the same, in a wait for what is not known */
    CREW_FORK,       /* it joins in a parallel region */
    CREW_ARRIVE,     /* at a barrier; region; number 1: at an end, as below */
    CREW_SYNC,       /* in the barrier, or in a join, from `began` */
    CREW_AT_END,     /* at the end of a parallel region, whose barrier is not told, from `began` */
    CREW_HELD,       /* it had a lock from `began` on; region of the user; lock */
    CREW_LOCK_BEGIN, /* it waits for a lock */
    CREW_CREATE,     /* number: of a thread that it makes */
    CREW_LIFE_BEGIN, /* number: of the thread itself */
    CREW_LIFE_END,
    CREW_JOIN_BEGIN, /* number: of the thread that it waits for */
    /* What ends a wait comes after what others did at the same time. */
    CREW_LEAVE,    /* the barrier */
    CREW_LOCK_END, /* `began`; lock; region of the user */
    CREW_JOIN_END,
    CREW_END
};

/* What a lock is known by: its number, where the trace has one, or its kind. */
enum crew_lock { CREW_NO_LOCK, CREW_CRITICAL, CREW_ORDERED, CREW_UNKNOWN, CREW_NUMBERED };
static inline uint64_t lull_wait_lock(uint64_t number)
{
    return number * CREW_NUMBERED + CREW_NUMBERED;
}
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

/* crew_notes.c: at most CREW_NOTES_OF_STEP for each step. Returns how many there are. */
enum { CREW_NOTES_OF_STEP = 8 };
size_t lull_wait_crew_notes_of_step(const struct lull_trace *trace, struct crew_reading *reading,
                                    const struct lull_step *step, bool is_master,
                                    struct crew_note *notes);
bool lull_wait_crew_wants_visits(const struct lull_region *region);

/* crew.c. NULL: no memory. */
struct wait_crew *lull_wait_crew_create(const struct lull_trace *trace, uint32_t process);
void lull_wait_crew_destroy(struct wait_crew *crew); /* NULL is allowed */
/* False: no memory. */
bool lull_wait_crew_take(struct lull_waits *waits, struct wait_crew *crew,
                         const struct lull_steps *steps);

/* crew_waits.c: what a note means. */
void lull_wait_crew_note(struct lull_waits *waits, struct wait_crew *crew, uint32_t thread,
                         const struct crew_note *note);

#endif
