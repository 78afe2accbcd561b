/* Survey: what a replay has to know of the whole run before its first operation.
 *
 * How far clocks that were never compared are apart (program/clocks.h says how that is known), the
 * roots of blocking collective operations, where tracers tell them to the root alone (Paraver),
 * what the tracer says of requests, where the program polls to wait (polls.h), which threads were
 * made, ended and joined, and who came to barriers. Filled by a pass in which other analyses may
 * take part.
 *
 * Memory: for each process up to 1 KiB, for each operation with a root 4 bytes, for each thread
 * that the program made some 70 bytes, and that of program/barriers.h. */
#ifndef LULL_REPLAY_SURVEY_H
#define LULL_REPLAY_SURVEY_H

#include "activity/pass.h"
#include "activity/step.h"
#include "base/hash.h"
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

/* To be given to one pass over the whole run. Of threads that are not read, nothing is known of
 * their requests. */
struct lull_consumer lull_survey_consumer(struct lull_survey *survey);

/* All of that, with a pass of its own over the masters or (`callers`) over all threads. */
lull_status lull_survey_take(const struct lull_trace *trace, uint32_t application, bool callers,
                             struct lull_survey **ret_survey, struct lull_error *err);

/* Behind a pass that a team has shared: from its members to the first, which has all then. */
bool lull_survey_put(const struct lull_survey *survey, struct lull_flow *flow);
bool lull_survey_get(struct lull_survey *survey, struct lull_flow *flow);

/* To be called once behind the pass, before anything is asked. */
void lull_survey_conclude(struct lull_survey *survey);

/* What is to be added to the times of a process, at least 0 ns. */
int64_t lull_survey_shift(const struct lull_survey *survey, uint32_t process);

/* The root of the n-th blocking operation on a communicator, as a process, if a process said that
 * it was or, between two groups, one of the other group told; LULL_NONE. There is none from
 * lull_survey_operations on. */
uint32_t lull_survey_root(const struct lull_survey *survey, uint32_t comm, uint32_t number);
uint32_t lull_survey_operations(const struct lull_survey *survey, uint32_t comm);

/* Whether the tracer records when non-blocking receives, and sends, are complete: some are. */
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
/* Whether it is known when that happened to a thread, by its number in its process. */
bool lull_survey_knows(const struct lull_survey *survey, uint32_t process, uint64_t number,
                       enum lull_life what);

/* Whether all came to the meeting at a barrier of a step THREAD_WAIT_BEGIN or THREAD_WAIT_END. */
bool lull_survey_all_came(const struct lull_survey *survey, uint32_t process,
                          const struct lull_step *step);

/* Whether a thread posted receives that it did not complete (they were cancelled, or completed by
 * another thread), or cancelled sends. */
bool lull_survey_withdraws(const struct lull_survey *survey, uint32_t location);

/* Whether a thread's queries of a region that found nothing may be a wait (replay/polls.h). */
bool lull_survey_polls_wait(const struct lull_survey *survey, uint32_t location, uint32_t region);

/* ==== polls =================================================================================== */

/* Which queries of a program (tests, MPI_Iprobe) are the turns of a loop that waits, and which are
 * part of its work, as it is where a program looks for messages after each piece of work. One query
 * that found nothing looks like another; what tells is how their series end.
 *
 * A series are queries that found nothing, one behind the other, each longer than what the program
 * computed behind it. Whoever waits asks until one of the questions has its answer: such a series
 * ends with a query of the same place that found something, with a blocking wait, or (MPI_Iprobe)
 * with a receive. Questions that were asked in vain, because the program then went on to something
 * else or got the answer to a question that it had not asked before, were not what it waited for.
 * A series that the program left to compute tells nothing: it may have had no processor.
 * So the queries of a place in the program (a region) are waits where at least nine tenths of their
 * time in series, over the whole run of a thread, had their answer. Where the boundary lies matters
 * little, because places are far from it on either side (docs/replay.md has numbers).
 *
 * Memory: for each thread that queries some 600 bytes, and 24 for each place. */

struct lull_polls;

/* ==== barriers ================================================================================ */

/* At which meetings of the barriers of pthreads all came that should: where a thread was not
 * recorded when it came, nobody is waited for.
 *
 * Memory: for each meeting that not all have come to, and those behind it, 4 bytes; beyond
 * LULL_BARRIER_MOST_AHEAD of them a barrier's meetings are taken as such. */

/* Begins as zeros. */
struct lull_barriers {
    struct lull_hash by_key; /* process and barrier -> index */
    struct lull_barrier *items;
    size_t count, capacity;
};

/* A thread comes to a meeting (the number of a barrier, and in the lower half that of its meeting)
 * of so many. False: no memory. */
bool lull_barriers_come(struct lull_barriers *barriers, uint32_t process, uint64_t meeting,
                        uint32_t threads);
/* Behind all of these: whether all have come. */
bool lull_barriers_all_came(const struct lull_barriers *barriers, uint32_t process,
                            uint64_t meeting, uint32_t threads);
void lull_barriers_free(struct lull_barriers *barriers);

/* ==== clocks ================================================================================== */

/* Clocks that were never compared: how far those of the processes are apart.
 *
 * Nobody leaves a collective operation in which all wait for all before the last has entered it.
 * Where a trace says otherwise, its tracer has not synchronised the clocks (EZTrace). Then the
 * exits from the first LULL_CLOCKS_OPERATIONS such operations of all processes, which are nearly at
 * the same time, tell the offsets: the median of the differences. */

/* How a process went through an operation. */
struct lull_passage {
    int64_t enter, exit;
};

/* The first ones of a process, in order. */
struct lull_passages {
    struct lull_passage *items;
    uint32_t count; /* up to LULL_CLOCKS_OPERATIONS */
};

/* ==== survey state ============================================================================ */

/* What a survey keeps. Internal to it: survey.c fills it, survey_flow.c brings it from member to
 * member of a team. */

/* The roots of the operations on one communicator. */
struct lull_survey_roots {
    uint32_t *processes;
    size_t count, capacity;
};

/* The master of a process on its way. */
struct lull_survey_visitor {
    int64_t entered;          /* the collective operation that it is in */
    struct lull_hash numbers; /* by communicator: its blocking operations so far */
};

/* What a thread did with its requests. */
struct lull_survey_requests {
    uint64_t posted, received;
    bool cancelled;
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
    bool makes_threads;     /* the program may */
    struct lull_hash lives; /* struct lull_survey_life_key -> enum lull_life, several */
    struct lull_barriers barriers;
    bool *meets;              /* by location */
    struct lull_polls *polls; /* NULL: the program does not query */
};

#endif
