/* SPDX-License-Identifier: BSD-3-Clause */
/* Work: how long the first thread of each process computed, by region, burst by burst, and alone.
 *
 * A burst is the useful time between two calls of MPI. Bursts that end with the same call repeat
 * each other; calls are the same when their region is, which tells their place in the program where
 * that was recorded. Of such bursts the number and the median are known, from a histogram with bins
 * of 19 % (a quarter of an octave). A burst of more than about 1.7 times the median is a long one:
 * noise makes such bursts.
 *
 * A serial stretch is what the first thread of a process with several computes outside of parallel
 * regions, from the end of one call of MPI or parallel region to the begin of the next one.
 * Stretches between the same two are added up: of a loop that assembles in a parallel region, solves
 * alone and calls MPI_Allreduce, all iterations have one stretch between the region and the call.
 *
 * Paths are the user's regions that are open at once, from the outermost one to the innermost. Useful
 * time is known by path, so that it can be told how long a process computed in a region with all that
 * the region called.
 *
 * Of blocking sends it is known how long their calls were, by size.
 *
 * The collector rides on a pass (activity/pass.h). Memory: 700 bytes for each process and place of
 * a call, 48 for each process and region in which it computes, or 110 where it computes in many, and
 * 32 for each process and two places between which it computes alone. */
#ifndef LULL_DIAGNOSE_WORK_H
#define LULL_DIAGNOSE_WORK_H

#include "activity/pass.h"
#include "activity/step.h"
#include "diagnose/messages.h"
#include "metrics/samples.h"

/* ==== samples ================================================================================= */

/* Sampled: where in the program's code threads computed, from the samples of a run (activity/step.h).
 *
 * The useful samples of a thread are added up (metrics/samples.h) by their place in the code and by what
 * the thread was in the middle of: the parallel region, whether it was in a critical or ordered section,
 * and, of the first thread of a process, the user's regions that were open (the number among the paths of
 * that process, struct lull_work_path, in the order of lull_work) and the call of MPI at the end of the
 * burst; of other threads these are 0 and LULL_NONE. */

struct lull_sampled {
    const struct lull_trace *trace;     /* borrowed */
    const struct lull_samples *threads; /* [n_locations] */
};

/* ==== work ==================================================================================== */

/* Useful time of a process in a region. */
struct lull_work_place {
    uint32_t process;
    uint32_t region;                     /* of the user, or LULL_NONE: outside of all of them */
    int64_t ns;                          /* directly in it, where it is the innermost one */
    int64_t serial_ns;                   /* part of `ns`: outside OpenMP parallel regions */
    int64_t inside_ns, serial_inside_ns; /* the same with all that the region called */
    uint64_t bursts; /* bursts in which the region, as the innermost one, has a part */
};

/* Useful time of a process directly on a path, which has come up. */
struct lull_work_path {
    uint32_t process;
    uint32_t region; /* the innermost one; LULL_NONE: the path outside of all regions */
    uint32_t
        outer; /* index of the path without the innermost region; that of LULL_NONE is its own */
    uint32_t reserved;
    int64_t ns;
};

/* So many paths of a process are told apart; further ones count as the next shorter path. */
enum { LULL_WORK_PATHS_MOST = 4096 };

struct lull_work_bursts {
    uint32_t process;
    uint32_t call; /* region of the call at their end, or LULL_NONE: at the end of the run */
    uint64_t bursts;
    int64_t median_ns;
    uint64_t long_bursts;
    int64_t long_ns; /* what long bursts take beyond the median, to 10 % */
    int64_t longest_begin, longest_ns;
};

/* All serial stretches of a process between two places. */
struct lull_work_serial {
    uint32_t process;
    uint32_t after; /* region of the call or parallel region that ended; LULL_NONE: the run began */
    uint32_t before; /* the one that began; LULL_NONE: the run ended, or the region is not known */
    uint32_t reserved;
    uint64_t count;
    int64_t ns;
};

/* Serial stretches are followed between at most so many pairs of places of a process. */
enum { LULL_WORK_SERIALS_MOST = 256 };

/* Bursts are followed for at most so many places of calls of all processes together: 140 MB. */
enum { LULL_WORK_BURSTS_MOST = 200000 };

/* Blocking sends of the standard mode (MPI_Send) of one class of sizes (diagnose/messages.h). */
struct lull_work_sends {
    uint64_t count, bytes;
    int64_t ns; /* spent in their calls */
};

struct lull_work {
    const struct lull_work_place *places; /* by process and region */
    uint32_t n_places;
    const struct lull_work_bursts *bursts; /* by process and call; NULL: there were too many */
    uint32_t n_bursts;
    const struct lull_work_path
        *paths; /* by process; of those in which no user's region was entered
                                           none */
    uint32_t n_paths;
    const struct lull_work_serial *serials; /* by process */
    uint32_t n_serials;
    struct lull_work_sends sends[LULL_MESSAGES_CLASSES];
    /* Where in the code all threads computed; NULL: there are no samples, or too many places. */
    const struct lull_sampled *sampled;
};

struct lull_work_collector;

/* `trace` is borrowed; `workers` of the pass. Fails with LULL_ERR_MEMORY. */
lull_status lull_work_create(const struct lull_trace *trace, unsigned workers,
                             struct lull_work_collector **ret_collector, struct lull_error *err);
/* Lives as long as the collector. */
struct lull_consumer lull_work_consumer(struct lull_work_collector *collector);
/* Behind a pass that a team has shared: each member puts what it has, and the first gets all. */
bool lull_work_put(const struct lull_work_collector *collector, struct lull_flow *flow);
bool lull_work_get(struct lull_work_collector *collector, struct lull_flow *flow);
/* After a pass that went well; the result lives in `arena`. */
void lull_work_conclude(struct lull_work_collector *collector, struct lull_arena *arena,
                        struct lull_work *ret_work);
void lull_work_destroy(struct lull_work_collector *collector); /* NULL is allowed */

/* The index of the first place of a process, or where it would be. */
uint32_t lull_work_first(const struct lull_work *work, uint32_t process);
/* The serial stretches between those two places between which the process computed longest; NULL: it
 * has none. */
const struct lull_work_serial *lull_work_longest_serial(const struct lull_work *work,
                                                        uint32_t process);
/* The place of a process and region; NULL: the process did not compute there. */
const struct lull_work_place *lull_work_at(const struct lull_work *work, uint32_t process,
                                           uint32_t region);
/* What a process computed in a region, directly or (`inside`) with all that the region called, ns. */
int64_t lull_work_of(const struct lull_work *work, uint32_t process, uint32_t region, bool inside);
/* The index of the first path of a process, or where it would be. */
uint32_t lull_work_first_path(const struct lull_work *work, uint32_t process);

#endif
