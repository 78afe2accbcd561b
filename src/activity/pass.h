/* A pass: one reading of a run, for several consumers of steps at once.
 *
 * The calls for one location never overlap and come in order, so a consumer may keep a state per
 * location without a lock. Usually a worker stays with a process, and helps with another when all
 * are begun. If a consumer wants it (`abreast`), all locations of a process belong to one worker
 * from begin to end, and a worker reads its locations abreast, the one that lags in time first, a
 * block of events at a time; so what it has handed over of its locations lies close together in
 * time at any moment. Formats that hold all locations in one sequence (Paraver) are read by one
 * worker, in that sequence.
 *
 * Memory: one location's sums at a time, or of all locations when they are read abreast; a block
 * per worker; and what consumers keep. */
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

/* Intervals of a process are sorted and do not overlap. */
struct lull_windows {
    uint32_t n_processes;             /* of the trace */
    struct lull_interval **intervals; /* [process][n] */
    uint32_t *counts;
};

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
    /* JOIN and TICK tell what the ledger says then of parallel regions, END is the last of its
     * steps; and there is a call at the end of each block of events, even without steps. */
    bool wants_ledger;
    lull_status (*steps)(void *context, unsigned worker, const struct lull_steps *steps,
                         struct lull_error *err);
    bool abreast; /* see above; the rest is for such consumers only */
    /* Whether steps of a location are welcome now; false: others of the worker are read first, and
     * when none is welcome `rest` is called, until one is. Both NULL: always welcome. */
    bool (*welcome)(void *context, unsigned worker, uint32_t location);
    /* Waits for whatever makes a location welcome. Returns LULL_OK to look again. */
    lull_status (*rest)(void *context, unsigned worker, struct lull_error *err);
    /* The worker has read all of its locations to their ends: what is left can be finished, while
     * others may still read. NULL: nothing to do. */
    lull_status (*finish)(void *context, unsigned worker, struct lull_error *err);
    /* Another worker has failed: whoever rests is to be woken. May be NULL. */
    void (*stop)(void *context);
};

struct lull_pass_options {
    const struct lull_windows *windows; /* NULL: the whole run */
    uint32_t application;               /* only its locations; LULL_NONE: all */
    struct lull_process_range range;    /* only their locations */
    bool masters_only;                  /* only the first thread of each process */
    unsigned workers;                   /* threads; 0: as many as there are processors */
    const uint8_t
        *marks;         /* [n_regions]: SPANs tell in which marked region (> 0) they are; or NULL */
    const bool *visits; /* [n_regions]: whose VISITs are wanted; NULL: of all */
    int64_t tick;       /* ns between two TICKs; 0: none */
    /* [workers][n_regions], zeroed, of the caller: sums by region (activity/step.h), of all
     * locations that the worker reads; NULL: not wanted. */
    struct lull_region_ledger *regions;
    void (*progress)(void *context, double share);
    void *progress_context;
};

/* How many workers a pass will have at most. */
unsigned lull_pass_workers(const struct lull_trace *trace, const struct lull_pass_options *options);
/* Which of `workers` reads a process of the range. */
unsigned lull_pass_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process);

/* Reads the run once and returns when all consumers have everything; options and consumers are
 * borrowed until then. Fails as lull_scan does, with the status of a consumer, and with
 * LULL_ERR_MEMORY, also where not all threads of a pass abreast can be started. */
lull_status lull_pass_run(const struct lull_trace *trace, const struct lull_pass_options *options,
                          const struct lull_consumer *consumers, uint32_t n_consumers,
                          struct lull_error *err);

/* What lull_pass_run drives with a scan, and tests by hand: the functions of a visitor
 * (trace/scan.h) whose context is the pass, with its rules. `options` is copied; what it points to
 * and `consumers` must outlive the pass. `worker` < workers. */
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

/* The steps of one location, pulled: for the replay, whose engine decides who goes on. */
struct lull_step_cursor;
lull_status lull_step_cursor_open(const struct lull_trace *trace, uint32_t location, uint32_t wants,
                                  const struct lull_pass_options *options,
                                  struct lull_step_cursor **ret_cursor, struct lull_error *err);
/* The next steps; count 0: the end (END was the last). They live until the next call. */
lull_status lull_step_cursor_next(struct lull_step_cursor *cursor, struct lull_steps *ret_steps,
                                  struct lull_error *err);
void lull_step_cursor_close(struct lull_step_cursor *cursor); /* NULL is allowed */

#endif
