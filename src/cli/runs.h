/* The runs of a study: opened, broken down, named, put in order. */
#ifndef LULL_CLI_RUNS_H
#define LULL_CLI_RUNS_H

#include "metrics/pop/pop.h"
#include "report/document.h"

struct lull_runs_options {
    uint32_t application; /* index */
    const char *region;   /* only the time inside; NULL: all */
    bool has_window;
    int64_t from, to; /* ns, if has_window */
    bool regions;     /* break down by region, too */
    bool force;       /* go on where the result would be doubtful */
    bool no_replay;   /* do without the runtime on an ideal network */
    unsigned workers; /* 0: all */
};

struct lull_run {
    const char *path;         /* as the user gave it */
    uint32_t order;           /* of the operands */
    const char *name;         /* heads its column; different from those of other runs */
    struct lull_trace *trace; /* NULL: a saved profile */
    struct lull_breakdown *breakdown;
    struct lull_pop_input *input;
    uint32_t processes, threads;       /* all CPU threads */
    uint32_t min_threads, max_threads; /* of a process */
    struct lull_metric_value *values;  /* [lull_metric_count], once computed */
};

struct lull_runs {
    struct lull_run *runs; /* by execution units, then processes, then as given */
    uint32_t count;
    size_t capacity;
    uint32_t reference;
    enum lull_scaling scaling;
};

/* Reads all runs, with progress. Warnings go to stderr and into the document. Returns an exit
 * status; failure has been told. Ends with lull_runs_close in either case. */
int lull_runs_load(const char *const *paths, uint32_t count,
                   const struct lull_runs_options *options, struct lull_document *document,
                   struct lull_arena *arena, struct lull_runs *ret_runs);
void lull_runs_close(struct lull_runs *runs);

/* The locations of threads other than masters that send, receive or take part in collectives, as a
 * replay wants them; NULL: there are none. */
const bool *lull_run_callers(const struct lull_run *run, uint32_t application,
                             struct lull_arena *arena);

/* Breakdown, numbers and runtime on an ideal network of a run whose trace and name are set. Returns
 * an exit status. */
int lull_run_analyse(struct lull_run *run, const struct lull_runs_options *options,
                     struct lull_document *document, struct lull_arena *arena);

/* "8 x 2": processes and threads of each; "8 x 1-4" where they differ. */
const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena);

#endif
