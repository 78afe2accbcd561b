/* The runs of a study: opened, broken down, named, put in order. */
#ifndef LULL_STUDY_RUNS_H
#define LULL_STUDY_RUNS_H

#include "metrics/by_file.h"
#include "metrics/pop.h"
#include "study/joint_pass.h"
#include "study/notices.h"
#include "team/division.h"
#include "wait/wait.h"

/* ==== runs ==================================================================================== */

/* Long work, one piece after the other, for whoever wants to show it. */
struct lull_study_progress {
    void (*begin)(void *context, const char *what); /* `what` lives until the end */
    void (*update)(void *context, double share);    /* 0 to 1; from any thread, one at a time */
    void (*end)(void *context);
    void *context;
};

struct lull_runs_options {
    uint32_t application; /* index */
    const char *region;   /* only the time inside; NULL: all */
    bool has_window;
    int64_t from, to; /* ns, if has_window */
    bool whole;       /* with MPI_Init and MPI_Finalize; else only what is between them, of runs
                         that lull recorded, where neither region nor window is given */
    bool regions;     /* break down by region, too */
    bool files;       /* what was done with each file, too */
    bool waits;       /* who made others wait, too */
    bool force;       /* go on where the result would be doubtful */
    bool no_replay;   /* do without the runtime on an ideal network */
    /* Threads of a run beyond which waits, and that runtime, are left out, which is told: who
     * follows them keeps something of all threads at once. 0: never */
    uint32_t most_with_waits, most_with_replay;
    uint64_t check;   /* look how far that can be believed, of runs with up to so many steps,
                         study/replay/replayed_run.h; 0: do not */
    bool raw_names;   /* names of functions as the run has them */
    unsigned workers; /* 0: all */
    /* Reads each run together: others than the first have runs without numbers. Waits the first
     * follows in a reading of its own. NULL: alone. */
    struct lull_team *team;
    const struct lull_study_progress *progress; /* may be NULL */
    const struct lull_companion *companion; /* of the reading of each trace of events; NULL: none */
};

/* Waits are followed in the locations of all processes at once, where the format can read so many
 * (most_abreast in trace/format.h), and the options allow as many. */
bool lull_runs_follow_waits(const struct lull_runs_options *options,
                            const struct lull_trace *trace);
/* Whether the options leave the runtime on an ideal network out of a run because of its threads. */
bool lull_runs_leave_replay(const struct lull_runs_options *options,
                            const struct lull_trace *trace);

/* Sets the window of *options from "FROM:TO" as in "200ms:1.5s" (without unit: seconds; either may
 * be left out), the value of --window. Fails with LULL_ERR_RANGE. */
lull_status lull_runs_window_read(const char *text, struct lull_arena *arena,
                                  struct lull_runs_options *options, struct lull_error *err);

struct lull_run {
    const char *path;                   /* as the user gave it */
    uint32_t order;                     /* of the operands */
    const char *name;                   /* heads its column; different from those of other runs */
    struct lull_trace *trace;           /* NULL: a saved profile */
    struct lull_division *division;     /* who of a team reads what; NULL: alone */
    const struct lull_windows *windows; /* that were analysed; NULL: all of the run */
    bool main_part;                     /* that is what is between MPI_Init and MPI_Finalize */
    int64_t life_ns;                    /* of its application, from begin to end, where that was
                                           analysed, since it is one of several; else 0 */
    struct lull_breakdown *breakdown;
    struct lull_ideal_result *ideal; /* NULL: was not looked for */
    struct lull_file_uses *files;    /* NULL: were not looked for, or there are no events */
    struct lull_wait_result *waits;  /* NULL: were not looked for, or there are sums only */
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

/* Opens and analyses all runs: traces, and documents of saved profiles. Errors name the file.
 * Ends with lull_runs_close in either case. */
lull_status lull_runs_load(const char *const *paths, uint32_t count,
                           const struct lull_runs_options *options, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_runs *ret_runs,
                           struct lull_error *err);
void lull_runs_close(struct lull_runs *runs); /* leaves none */

/* A new run at the end, with path and order set; earlier addresses of runs are stale. */
struct lull_run *lull_runs_add(struct lull_runs *runs, const char *path, struct lull_arena *arena);

/* "8 x 2": processes and threads of each; "8 x 1-4" where they differ. */
const char *lull_run_shape(const struct lull_run *run, struct lull_arena *arena);

/* ==== analyse ================================================================================= */

/* The analysis of one run: from events to the numbers of its metrics. */

/* Breakdown, numbers and runtime on an ideal network of a run whose path, name and trace are set.
 * Errors name the run's file. */
lull_status lull_run_analyse(struct lull_run *run, const struct lull_runs_options *options,
                             struct lull_notices *notices, struct lull_arena *arena,
                             struct lull_error *err);

/* The locations of threads other than masters that send, receive or take part in collectives, as a
 * replay wants them; NULL: there are none. */
const bool *lull_run_callers(const struct lull_run *run, uint32_t application,
                             struct lull_arena *arena);

/* ==== run name ================================================================================ */

/* Short names of runs for the heads of columns. */

/* "runs/epoch_4proc.prv.gz" is epoch_4proc; "scorep-8/traces.otf2" is scorep-8, because all
 * archives of that tracer have the same file name. */
const char *lull_run_name(const char *path, struct lull_arena *arena);

/* Where runs have the same name the path takes its place (with the name behind it for one of
 * several runs in a file), and where these are the same they are numbered. */
void lull_run_make_names_differ(struct lull_runs *runs, struct lull_arena *arena);

#endif
