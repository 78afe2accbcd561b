/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a study: traces and saved profiles are opened, analysed, named and put in order. What
 * is analysed of a run (breakdown, ideal runtime, waits, files) comes from one joint pass over it,
 * by this process or by a team. Results live in an arena. */
#ifndef LULL_STUDY_RUNS_H
#define LULL_STUDY_RUNS_H

#include "study/notices.h"
#include "study/run.h"

/* ==== runs ==================================================================================== */

/* Functions that are told how far long work has come, one piece of work after the other. */
struct lull_study_progress {
    void (*begin)(void *context, const char *what); /* `what` lives until the end */
    void (*update)(void *context, double share);    /* 0 to 1; from any thread, one at a time */
    void (*end)(void *context);
    void *context;
};

struct lull_runs_options {
    uint32_t application; /* index */
    const char *region;   /* analyse only the time inside this region; NULL: all */
    bool has_window;
    int64_t from, to;  /* ns, if has_window */
    bool whole;        /* analyse MPI_Init and MPI_Finalize, too. Else, if neither region nor window
                         is given, runs that lull recorded are analysed between these two only */
    bool regions;      /* break down by region, too */
    bool operations;   /* and by operation of devices */
    bool files;        /* find what was done with each file, too */
    bool waits;        /* find who made others wait, too */
    bool device_waits; /* with waits: and what kept threads in calls that wait for devices */
    bool force;        /* go on where the result would be doubtful */
    bool no_replay;    /* do without the runtime on an ideal network */
    /* Runs with more threads than this are analysed without waits, and without the runtime on an
     * ideal network; a notice says so. Both need memory for all threads at once. 0: no limit. */
    uint32_t most_with_waits, most_with_replay;
    uint64_t check; /* runs with up to so many operations are replayed, to tell how far their ideal
                         runtime can be believed (study/replay/replayed_run.h); 0: none */
    uint64_t excerpt_steps; /* of those, runs of more steps of MPI than these in part, where that
                               suffices (usually LULL_EXCERPT_STEPS of replay/excerpt.h), for
                               commands that replay a run for nothing else; 0: all as a whole */
    bool raw_names;         /* names of functions as the run has them */
    unsigned workers;       /* threads; 0: all processors */
    /* Its members read each run together; the runs of all members but the first have no numbers
     * then. NULL: no team. */
    struct lull_team *team;
    const struct lull_study_progress *progress; /* may be NULL */
    /* What else is asked of each trace that has events, [n_asked], without states: each run has its
     * own (lull_run_state). */
    const struct lull_asked *asked;
    uint32_t n_asked;
};

/* Whether the waits of a run are followed. This reads the locations of all processes at once: the
 * format has to be able to read so many (most_abreast in trace/format.h), and the options have to
 * allow as many. */
bool lull_runs_follow_waits(const struct lull_runs_options *options,
                            const struct lull_trace *trace);
/* Whether the options leave the runtime on an ideal network out of a run because of its threads. */
bool lull_runs_leave_replay(const struct lull_runs_options *options,
                            const struct lull_trace *trace);

/* Sets the window of *options from the value of --window, "FROM:TO" as in "200ms:1.5s"; without
 * unit these are seconds, and either may be left out. Fails with LULL_ERR_RANGE. */
lull_status lull_runs_window_read(const char *text, struct lull_arena *arena,
                                  struct lull_runs_options *options, struct lull_error *err);

struct lull_runs {
    struct lull_run *runs; /* by execution units, then processes, then as given */
    uint32_t count;
    size_t capacity;
    uint32_t reference; /* index of the run that others are compared with */
    enum lull_scaling scaling;
};

/* Opens and analyses all runs, which are traces or documents of saved profiles. Errors name the
 * file. Ends with lull_runs_close, whether it fails or not. */
lull_status lull_runs_load(const char *const *paths, uint32_t count,
                           const struct lull_runs_options *options, struct lull_notices *notices,
                           struct lull_arena *arena, struct lull_runs *ret_runs,
                           struct lull_error *err);
void lull_runs_close(struct lull_runs *runs); /* no run is left in *runs */

/* Adds a run at the end, with path and order set; earlier addresses of runs become stale. */
struct lull_run *lull_runs_add(struct lull_runs *runs, const char *path, struct lull_arena *arena);

/* Makes the names of all runs differ. Where several runs have the same name, the path takes its
 * place, with the name behind it if the file holds several runs; where these are the same, too, the
 * runs are numbered. */
void lull_run_make_names_differ(struct lull_runs *runs, struct lull_arena *arena);

/* ==== the analysis of one run ================================================================= */

/* Finds all that the options ask of a run whose path, name and trace are set: breakdown, the input
 * of its metrics, the runtime on an ideal network, files and waits. `division` (NULL: no team) says
 * which member of the team reads what. Errors name the run's file. */
lull_status lull_run_analyse(struct lull_run *run, const struct lull_division *division,
                             const struct lull_runs_options *options, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_error *err);

#endif
