/* SPDX-License-Identifier: BSD-3-Clause */
/* A crew: the threads of one process that has several, among them those that the program makes
 * itself. Internal to the room.
 *
 * The notes of a crew's threads are brought into one order, by measured time and then by thread,
 * before messages are numbered. A note is in order when all other threads have been read up to its
 * time. The outermost forks and joins of the master are meetings: the threads that follow the
 * master all leave a meeting at the same ideal time, that of the last one to come.
 *
 * A thread is followed from the first time that it communicates, makes a thread or waits for one.
 * Until then it can be left out: in a parallel region it is busy no longer than its master, and
 * outside it does nothing that counts. So it would be at each meeting before the master.
 *
 * Memory: the notes of threads that wait, or that other threads have not been read up to; about 100
 * bytes to the end for each thread that the program makes. */
#ifndef LULL_REPLAY_IDEAL_CREW_H
#define LULL_REPLAY_IDEAL_CREW_H

#include "replay/ideal/share.h"

/* A fork or join of a master, counted from 1. */
struct meeting {
    int64_t time;  /* measured */
    uint32_t size; /* how many threads meet */
};

/* When the next note of a thread comes that is not in order yet. A thread without such a note has a
 * turn at the time that it has been read up to. Clocks have ticks, so several notes may show the
 * same time: then the end of a wait comes behind the notes that it may have waited for, and
 * otherwise the lowest thread first. */
struct turn {
    int64_t time; /* measured */
    uint32_t thread;
    bool has_waited; /* the note is the begin of a thread, or the end of a wait for threads */
};

/* A thread that the program has made. */
struct life {
    bool made, ended;               /* its making and its end have come in the common order */
    int64_t made_at, ended_at;      /* ideal; -1: not yet */
    uint32_t made_path, ended_path; /* of these times (path.h) */
    struct stream *waiting;         /* the streams that wait for its making or its end */
};

/* A barrier of pthreads, from the first thread that comes to it until all have left it. */
struct barrier {
    uint64_t number;        /* as in the steps */
    uint32_t size, ordered; /* how many threads come (0: this item of the array is free); how many
                               have come in the common order */
    uint32_t arrived, left; /* how many have come in ideal time; have left in ideal time, or in the
                               common order if they leave there before all have come */
    int64_t latest;         /* ideal time of the last arrival so far */
    uint32_t path;          /* of `latest` */
    struct stream *waiting; /* the streams that wait for the others */
};

/* The threads of a process that has several. */
struct crew {
    uint32_t n_streams;
    struct stream **streams;  /* the master first */
    struct turn *heap;        /* [n_streams]: a binary heap, the earliest turn first */
    uint32_t *place;          /* [n_streams]: where the turn of a thread is in the heap */
    uint32_t followers;       /* threads that follow the master and communicate */
    uint32_t n_meetings;      /* in the common order so far ... */
    int64_t last_meeting;     /* ... and the measured time of the last one */
    struct meeting *meetings; /* [first_kept, n_kept): meetings that are not over; only those since
                                 there are followers */
    size_t first_kept, n_kept, capacity;
    uint32_t over;          /* number of the last meeting that all have come to ... */
    int64_t left_at;        /* ... and the ideal time at which they left it */
    uint32_t left_path;     /* of `left_at` */
    struct stream *waiting; /* the streams that wait for the end of a meeting */
    uint32_t arrived;       /* how many have come to the next meeting ... */
    int64_t latest;         /* ... and the ideal time of the last of them */
    uint32_t latest_path;   /* of `latest` */

    struct lull_hash lives_by_number;
    struct life *lives;
    size_t n_lives, life_capacity;
    struct barrier *barriers;
    size_t n_barriers, barrier_capacity;
};

/* ---- the crew ------------------------------------------------------------------------------ */

/* Gives a process its crew, with all streams. Where memory is missing, which is noted, there is no
 * crew, or some streams are missing. */
void lull_crew_create(struct share *share, struct process *process);
void lull_crew_destroy(struct crew *crew); /* without its streams; NULL is allowed */
/* A thread comes to a meeting of `size` threads, and is blocked unless it is the last one. */
void lull_crew_meet(struct share *share, struct stream *stream, uint32_t meeting, uint32_t size);
/* The stream is blocked until the meeting is over. */
void lull_crew_await(struct crew *crew, struct stream *stream, uint32_t meeting);
/* Whether no thread that communicates can go on. */
bool lull_crew_is_blocked(const struct crew *crew);
/* Whether a thread that is not blocked may yet do what others wait for, when more has been read. */
bool lull_crew_has_more(const struct crew *crew);

/* ---- threads that the program makes -------------------------------------------------------- */

/* The note comes in the common order: sets note->what to the index of its life or barrier. */
void lull_lives_order(struct share *share, struct crew *crew, struct note *note);
/* The thread comes to the note; it may be blocked (ON_LIFE) then. */
void lull_lives_take(struct share *share, struct stream *stream, const struct note *note);
void lull_lives_free(struct crew *crew);

#endif
