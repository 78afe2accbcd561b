/* A measured run, its replay on the network that its messages show, and what it would have been if
 * something were different. */
#ifndef LULL_STUDY_REPLAY_REPLAY_STUDY_H
#define LULL_STUDY_REPLAY_REPLAY_STUDY_H

#include "machine/machine.h"
#include "replay/warp.h"
#include "replay/what_if/what_if.h"
#include "sim/disturbance.h"
#include "sim/spec.h"
#include "study/replay/replayed_run.h"
#include "study/runs.h"
#include "team/team.h"

/* ==== against ================================================================================= */

/* A prediction beside what was measured: the last run of a replay study, and another recorded run
 * of the same program, which may have been disturbed on purpose (lull record --inject). */

enum { LULL_PREDICTED, LULL_MEASURED, LULL_AGAINST_SIDES };

struct lull_against_process {
    uint32_t rank;
    int64_t time[LULL_AGAINST_SIDES]; /* ns: from leaving MPI_Init to entering MPI_Finalize, as far
                                         as it was recorded; else the length of the run */
    double mpi_share[LULL_AGAINST_SIDES]; /* of the time of its master that is in MPI */
};

struct lull_against {
    struct lull_runs runs;                /* the measured one */
    const char *disturbance;              /* what it was disturbed with, in lines; NULL: nothing */
    int64_t runtime[LULL_AGAINST_SIDES];  /* ns */
    double mpi_share[LULL_AGAINST_SIDES]; /* of the time of all masters */
    struct lull_against_process *processes;
    uint32_t n_processes;
};

/* The relative error of a prediction; NaN where nothing was measured. */
double lull_against_error(const int64_t sides[LULL_AGAINST_SIDES]);

/* ==== supposition ============================================================================= */

/* What a replay supposes to be different. */

/* What is supposed to be different; what is NULL or 0 stays as measured. */
struct lull_supposition {
    uint32_t application;   /* index: which program of the trace is replayed */
    bool force;             /* go on where the tracer disturbed the run too much */
    bool whole;             /* with MPI_Init and MPI_Finalize */
    bool raw_names;         /* names of functions as the run has them */
    struct lull_team *team; /* whose members read the run together; NULL: alone */
    bool whole_run; /* the first wants all of the simulated run, to write it: it replays alone */
    const struct lull_sweep *networks;  /* of one spec: the network */
    const struct lull_machine *machine; /* the network of a machine; not with `networks` */
    double cpu_speed;                   /* times as fast as measured */
    struct lull_what_if_options what_if;
    const char *const *words; /* all of that as it is typed, "--median", "rank=7"; NULL at the end,
                                 or NULL: not known */
    const struct lull_disturbance *disturbance; /* as if lull record had injected it; its network
                                                   not beside `networks` or `machine` */
    const char *against; /* a run to which the prediction is compared: where nothing is supposed, it
                            is what that run was disturbed with. Not with a sweep. */
};

/* What users type for it; what is NULL was not said. */
struct lull_supposition_texts {
    const char *network, *machine;         /* a spec, a file; one of them */
    const char *cpu_speed;                 /* a factor */
    char *const *regions, *const *medians; /* as lull_what_if_regions_read and
                                              lull_what_if_cuts_read take them */
    char *const *inject;                   /* of a disturbance that the caller has read ... */
    const char *seed;                      /* ... with this */
};

/* Sets what the texts say, and `words`, beside what the caller has set before: disturbance and
 * `against` are checked with it. Fails with LULL_ERR_RANGE, or as the machine file is read. */
lull_status lull_supposition_read(const struct lull_supposition_texts *texts,
                                  struct lull_arena *arena, struct lull_supposition *supposition,
                                  struct lull_error *err);

/* Networks that the user typed: each point of the sweep is checked, before a trace is read. */
lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err);

/* ==== replay study ============================================================================ */

/* The run at one point of a sweep of networks. */
struct lull_supposed_point {
    const char *network; /* name of its class */
    int64_t runtime;     /* ns */
};

struct lull_replay_study {
    struct lull_runs runs; /* "measured", "replayed" and, unless swept or nothing was supposed,
                              "what if"; with their values */
    struct lull_network measured;   /* the network, as the messages of the trace show it */
    const struct lull_sweep *sweep; /* of several points; NULL: none */
    const struct lull_supposed_point *points; /* [sweep->n_points] */
    struct lull_replayed replayed, supposed;  /* what the runs stand on */
    bool unshared;                            /* a replay that the first of a team made alone */
    struct lull_against *against;             /* NULL: nothing to compare with */
    const char *const *words;                 /* of the supposition */
};

/* Reads, replays and computes everything; results live in `arena`. Errors name the file. Ends with
 * lull_replay_study_close in either case. */
lull_status lull_replay_study_make(const char *path, const struct lull_supposition *supposition,
                                   const struct lull_study_progress *progress,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_replay_study *ret_study, struct lull_error *err);
void lull_replay_study_close(struct lull_replay_study *study);

#endif
