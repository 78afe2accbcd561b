/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of a replay: a measured run, its replay on the network that its messages show, a replay
 * that supposes something to be different (a what-if), and perhaps another measured run to compare
 * that prediction with. */
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

/* ==== a prediction against a measured run ===================================================== */

/* The prediction is the last run of a replay study. It is compared with another recorded run of the
 * same program, which may have been disturbed on purpose (lull record --inject). */

enum { LULL_PREDICTED, LULL_MEASURED, LULL_AGAINST_SIDES };

struct lull_against_process {
    uint32_t rank;
    int64_t time[LULL_AGAINST_SIDES]; /* ns from leaving MPI_Init to entering MPI_Finalize, or the
                                         length of the run where these were not recorded */
    double mpi_share[LULL_AGAINST_SIDES]; /* share of its master's time that is in MPI */
};

struct lull_against {
    struct lull_runs runs;                /* the measured run alone */
    const char *disturbance;              /* what it was disturbed with, in lines; NULL: nothing */
    int64_t runtime[LULL_AGAINST_SIDES];  /* ns */
    double mpi_share[LULL_AGAINST_SIDES]; /* share of all masters' time that is in MPI */
    struct lull_against_process *processes;
    uint32_t n_processes;
};

/* The relative error of a prediction; NaN where nothing was measured. */
double lull_against_error(const int64_t sides[LULL_AGAINST_SIDES]);

/* ==== the supposition ========================================================================= */

/* What a replay supposes to be different, and how the run is read. What is NULL or 0 stays as
 * measured. */
struct lull_supposition {
    uint32_t application;   /* index: which program of the trace is replayed */
    bool force;             /* go on where the tracer disturbed the run too much */
    bool whole;             /* with MPI_Init and MPI_Finalize */
    bool has_window;        /* only the time between `from` and `to`; not with `against` */
    int64_t from, to;       /* ns */
    bool raw_names;         /* names of functions as the run has them */
    struct lull_team *team; /* its members read the run together; NULL: no team */
    bool whole_run; /* the first member needs the whole simulated run, to write it, and therefore
                       replays alone */
    const struct lull_sweep *networks;  /* the network, as a sweep of one spec */
    const struct lull_machine *machine; /* the network of this machine; not with `networks` */
    double cpu_speed;                   /* processors are so many times as fast as measured */
    struct lull_what_if_options what_if;
    const char *const *words; /* the supposition as options that a user types, "--median", "rank=7",
                                 NULL at the end; NULL: not known */
    const struct lull_disturbance *disturbance; /* as if lull record had injected it; if it disturbs
                                                   the network, not with `networks` or `machine` */
    const char *against; /* path of a run that the prediction is compared with; not with a sweep. If
                            nothing is supposed, what that run was disturbed with is supposed */
};

/* What users type for a supposition; NULL where nothing was said. */
struct lull_supposition_texts {
    const char *network, *machine;         /* a spec or the path of a machine file; not both */
    const char *cpu_speed;                 /* a factor */
    char *const *regions, *const *medians; /* as lull_what_if_regions_read and
                                              lull_what_if_cuts_read take them */
    char *const *inject; /* texts of the disturbance, which the caller has read already */
    const char *seed;    /* of the disturbance */
};

/* Sets in *supposition what the texts say, and `words`. What the caller has set before, such as the
 * disturbance and `against`, stays and is checked with it. Fails with LULL_ERR_RANGE, or as reading
 * the machine file fails. */
lull_status lull_supposition_read(const struct lull_supposition_texts *texts,
                                  struct lull_arena *arena, struct lull_supposition *supposition,
                                  struct lull_error *err);

/* Reads the networks that the user typed, and checks each point of the sweep, so that a mistake is
 * found before a trace is read. */
lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err);

/* ==== the study =============================================================================== */

/* The run on one network of a sweep. */
struct lull_supposed_point {
    const char *network; /* name of the network's class */
    int64_t runtime;     /* ns */
};

/* How many kernels of NCCL there are, how many of them wait for those of their other ranks, and how many of these cost what
 * a network says that is supposed. */
struct lull_known_exchanges {
    size_t all, known, sized;
    bool by_network; /* a network is supposed on which messages take time */
};

struct lull_replay_study {
    struct lull_runs runs; /* "measured", "replayed" and "what if", with their values; there is no
                              "what if" in a sweep or where nothing was supposed */
    struct lull_network measured;   /* the network, as the messages of the trace show it */
    const struct lull_sweep *sweep; /* of several points; NULL: none */
    const struct lull_supposed_point *points; /* [sweep->n_points] */
    struct lull_replayed replayed, supposed;  /* the replays that the runs belong to */
    struct lull_known_exchanges exchanges;
    bool unshared;                /* the first member of a team made a replay alone */
    struct lull_against *against; /* NULL: nothing to compare with */
    const char *const *words;     /* of the supposition */
};

/* Reads, replays and computes everything; results live in `arena`. Errors name the file. Ends with
 * lull_replay_study_close, whether it fails or not. */
lull_status lull_replay_study_make(const char *path, const struct lull_supposition *supposition,
                                   const struct lull_study_progress *progress,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_replay_study *ret_study, struct lull_error *err);
void lull_replay_study_close(struct lull_replay_study *study);

#endif
