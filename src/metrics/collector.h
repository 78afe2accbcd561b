/* What a breakdown keeps while a run is read; internal to the room. */
#ifndef LULL_METRICS_COLLECTOR_H
#define LULL_METRICS_COLLECTOR_H

#include "metrics/breakdown.h"

/* ==== executions ============================================================================== */

/* Executions of OpenMP parallel regions: which worker's time belongs to which execution.
 *
 * An execution is what a process's master spends in its outermost parallel region from one
 * entering to the leaving. A span is the same on a worker. Threads of a process are read at
 * different speeds, so that spans wait for the master and executions for the workers; what waits
 * is bounded by how far the scan lets the threads of a process run apart.
 *
 * A span belongs to the execution that it overlaps; where it overlaps several (a worker that does
 * not leave in between) its time is dealt out in proportion to the overlap, so that the result
 * does not depend on the speed of the readers. */

/* What the time inside is spent on. */
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

/* One process. Thread 0 is the master. Any thread may be read by any of lull's workers. */
struct lull_executions;
struct lull_executions *lull_executions_create(uint32_t n_threads); /* NULL: no memory */
void lull_executions_destroy(struct lull_executions *executions);

/* The master has entered its outermost parallel region, which counts if that was inside a window.
 * Then it leaves, with what it has spent inside; `region` (a region index or LULL_NONE) names it.
 * The other threads get to know of both when the master passes. */
lull_status lull_executions_open(struct lull_executions *executions,
                                 const struct lull_forked *forked, struct lull_error *err);
void lull_executions_close(struct lull_executions *executions, const struct lull_span *span,
                           uint32_t region);

/* A worker has left its outermost parallel region. A span may be handed over in several pieces;
 * `thread` > 0. */
lull_status lull_executions_add(struct lull_executions *executions, uint32_t thread,
                                const struct lull_span *span, struct lull_error *err);

/* A thread has been read up to `until`: nothing that begins earlier will be added for it.
 * INT64_MAX: it has ended. To be called once per block. */
lull_status lull_executions_pass(struct lull_executions *executions, uint32_t thread, int64_t until,
                                 struct lull_error *err);

/* The sums over executions per region, once all threads have ended. `region` is parallel to the
 * array returned; both live as long as `executions`. name and process are left to the caller. */
uint32_t lull_executions_result(const struct lull_executions *executions,
                                const struct lull_parallel_breakdown **ret_sums,
                                const uint32_t **ret_regions);

/* ==== collector =============================================================================== */

struct location {
    struct lull_executions *executions; /* of its process; NULL for a device stream */
    uint32_t thread;                    /* index in the process; 0: master */
    bool told;       /* of the parallel region that is open: a worker has handed over a piece ... */
    int64_t told_to; /* ... up to here, or the master has told that it has begun */
    int64_t handed_over[LULL_CAUSES];     /* what spans held so far of the parallel slots */
    int64_t ns[LULL_SLOT_ACTIVITIES * 2]; /* of its ledger, once it has ended */
    uint64_t *counters;                   /* likewise; NULL: none */
};

struct lull_collector {
    const struct lull_trace *trace;
    const struct lull_breakdown_options *options;
    unsigned workers;
    struct location *locations;          /* [n_locations] */
    struct lull_executions **executions; /* [n_processes] */
    struct lull_region_ledger *regions;  /* [workers][n_regions] or NULL */
};

#endif
