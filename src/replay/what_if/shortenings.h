/* Shortenings: how much shorter executions of parallel regions would be if their threads did
 * otherwise. One process.
 *
 * The threads of an execution (the outermost parallel region of the master from its fork to its
 * join) come to barriers. Between two of them each is busy from when it left the one until it
 * comes to the other, and the last that comes decides. From the fork to its own begin a thread is
 * busy with scheduling. Where it is supposed that threads do not wait for locks, or that scheduling
 * takes no time, they come as much earlier; where they are balanced, each computes for the mean
 * time of all of them, and what else it does stays. The execution is as much shorter as the last
 * comes earlier. Where threads come to different numbers of barriers (tasks, sections that not all
 * pass), an execution counts as one such part, with the time in barriers left out.
 *
 * Threads of a process are read at different speeds: what they do waits until all have been read to
 * the end of the execution. Memory: 8 bytes for each execution, and what waits. Internal to the
 * room. */
#ifndef LULL_REPLAY_WHAT_IF_SHORTENINGS_H
#define LULL_REPLAY_WHAT_IF_SHORTENINGS_H

#include "activity/pass.h"

/* Bits: 1 << enum lull_threads_change. */
typedef uint8_t lull_threads_changes;

struct lull_shortenings;

/* Thread 0 is the master. `changes[n_regions + 1]`: what is supposed of parallel regions, the last
 * of those without a name; borrowed. NULL: no memory. */
struct lull_shortenings *lull_shortenings_create(uint32_t n_threads, uint32_t n_regions,
                                                 const lull_threads_changes *changes);
void lull_shortenings_destroy(struct lull_shortenings *shortenings); /* NULL is allowed */

/* The kinds of steps that it needs, and steps of a thread, in order, with their ledger; safe from
 * several threads. False: no memory. */
#define LULL_SHORTENINGS_WANT                                             \
    (LULL_STEP_MASK(LULL_STEP_SPAN) | LULL_STEP_MASK(LULL_STEP_STRETCH) | \
     LULL_STEP_MASK(LULL_STEP_FORK) | LULL_STEP_MASK(LULL_STEP_JOIN) |    \
     LULL_STEP_MASK(LULL_STEP_END))
bool lull_shortenings_take(struct lull_shortenings *shortenings, uint32_t thread,
                           const struct lull_steps *steps);

/* Behind all steps: what is left of an execution's computation, as a share; 1 for those that were
 * not seen. */
double lull_shortenings_left(const struct lull_shortenings *shortenings, uint32_t execution);

#endif
