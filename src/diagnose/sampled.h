/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampled: where in the program's code threads computed, from the samples of a run (activity/step.h).
 *
 * The useful samples of a thread are added up by their place in the code and by what the thread was
 * in the middle of: the user's regions that were open, the call of MPI at the end of the burst, the
 * parallel region, and whether it was in a critical or ordered section.
 *
 * The collector is driven by the consumer of work (diagnose/work.h), which knows bursts and paths.
 * Memory: about 150 bytes for each place and circumstance of a thread that has
 * samples, for at most LULL_SAMPLED_PLACES_MOST of a thread; threads without samples need 150 bytes. */
#ifndef LULL_DIAGNOSE_SAMPLED_H
#define LULL_DIAGNOSE_SAMPLED_H

#include "activity/step.h"
#include "team/team.h"

/* What a thread was in the middle of when a sample was taken. */
struct lull_sampled_context {
    uint32_t path; /* of the first thread of a process: the number among the paths of that process
                          (struct lull_work_path), in the order of lull_work; of other threads 0 */
    uint32_t call; /* of the first thread: region of the call at the end of its burst, or LULL_NONE:
                          at the end of the run; of other threads LULL_NONE */
    uint32_t parallel; /* the outermost OpenMP parallel region, LULL_NONE: outside of all, or
                          LULL_SAMPLED_UNNAMED */
    uint32_t locked;   /* 1: in a critical or ordered section */
};
#define LULL_SAMPLED_UNNAMED (LULL_NONE - 1) /* in a parallel region that is not known */

/* All samples of a thread at one place of the code, with one context. */
struct lull_sampled_item {
    struct lull_sampled_context context;
    uint64_t offset; /* in the object */
    uint32_t object; /* of trace->objects; LULL_NONE: no file holds the code, or the thread had more
                        places than are told apart */
    uint32_t count;  /* samples */
    uint64_t weight; /* ns of processor time that they stand for */
};

struct lull_sampled_thread {
    const struct lull_sampled_item *items; /* in the order of their first samples */
    uint32_t n_items;
    uint64_t weight;   /* sum over the items */
    uint64_t heaviest; /* weight of the heaviest sample; 0: there are none */
};

struct lull_sampled {
    const struct lull_trace *trace;            /* borrowed */
    const struct lull_sampled_thread *threads; /* [n_locations] */
};

/* Places and contexts of a thread that are told apart; what is beyond counts as one place. */
enum { LULL_SAMPLED_PLACES_MOST = 4096 };
/* Those of all threads together: 140 MB. Where a run has more nothing is told. */
enum { LULL_SAMPLED_ITEMS_MOST = 2000000 };

struct lull_sampled_collector;

/* `trace` is borrowed. NULL: not enough memory. */
struct lull_sampled_collector *lull_sampled_create(const struct lull_trace *trace);
void lull_sampled_destroy(struct lull_sampled_collector *collector); /* NULL is allowed */

/* The kinds of steps that lull_sampled_take wants. */
#define LULL_SAMPLED_STEPS (LULL_STEP_MASK(LULL_STEP_SAMPLE) | LULL_STEP_MASK(LULL_STEP_FORK))
/* Takes the next step of a location; steps of other kinds are allowed. `path`: where a first thread
 * is. Calls for one location come in order and do not overlap; those for several may. False: no
 * memory. */
bool lull_sampled_take(struct lull_sampled_collector *collector, uint32_t location,
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
