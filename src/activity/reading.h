/* SPDX-License-Identifier: BSD-3-Clause */
/* Which part of a run is read, and who gets the steps of it: windows, division of the work, and
 * consumers of one pass (activity/pass.h), which reads the run. */
#ifndef LULL_ACTIVITY_READING_H
#define LULL_ACTIVITY_READING_H

#include "activity/channel.h"
#include "activity/step.h"
#include "trace/scan.h"

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

/* ==== consumers =============================================================================== */

/* Steps of one location, in order. `steps` lives until the call returns. */
struct lull_steps {
    uint32_t location;
    uint32_t count;
    const struct lull_step *steps;
    const struct lull_ledger *ledger;     /* of the location, exact up to the last of the steps */
    const struct lull_channels *channels; /* of the location */
};

/* One analysis. Calls for one worker never overlap; those of different workers do. A status other
 * than LULL_OK ends the pass and is returned. Steps come in batches; a batch without any of the kinds
 * that a consumer wants is kept from it, unless it wants the ledger or is read abreast. */
struct lull_consumer {
    void *context;  /* handed back with each call */
    uint64_t wants; /* LULL_STEP_MASK of the kinds that it reads; others may come all the same */
    /* True: JOIN and TICK hold the ledger's times inside parallel regions (parallel_ns), and
     * `steps` is called at the end of each block of events, even without steps. */
    bool wants_ledger;
    lull_status (*steps)(void *context, unsigned worker, const struct lull_steps *steps,
                         struct lull_error *err);
    bool abreast; /* see activity/pass.h; what follows is for such consumers only */
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

#endif
