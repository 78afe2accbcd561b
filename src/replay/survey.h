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
#include "team/bring.h"

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

#endif
