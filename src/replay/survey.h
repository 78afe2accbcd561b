/* SPDX-License-Identifier: BSD-3-Clause */
/* Survey: what a replay has to know of the whole run before its first operation.
 *
 * It tells
 *  - how far clocks that were never compared are apart (section clocks);
 *  - the roots of blocking collective operations, where a tracer tells them to the root alone
 *    (Paraver);
 *  - what the tracer says of requests;
 *  - where the program polls to wait (section polls);
 *  - which threads were made, ended and joined, and who came to barriers (section barriers);
 *  - what threads submitted to devices and waited for there (program/devices.h).
 * It is filled by a pass in which other analyses may take part.
 *
 * Memory: for each process up to 1 KiB, for each operation with a root 4 bytes, for each thread
 * that the program made some 70 bytes, and what polls and barriers need. */
#ifndef LULL_REPLAY_SURVEY_H
#define LULL_REPLAY_SURVEY_H

#include "activity/pass.h"
#include "activity/step.h"
#include "base/hash.h"
#include "match/device_log.h"
#include "team/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* ==== survey ================================================================================== */

struct lull_survey;

/* Survives until lull_survey_destroy; the trace must live as long. */
lull_status lull_survey_create(const struct lull_trace *trace, uint32_t application,
                               struct lull_survey **ret_survey, struct lull_error *err);
void lull_survey_destroy(struct lull_survey *survey); /* NULL is allowed */

/* To be given to one pass over the whole run. Nothing is known of the requests of threads that the
 * pass does not read. */
struct lull_consumer lull_survey_consumer(struct lull_survey *survey);

/* Creates a survey, reads the run in a pass of its own, over the masters or (`callers`) over all
 * threads, and concludes. */
lull_status lull_survey_take(const struct lull_trace *trace, uint32_t application, bool callers,
                             struct lull_survey **ret_survey, struct lull_error *err);

/* Behind a pass that a team has shared: from its members to the first, which has all then. */
bool lull_survey_put(const struct lull_survey *survey, struct lull_flow *flow);
bool lull_survey_get(struct lull_survey *survey, struct lull_flow *flow);

/* To be called once behind the pass, before anything is asked; nothing is put or got afterwards. Fails where there is no
 * memory. */
lull_status lull_survey_conclude(struct lull_survey *survey, struct lull_error *err);

/* What is to be added to the measured times of a process so that clocks agree; ns, at least 0. */
int64_t lull_survey_shift(const struct lull_survey *survey, uint32_t process);

/* The process that was the root of the n-th blocking operation on a communicator. It is known if
 * the root said that it was the root or, between two groups, if a process of the other group named
 * it; else LULL_NONE. No operation with a number from lull_survey_operations on has a known root.
 */
uint32_t lull_survey_root(const struct lull_survey *survey, uint32_t comm, uint32_t number);
uint32_t lull_survey_operations(const struct lull_survey *survey, uint32_t comm);

/* Whether the tracer records when non-blocking receives, or sends, are complete: some record was
 * found. */
bool lull_survey_completes_receives(const struct lull_survey *survey);
bool lull_survey_completes_sends(const struct lull_survey *survey);

/* Whether a thread was made, made others, or waited for them, as far as that is known; such threads
 * take part in a replay. */
bool lull_survey_meets(const struct lull_survey *survey, uint32_t location);

enum lull_life {
    LULL_LIFE_MADE = 1,
    LULL_LIFE_BEGINS = 2,
    LULL_LIFE_ENDS = 4,
    LULL_LIFE_JOINED = 8 /* somebody waited for its end */
};
/* Whether it is known when `what` happened to a thread, which is named by its number in its
 * process. */
bool lull_survey_knows(const struct lull_survey *survey, uint32_t process, uint64_t number,
                       enum lull_life what);

/* Whether all threads came to the meeting of a step THREAD_WAIT_BEGIN or THREAD_WAIT_END of a
 * barrier. */
bool lull_survey_all_came(const struct lull_survey *survey, uint32_t process,
                          const struct lull_step *step);

/* What is known of devices, after conclude; NULL: nothing. */
const struct lull_replay_devices *lull_survey_devices(const struct lull_survey *survey);

/* Whether a thread posted receives that it did not complete (they were cancelled, or completed by
 * another thread), or cancelled sends. */
bool lull_survey_withdraws(const struct lull_survey *survey, uint32_t location);

/* Whether a thread's queries of a region that found nothing may be a wait (see polls). */
bool lull_survey_polls_wait(const struct lull_survey *survey, uint32_t location, uint32_t region);

/* ==== polls =================================================================================== */

/* A query is a test or an MPI_Iprobe. Some queries are turns of a loop that waits; others are part
 * of the program's work, for example where it looks for messages after each piece of work. A single
 * query that found nothing does not tell which it is. Series of queries tell by how they end.
 *
 * A series is a row of queries that found nothing, each longer than what the program computed after
 * it. A program that waits asks until one of its questions has an answer. So a series of waiting
 * ends with a query of the same place that found something, with a blocking wait, or (MPI_Iprobe)
 * with a receive. A question was asked in vain if the program then went on to something else, or
 * got the answer to a question that it had not asked before. A series that the program left to
 * compute tells nothing: the program may have had no processor.
 *
 * A place is a region of the program. Its queries are waits if at least nine tenths of their time
 * in series, over the whole run of a thread, had their answer. Where the boundary lies matters
 * little, because places are far from it on either side (docs/replay-reference.md has numbers).
 *
 * Memory: some 600 bytes for each thread that queries, and 24 for each place. */

struct lull_polls;

/* ==== barriers ================================================================================ */

/* A barrier of pthreads has one meeting after the other. Here it is counted to which meetings all
 * threads came that should: if the arrival of one was not recorded, nobody is to be waited for.
 *
 * Memory: 4 bytes for each meeting from the first that not all have come to. Beyond
 * BARRIER_MOST_AHEAD of these (survey.c), all threads are taken not to have come. */

/* Zeros: empty. */
struct lull_barriers {
    struct lull_hash by_key; /* process and barrier -> index of its item */
    struct lull_barrier *items;
    size_t count, capacity;
};

/* A thread comes to a meeting of so many threads. `meeting`: the number of the barrier in the upper
 * half, that of its meeting in the lower. False: no memory. */
bool lull_barriers_come(struct lull_barriers *barriers, uint32_t process, uint64_t meeting,
                        uint32_t threads);
/* After the last lull_barriers_come: whether all threads have come to a meeting. */
bool lull_barriers_all_came(const struct lull_barriers *barriers, uint32_t process,
                            uint64_t meeting, uint32_t threads);
void lull_barriers_free(struct lull_barriers *barriers);

/* ==== clocks ================================================================================== */

/* Some tracers do not synchronise the clocks of processes (EZTrace). That shows: nobody leaves a
 * collective operation in which all wait for all before the last process has entered it, but such a
 * trace says otherwise. All processes leave such an operation at nearly the same time. So the
 * offset of a clock is the median of the differences between its exits and those of the first
 * process, over the first operations of this kind (CLOCKS_OPERATIONS in survey.c). */

/* When a process entered and left an operation; measured, ns. */
struct lull_passage {
    int64_t enter, exit;
};

/* The first passages of a process, in order. */
struct lull_passages {
    struct lull_passage *items;
    uint32_t count;
};

/* ==== what a survey keeps ===================================================================== */

/* Internal to survey.c. */

/* The roots of the operations on one communicator. */
struct lull_survey_roots {
    uint32_t *processes; /* [count], by number of the operation; LULL_NONE: not known */
    size_t count, capacity;
};

/* Where the master of a process has been read to. */
struct lull_survey_visitor {
    int64_t entered;          /* when it entered the collective operation that it is in */
    struct lull_hash numbers; /* by communicator: its blocking operations so far */
    uint32_t comm;            /* the communicator of the last such operation */
    uint64_t *next;           /* its place in `numbers`; NULL: there was no operation */
};

/* What a thread did with its requests. */
struct lull_survey_requests {
    uint64_t posted, received; /* receives */
    bool cancelled;            /* some request was */
};

struct lull_survey {
    const struct lull_trace *trace;
    uint32_t application, n_processes;    /* of the application */
    struct lull_survey_visitor *visitors; /* these three by process of the trace */
    struct lull_passages *passages;
    int64_t *shifts;
    pthread_mutex_t lock;                  /* of roots, lives and barriers */
    struct lull_survey_roots *roots;       /* [n_comms] */
    struct lull_survey_requests *requests; /* by location */
    atomic_bool completes_receives, completes_sends;
    bool makes_threads;     /* the program may make threads */
    struct lull_hash lives; /* struct survey_life_key -> bits of enum lull_life */
    struct lull_barriers barriers;
    bool *meets;                         /* by location */
    struct lull_polls *polls;            /* NULL: the program does not query */
    struct lull_device_log *log;         /* NULL: there are no devices */
    struct lull_replay_devices *devices; /* made of the log */
};

#endif
