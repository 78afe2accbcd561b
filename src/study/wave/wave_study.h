/* Idle waves as they should be, as they are simulated, and as they were measured. */
#ifndef LULL_STUDY_WAVE_WAVE_STUDY_H
#define LULL_STUDY_WAVE_WAVE_STUDY_H

#include "study/notices.h"
#include "study/runs.h"
#include "study/simulated.h"
#include "wave/raster.h"

/* What a wave should be. Times in ns; NAN: not known. */
struct lull_wave_prediction {
    uint32_t rank;                         /* that is delayed */
    int32_t iteration;                     /* in which */
    double length;                         /* of the delay */
    double kappa_up, kappa_down;           /* ranks per iteration, by the rule */
    struct lull_wave_value up, down;       /* ranks per iteration, by the graph from that rank on */
    double up_per_second, down_per_second; /* the same over T + mu */
    double up_most, down_most;             /* the speed of a wave that reaches all at once */
    double decay;                          /* ns per rank: (T_cyc - T - mu) / kappa; NAN where
                                              ranks share memory */
    double survival;                       /* ranks: length / decay, infinite on a silent system */
};

/* A run in which waves were looked for. Graph and waves live in the arena of whoever made it. */
struct lull_wave_scene {
    const char *name; /* "simulated", "measured", "replayed" */
    struct lull_wave_collector *collector;
    const struct lull_wave_field *field;
    const struct lull_wave_graph *graph;
    struct lull_waves waves;
    const struct lull_wave_raster *raster; /* of them; NULL: none */
    int64_t runtime;                       /* ns */
};

void lull_wave_scene_close(struct lull_wave_scene *scene);

/* The prediction of a delay, from what is known of a scene. `comm_and_work` is what an iteration of
 * the delayed front costs (T + mu), `cycle` that of an undisturbed rank (T_cyc). */
lull_status lull_wave_prediction_make(const struct lull_wave_graph *graph, uint32_t rank,
                                      int32_t iteration, double length, double comm_and_work,
                                      double cycle, struct lull_arena *arena,
                                      struct lull_wave_prediction *ret_prediction,
                                      struct lull_error *err);

/* ---- patterns ---------------------------------------------------------------------------------
 */

struct lull_wave_inputs {
    struct lull_simulate_inputs simulate; /* with a pattern; tape: only with one point */
    uint32_t repeat;                      /* how often, with other seeds; >= 1 */
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
    const char *note; /* what the machine lacks for this; NULL */
    struct lull_wave_prediction predicted;
    struct lull_wave_scene scene;     /* of the first run; of a sweep only its numbers are left */
    struct lull_wave_repeat *repeats; /* [inputs->repeat] */
    struct lull_wave_value up, down, decay; /* of the first run or, repeated, means over the runs */
    double cost;                            /* ns, mean */
    double cycle_silent;                    /* T, ns: an iteration without noise */
    double cycle;                           /* T_cyc, ns: with noise */
    double noise_mean, noise_sd;            /* of a computation, ns */
    bool collective_only; /* ranks exchange no messages but in collective operations: no waves */
    double delayed;       /* then: share of the other ranks that end later because of the delay */
    double delayed_mean; /* the same, as a mean over all ranks as the delayed one; NAN: not asked */
    struct lull_arena *arena; /* of the scene */
    lull_status status;
    bool usage; /* the failure is one of what the user typed */
    struct lull_error err;
};

/* Simulates all points of the sweep, without delays and with them, on `workers` threads. A case is
 * complete when its status is LULL_OK; cases are [n_points], zeroed. */
void lull_wave_simulate(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases,
                        unsigned workers, struct lull_arena *arena);
void lull_wave_cases_release(const struct lull_wave_inputs *inputs, struct lull_wave_case *cases);

/* ---- recorded runs ----------------------------------------------------------------------------
 */

struct lull_wave_run_options {
    uint32_t application;
    const char *marker; /* that begins iterations; NULL: they are found in the messages */
    bool force, no_replay;
    struct lull_wave_options options;
    /* Reads the run together: others than the first know nothing then. NULL: alone. */
    struct lull_team *team;
    const struct lull_study_progress *progress;
};

struct lull_wave_run {
    struct lull_runs runs;          /* the run, where it was read for replays; else none ... */
    struct lull_trace *alone;       /* ... and it is this; NULL: it is that */
    struct lull_division *division; /* who of a team read what; NULL: alone */
    bool replays;                   /* it was replayed, or that was tried */
    bool shared;                    /* by all members of the team; else, of some, by the first */

    struct lull_wave_scene measured, replayed; /* replayed: without collector where there is none */
    const struct lull_wave_prediction *predicted; /* [measured.waves.count] */
    double *costs;          /* ns: how much longer the replay is with each wave; NAN: not known */
    int64_t replay_runtime; /* ns; 0: was not replayed */
};

/* Reads a run and looks for its waves; then it is replayed, as it was and without the delay of each
 * wave, unless that is not wanted or not possible (a notice says why). Ends with
 * lull_wave_run_close in either case. */
lull_status lull_wave_run_make(const char *path, const struct lull_wave_run_options *options,
                               struct lull_notices *notices, struct lull_arena *arena,
                               struct lull_wave_run *ret_run, struct lull_error *err);
const struct lull_trace *lull_wave_run_trace(const struct lull_wave_run *run);
void lull_wave_run_close(struct lull_wave_run *run);

#endif
