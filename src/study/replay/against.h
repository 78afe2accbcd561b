/* A prediction beside what was measured: the last run of a replay study, and another recorded run
 * of the same program, which may have been disturbed on purpose (lull record --inject). */
#ifndef LULL_STUDY_REPLAY_AGAINST_H
#define LULL_STUDY_REPLAY_AGAINST_H

#include "replay/warp/warp.h"
#include "sim/disturbance.h"
#include "study/runs.h"

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

/* Reads the measured run. Ends with lull_against_close in either case. */
lull_status lull_against_load(const char *path, const struct lull_runs_options *options,
                              struct lull_notices *notices, struct lull_arena *arena,
                              struct lull_against *ret_against, struct lull_error *err);
void lull_against_close(struct lull_against *against);

/* What the measured run says of how it was disturbed, in *ret_disturbance; NULL: it was not. */
lull_status lull_against_disturbance(const struct lull_against *against, struct lull_arena *arena,
                                     const struct lull_disturbance **ret_disturbance,
                                     struct lull_error *err);

/* Compares. `predicted` is a run through `warp`, which was made of `origin`. Fails with
 * LULL_ERR_RANGE where the runs do not have the same ranks. */
lull_status lull_against_compare(struct lull_against *against, const struct lull_run *predicted,
                                 const struct lull_warp *warp, const struct lull_trace *origin,
                                 uint32_t application, struct lull_arena *arena,
                                 struct lull_error *err);

#endif
