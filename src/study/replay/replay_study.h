/* A measured run, its replay on the network that its messages show, and what it would have been if
 * something were different. */
#ifndef LULL_STUDY_REPLAY_REPLAY_STUDY_H
#define LULL_STUDY_REPLAY_REPLAY_STUDY_H

#include "machine/machine.h"
#include "sim/disturbance.h"
#include "sim/spec.h"
#include "study/replay/against.h"
#include "study/replay/replayed.h"
#include "study/runs.h"

/* What is supposed to be different; what is NULL or 0 stays as measured. */
struct lull_supposition {
    uint32_t application;               /* index: which program of the trace is replayed */
    bool force;                         /* go on where the tracer disturbed the run too much */
    bool whole;                         /* with MPI_Init and MPI_Finalize */
    bool raw_names;                     /* names of functions as the run has them */
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

/* Networks that the user typed: each point of the sweep is checked, before a trace is read. */
lull_status lull_replay_networks_read(const char *text, struct lull_arena *arena,
                                      const struct lull_sweep **ret_networks,
                                      struct lull_error *err);

/* Reads a machine file; that the machine has a network is known before a trace is read. */
lull_status lull_replay_machine_read(const char *path, struct lull_arena *arena,
                                     const struct lull_machine **ret_machine,
                                     struct lull_error *err);

#endif
