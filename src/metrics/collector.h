/* SPDX-License-Identifier: BSD-3-Clause */
/* What a breakdown keeps while a run is read: executions of parallel regions, and sums for each
 * location. Internal to the room. */
#ifndef LULL_METRICS_COLLECTOR_H
#define LULL_METRICS_COLLECTOR_H

#include "metrics/breakdown.h"

/* ==== executions of parallel regions ========================================================== */

/* Which worker's time belongs to which execution of an OpenMP parallel region.
 *
 * An execution is what a process's master spends in an outermost parallel region, from entering to
 * leaving it. A span is the same on a worker. The threads of a process are read at different
 * speeds, so spans wait for the master to be read, and executions for the workers. The memory for
 * what waits is bounded by how far the scan lets the threads of a process run apart.
 *
 * A span belongs to the execution that it overlaps. Where it overlaps several executions, because a
 * worker does not leave in between, its time is dealt out in proportion to the overlap, so that the
 * result does not depend on the speed of the readers. */

/* On what time inside a parallel region is spent. */
enum lull_cause {
    LULL_CAUSE_USEFUL,
    LULL_CAUSE_SCHEDULE,
    LULL_CAUSE_LOCK,
    LULL_CAUSE_SYNC,
    LULL_CAUSE_MPI,
    LULL_CAUSE_OTHER,
    LULL_CAUSES
};

/* What a thread spends inside parallel regions from `begin` to `end`. */
struct lull_span {
    int64_t begin, end;
    int64_t ns[LULL_CAUSES]; /* inside the analysed windows */
};

/* The executions of one process. Thread 0 is the master. Any of lull's workers may read any
 * thread. */
struct lull_executions;
struct lull_executions *lull_executions_create(uint32_t n_threads); /* NULL: no memory */
void lull_executions_destroy(struct lull_executions *executions);

/* The master has entered its outermost parallel region; the execution counts if that was inside a
 * window. lull_executions_close: the master has left it, with what it has spent inside; `region` (a
 * region index or LULL_NONE) names it. The other threads get to know of both with the master's next
 * lull_executions_pass. */
lull_status lull_executions_open(struct lull_executions *executions,
                                 const struct lull_forked *forked, struct lull_error *err);
void lull_executions_close(struct lull_executions *executions, const struct lull_span *span,
                           uint32_t region);

/* A worker has left its outermost parallel region. A span may be handed over in several pieces;
 * `thread` > 0. */
lull_status lull_executions_add(struct lull_executions *executions, uint32_t thread,
                                const struct lull_span *span, struct lull_error *err);

/* A thread has been read up to `until`: nothing that begins earlier will be added for it.
 * INT64_MAX: the thread has ended. Called once per block. */
lull_status lull_executions_pass(struct lull_executions *executions, uint32_t thread, int64_t until,
                                 struct lull_error *err);

/* The sums over executions per region, once all threads have ended; returns their number.
 * *ret_regions has the region of each sum. Both arrays live as long as `executions`. The caller
 * fills in name and process. */
uint32_t lull_executions_result(const struct lull_executions *executions,
                                const struct lull_parallel_breakdown **ret_sums,
                                const uint32_t **ret_regions);

/* ==== collector =============================================================================== */

struct location {
    struct lull_executions *executions; /* of its process; NULL for a device stream */
    uint32_t thread;                    /* index in the process; 0: master */
    bool told;       /* whether something of the open parallel region was told: a worker has handed
                        over a piece of its span, or the master has told that it has begun */
    int64_t told_to; /* a worker: up to when it has handed over */
    int64_t handed_over[LULL_CAUSES];     /* ns of the parallel slots that spans held so far */
    int64_t ns[LULL_SLOT_ACTIVITIES * 2]; /* times of its ledger, once it has ended */
    uint64_t *counters;                   /* its counters, once it has ended; NULL: none */
};

struct lull_collector {
    const struct lull_trace *trace;
    const struct lull_breakdown_options *options;
    const struct lull_reading *reading; /* that of the options */
    unsigned workers;
    struct location *locations;          /* [n_locations] */
    struct lull_executions **executions; /* [n_processes] */
    struct lull_region_ledger *regions;  /* [workers][n_regions] or NULL */
    struct lull_device_log *devices;     /* NULL: there are none */
};

#endif
