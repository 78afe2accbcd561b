/* The threads of one process (crew.c), and those that the program makes (lives.c); internal to the
 * room. */
#ifndef LULL_REPLAY_IDEAL_CREW_H
#define LULL_REPLAY_IDEAL_CREW_H

#include "replay/ideal/share.h"

/* A fork or join of a master, counted from 1. */
struct meeting {
    int64_t time;  /* measured */
    uint32_t size; /* who meets */
};

/* When a thread of a crew comes: at its first note that is not in order yet or, without one, not
 * before it has been read up to. Clocks have ticks: of what they show at the same time, the end of
 * a wait comes behind what it may have waited for, and then the lowest thread first. */
struct turn {
    int64_t time; /* measured */
    uint32_t thread;
    bool has_waited; /* the note is the begin of a thread, or the end of a wait for threads */
};

/* A thread that the program has made, by its number. */
struct life {
    bool made, ended;          /* in the common order */
    int64_t made_at, ended_at; /* ideal; -1: not yet */
    struct stream *waiting;
};

/* A barrier of pthreads that threads come to, until all have left. */
struct barrier {
    uint64_t number;
    uint32_t size, ordered; /* who comes; came in the common order, */
    uint32_t arrived, left; /* and in ideal time; left: also in the order, before all came */
    int64_t latest;
    struct stream *waiting;
};

/* The threads of a process that has several. */
struct crew {
    uint32_t n_streams;
    struct stream **streams;  /* the master first */
    struct turn *heap;        /* [n_streams]: whose notes come next, the earliest first */
    uint32_t *place;          /* [n_streams]: in the heap */
    uint32_t followers;       /* that communicate */
    uint32_t n_meetings;      /* in the common order so far ... */
    int64_t last_meeting;     /* ... and the time of the last one */
    struct meeting *meetings; /* those that followers have still before them */
    size_t first_kept, n_kept, capacity;
    uint32_t over;          /* meetings that all have come to ... */
    int64_t left_at;        /* ... and the ideal time when the last of them was over */
    struct stream *waiting; /* for the end of a meeting */
    uint32_t arrived;       /* at the next one ... */
    int64_t latest;         /* ... and when */

    struct lull_hash lives_by_number;
    struct life *lives;
    size_t n_lives, life_capacity;
    struct barrier *barriers; /* size 0: free */
    size_t n_barriers, barrier_capacity;
};

/* crew.c */
/* The crew of a process, with its streams. Without memory, which is noted, it lacks some. */
void lull_crew_create(struct share *share, struct process *process);
void lull_crew_destroy(struct crew *crew); /* NULL is allowed; not its streams */
void lull_crew_steps(struct share *share, struct stream *stream, const struct lull_steps *steps);
void lull_crew_meet(struct share *share, struct stream *stream, uint32_t meeting, uint32_t size);
void lull_crew_resume(struct share *share, struct stream *stream);
/* Whether no thread that communicates can go on. */
bool lull_crew_is_blocked(const struct crew *crew);
/* Whether a thread that is not blocked may yet do what others wait for, when more has been read. */
bool lull_crew_has_more(const struct crew *crew);

/* lives.c */
/* In the common order: gives the note its life or barrier. */
void lull_lives_order(struct share *share, struct crew *crew, struct note *note);
/* The thread comes to the note; it may be ON_LIFE then. */
void lull_lives_take(struct share *share, struct stream *stream, const struct note *note);
void lull_lives_free(struct crew *crew);

#endif
