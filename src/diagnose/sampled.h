/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampled: where in the program's code threads computed, from the samples of a run (activity/step.h).
 *
 * The useful samples of a thread are added up (metrics/samples.h) by their place in the code and by what
 * the thread was in the middle of: the parallel region, whether it was in a critical or ordered section,
 * and, of the first thread of a process, the user's regions that were open (the number among the paths of
 * that process, struct lull_work_path, in the order of lull_work) and the call of MPI at the end of the
 * burst; of other threads these are 0 and LULL_NONE.
 *
 * The collector is driven by the consumer of work (diagnose/work.h), which knows bursts and paths. */
#ifndef LULL_DIAGNOSE_SAMPLED_H
#define LULL_DIAGNOSE_SAMPLED_H

#include "activity/step.h"
#include "metrics/samples.h"

struct lull_sampled {
    const struct lull_trace *trace;     /* borrowed */
    const struct lull_samples *threads; /* [n_locations] */
};

/* Places and contexts of a thread that are told apart; what is beyond counts as one place. */
enum { LULL_SAMPLED_PLACES_MOST = 4096 };
/* Those of all threads together: up to 200 MB. Where a run has more nothing is told. */
enum { LULL_SAMPLED_ITEMS_MOST = 2000000 };

struct lull_sampled_collector;

/* `trace` is borrowed; `workers` of the pass. NULL: not enough memory. */
struct lull_sampled_collector *lull_sampled_create(const struct lull_trace *trace,
                                                   unsigned workers);
void lull_sampled_destroy(struct lull_sampled_collector *collector); /* NULL is allowed */

/* The kinds of steps that lull_sampled_take wants. */
#define LULL_SAMPLED_STEPS (LULL_STEP_MASK(LULL_STEP_SAMPLE) | LULL_STEP_MASK(LULL_STEP_FORK))
/* Takes the next step of a location; steps of other kinds are allowed. `path`: where a first thread
 * is. Calls for one location come in order and do not overlap; those for several may. False: no
 * memory. */
bool lull_sampled_take(struct lull_sampled_collector *collector, unsigned worker, uint32_t location,
                       const struct lull_step *step, uint32_t path);
/* The burst of a first thread ends with a call. False: no memory. */
bool lull_sampled_end_burst(struct lull_sampled_collector *collector, uint32_t location,
                            uint32_t call);

/* Behind a pass that a team has shared: each member puts what it has, and the first gets all. */
bool lull_sampled_put(const struct lull_sampled_collector *collector, struct lull_flow *flow);
bool lull_sampled_get(struct lull_sampled_collector *collector, struct lull_flow *flow);

/* After a pass that went well. NULL: there are no samples, or too many places. The result lives in
 * `arena`. */
const struct lull_sampled *lull_sampled_conclude(const struct lull_sampled_collector *collector,
                                                 struct lull_arena *arena);

#endif
