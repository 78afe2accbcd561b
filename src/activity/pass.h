/* A pass: one reading of a run, for several consumers of steps at once.
 *
 * The calls for one location never overlap and come in order, so a consumer may keep a state per
 * location without a lock. Usually a worker stays with a process, and helps with another when all
 * are begun. If a consumer wants it (`abreast`), all locations of a process belong to one worker
 * from begin to end, and the worker reads its locations abreast: always the next block of events
 * of the location that lags most in time. So the steps that it has handed over of its locations
 * reach about the same time at any moment. Formats that hold all locations in one sequence
 * (Paraver) are read by one worker, in that sequence.
 *
 * Memory: an interpreter for each location that is being read (all of a worker's locations when
 * they are read abreast), a block of events and one of steps per worker, and what consumers keep.
 */
#ifndef LULL_ACTIVITY_PASS_H
#define LULL_ACTIVITY_PASS_H

#include "activity/channel.h"
#include "activity/step.h"
#include "trace/scan.h"

#include <stdint.h>

/* ==== windows ================================================================================= */

/* Windows: the parts of a run that are analysed, as intervals of time per process. */

struct lull_interval {
    int64_t begin, end; /* ns, begin <= end */
};

/* The intervals of a process are sorted and do not overlap. */
struct lull_windows {
    uint32_t n_processes;             /* of the trace */
    struct lull_interval **intervals; /* [process][counts[process]] */
    uint32_t *counts;                 /* intervals of each process */
};

/* ==== reading ================================================================================= */

/* Which part of a run is read, and who reads it. It is made once, and all analyses of that reading
 * get its address; it outlives them. Zeros, or NULL in its place: all of the first application, by
 * this process alone. */
struct lull_division;
struct lull_reading {
    uint32_t application;               /* only its locations; LULL_NONE: all */
    const struct lull_windows *windows; /* NULL: the whole run */
    /* Each member of a team reads some of the processes. NULL: this process reads all. */
    const struct lull_division *division;
    struct lull_process_range range; /* the processes that this member reads; {0, 0}: all */
    unsigned workers;                /* threads; 0: as many as there are processors */
    void (*progress)(void *context, double share); /* may be NULL */
    void *progress_context;
};

static inline const struct lull_reading *lull_reading_of(const struct lull_reading *reading)
{
    static const struct lull_reading all = {0};
    return reading ? reading : &all;
}

/* ==== pass ==================================================================================== */

/* Steps of one location, in order. `steps` lives until the call returns. */
struct lull_steps {
    uint32_t location;
    uint32_t count;
    const struct lull_step *steps;
    const struct lull_ledger *ledger;     /* of the location, exact up to the last of the steps */
    const struct lull_channels *channels; /* of the location */
};

/* One analysis. Calls for one worker never overlap; those of different workers do. A status other
 * than LULL_OK ends the pass and is returned. */
struct lull_consumer {
    void *context;  /* handed back with each call */
    uint32_t wants; /* LULL_STEP_MASK of the kinds that it reads; others may come all the same */
    /* True: JOIN and TICK hold the ledger's times inside parallel regions (parallel_ns), and
     * `steps` is called at the end of each block of events, even without steps. */
    bool wants_ledger;
    lull_status (*steps)(void *context, unsigned worker, const struct lull_steps *steps,
                         struct lull_error *err);
    bool abreast; /* see above; what follows is for such consumers only */
    /* Whether steps of a location are welcome now. If not, other locations of the worker are read
     * first; when none is welcome, `rest` is called until one is. Both NULL: always welcome. */
    bool (*welcome)(void *context, unsigned worker, uint32_t location);
    /* Waits for whatever makes a location welcome. Returns LULL_OK to look again. */
    lull_status (*rest)(void *context, unsigned worker, struct lull_error *err);
    /* The worker has read all of its locations to their ends. The consumer may finish its share,
     * while other workers may still read. NULL: nothing to do. */
    lull_status (*finish)(void *context, unsigned worker, struct lull_error *err);
    /* A worker has failed: calls of `rest` and `finish` that still wait must return. May be NULL.
     */
    void (*stop)(void *context);
};

struct lull_pass_options {
    const struct lull_reading *reading; /* may be NULL */
    bool masters_only;                  /* only the first thread of each process */
    const uint8_t *marks; /* [n_regions]: a number above 0 marks a region, and SPANs and STRETCHes
                             tell the mark of the innermost marked region; NULL: no marks */
    const bool *visits;   /* [n_regions]: whether VISITs of it are wanted; NULL: of all */
    int64_t tick;         /* ns between two TICKs; 0: none */
    /* [workers][n_regions], zeroed, owned by the caller: sums by region (activity/step.h) over all
     * locations that a worker reads; NULL: not wanted. */
    struct lull_region_ledger *regions;
};

/* How many workers a pass will have at most. */
unsigned lull_pass_workers(const struct lull_trace *trace, const struct lull_pass_options *options);
/* The number of the worker, below `workers`, that reads a process of the range, in a pass abreast.
 */
unsigned lull_pass_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process);

/* Reads the run once and returns when all consumers have everything; options and consumers are
 * borrowed until then. Fails as lull_scan does, with the status of a consumer, and with
 * LULL_ERR_MEMORY, also where not all threads of a pass abreast can be started. */
lull_status lull_pass_run(const struct lull_trace *trace, const struct lull_pass_options *options,
                          const struct lull_consumer *consumers, uint32_t n_consumers,
                          struct lull_error *err);

/* A pass in parts, for lull_pass_run, which drives it with a scan, and for tests, which call it
 * themselves. begin, block and end are the functions of a visitor (trace/scan.h) whose context is
 * the pass; the rules for their calls are those of a visitor. `options` is copied; what it points
 * to and `consumers` must outlive the pass. `worker` < workers. */
struct lull_pass;
lull_status lull_pass_create(const struct lull_trace *trace,
                             const struct lull_pass_options *options, unsigned workers,
                             const struct lull_consumer *consumers, uint32_t n_consumers,
                             struct lull_pass **ret_pass, struct lull_error *err);
lull_status lull_pass_begin(void *pass, unsigned worker, uint32_t location, struct lull_error *err);
lull_status lull_pass_block(void *pass, unsigned worker, const struct lull_block *block,
                            struct lull_error *err);
lull_status lull_pass_end(void *pass, unsigned worker, uint32_t location, struct lull_error *err);
void lull_pass_destroy(struct lull_pass *pass); /* NULL is allowed */

/* A cursor pulls the steps of one location: for the replay, whose engine decides which location
 * goes on. */
struct lull_step_cursor; /* has a copy of the options and of their reading */
lull_status lull_step_cursor_open(const struct lull_trace *trace, uint32_t location, uint32_t wants,
                                  const struct lull_pass_options *options,
                                  struct lull_step_cursor **ret_cursor, struct lull_error *err);
/* The next steps; count 0: the end (END was the last). They live until the next call. */
lull_status lull_step_cursor_next(struct lull_step_cursor *cursor, struct lull_steps *ret_steps,
                                  struct lull_error *err);
void lull_step_cursor_close(struct lull_step_cursor *cursor); /* NULL is allowed */

#endif
