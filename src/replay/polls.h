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
#ifndef LULL_REPLAY_POLLS_H
#define LULL_REPLAY_POLLS_H

#include "activity/step.h"
#include "team/bring.h"

struct lull_polls;

/* Whether the program of a run may query at all. */
bool lull_has_polls(const struct lull_trace *trace);

struct lull_polls *lull_polls_create(const struct lull_trace *trace); /* NULL: no memory */
void lull_polls_destroy(struct lull_polls *polls);                    /* NULL is allowed */

/* The steps that count. */
#define LULL_STEPS_OF_POLLS                                                      \
    (LULL_STEP_MASK(LULL_STEP_CALL_BEGIN) | LULL_STEP_MASK(LULL_STEP_CALL_END) | \
     LULL_STEP_MASK(LULL_STEP_RECV) | LULL_STEP_MASK(LULL_STEP_SEND_DONE) |      \
     LULL_STEP_MASK(LULL_STEP_CANCEL) | LULL_STEP_MASK(LULL_STEP_COLLECTIVE_END))

/* A step of a location, all of them in order; those of different locations may come at once.
 * False: no memory. */
bool lull_polls_take(struct lull_polls *polls, uint32_t location, const struct lull_step *step);

/* Behind all steps, from member to member of a team, each of which has threads of its own. */
bool lull_polls_put(const struct lull_polls *polls, struct lull_flow *flow);
bool lull_polls_get(struct lull_polls *polls, struct lull_flow *flow);

/* Behind all steps: whether queries of a place that found nothing wait, as far as series tell. */
bool lull_polls_wait(const struct lull_polls *polls, uint32_t location, uint32_t region);

#endif
