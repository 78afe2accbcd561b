/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of idle waves: as they should be by the rule (predicted), as they are simulated with a
 * pattern, and as they were measured in a recorded run and in its replay. */
#ifndef LULL_STUDY_WAVE_WAVE_STUDY_H
#define LULL_STUDY_WAVE_WAVE_STUDY_H

#include "study/notices.h"
#include "study/runs.h"
#include "study/simulated.h"
#include "wave/raster.h"

/* What a wave should be like. Times are in ns; NAN: not known. */
struct lull_wave_prediction {
    uint32_t rank;                         /* the rank that is delayed */
    int32_t iteration;                     /* the iteration in which it is delayed */
    double length;                         /* of the delay */
    double kappa_up, kappa_down;           /* ranks per iteration, by the rule */
    struct lull_wave_value up, down;       /* ranks per iteration, in the graph of messages from the
                                              delayed rank on */
    double up_per_second, down_per_second; /* ranks per second: the latter divided by T + mu */
    double up_most, down_most;             /* the speed of a wave that reaches all ranks at once */
    double decay;                          /* ns per rank: (T_cyc - T - mu) / kappa; NAN where
                                              ranks share memory */
    double survival; /* how many ranks the wave reaches: length / decay; infinite without noise */
};

/* A run in which waves were looked for. Graph and waves live in the arena of whoever made it. */
struct lull_wave_scene {
    const char *name; /* "simulated", "measured", "replayed" */
    struct lull_wave_collector *collector;
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    struct lull_waves waves;
    const struct lull_wave_raster *raster; /* of the waves; NULL: none */
    int64_t runtime;                       /* ns */
};

void lull_wave_scene_close(struct lull_wave_scene *scene);

/* Predicts the wave of a delay. `comm_and_work` is how long an iteration at the front of the wave
 * takes (T + mu), `cycle` how long one of an undisturbed rank takes (T_cyc). */
lull_status lull_wave_prediction_make(const struct lull_wave_graph *graph, uint32_t rank,
                                      int32_t iteration, double length, double comm_and_work,
                                      double cycle, struct lull_arena *arena,
                                      struct lull_wave_prediction *ret_prediction,
                                      struct lull_error *err);

/* ---- patterns ------------------------------------------------------------------------------- */

struct lull_wave_inputs {
    struct lull_simulate_inputs simulate; /* with a pattern; tape: only with one point */
    uint32_t repeat;                      /* how often each point is simulated, each time with
                                             another seed; >= 1 */
    struct lull_wave_options options;
};

/* The wave of the first delay in one of the repeated runs. */
struct lull_wave_repeat {
    uint64_t seed;
    bool found;
    struct lull_wave_value up, down, decay;
    int64_t cost; /* ns: by how much the run is longer than without the delays */
};

struct lull_wave_case {
    const char *texts[LULL_SIMULATE_SPECS];
    const char *note; /* what the machine file lacks for this point; NULL: nothing */
    struct lull_wave_prediction predicted;
    struct lull_wave_scene scene;     /* of the first run; in a sweep only its numbers are left */
    struct lull_wave_repeat *repeats; /* [inputs->repeat] */
    struct lull_wave_value up, down, decay; /* means over the repeated runs; of a single run its
                                               values with their intervals */
    double cost;                            /* ns, mean over the repeated runs */
    double cycle_silent;                    /* T, ns: an iteration without noise */
    double cycle;                           /* T_cyc, ns: an iteration with noise */
    double noise_mean, noise_sd;            /* of a computation, ns */
    bool collective_only; /* ranks exchange messages only in collective operations: no waves */
    double delayed;       /* collective_only: share of the other ranks that end later because of the
                             delay */
    double delayed_mean;  /* collective_only: mean of that share if each rank in turn is the delayed
                             one; NAN: not asked for */
    struct lull_arena *arena; /* of the scene */
    lull_status status;
    bool usage; /* the failure lies in what the user typed */
    struct lull_error err;
};

/* Simulates all points of the sweep, each without delays and with them, on `workers` threads.
 * `cases` has room for all points and is zeroed. A case is complete when its status is LULL_OK. */
void lull_wave_simulate(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases,
                        unsigned workers, struct lull_arena *arena);
void lull_wave_cases_release(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases);

/* ---- recorded runs -------------------------------------------------------------------------- */

struct lull_wave_run_options {
    uint32_t application;
    const char *marker; /* a region that begins iterations; NULL: iterations are found in the
                           messages */
    bool force, no_replay;
    struct lull_wave_options options;
    /* Its members read the run together; only the first has results then. NULL: no team. */
    struct lull_team *team;
    const struct lull_study_progress *progress;
};

struct lull_wave_run {
    struct lull_runs runs;    /* holds the run, if that was read for replays; else empty, and
                                       the run's trace is `alone` */
    struct lull_trace *alone; /* NULL: the run is in `runs` */
    const struct lull_division *division; /* which member of a team reads what; NULL: no team */
    bool replays;                         /* the run was replayed, or that was tried */
    bool shared; /* all replays were made by all members of the team; else the first made some alone
                  */
    struct lull_wave_scene measured, replayed;    /* replayed.collector is NULL without a replay */
    const struct lull_wave_prediction *predicted; /* [measured.waves.count] */
    double *costs;          /* ns: how much longer the replay is with each wave; NAN: not known */
    int64_t replay_runtime; /* ns; 0: the run was not replayed */
};

/* Reads a run and looks for its waves. Then replays the run as it was and without the delay of each
 * wave, unless that is not wanted or not possible; a notice says why. Ends with
 * lull_wave_run_close, whether it fails or not. */
lull_status lull_wave_run_make(const char *path, const struct lull_wave_run_options *options,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_wave_run *ret_run, struct lull_error *err);
const struct lull_trace *lull_wave_run_trace(const struct lull_wave_run *run);
void lull_wave_run_close(struct lull_wave_run *run);

#endif
