/* What recorded runs say about the terms of a program model. */
#ifndef LULL_STUDY_MODEL_PROGRAM_STUDY_H
#define LULL_STUDY_MODEL_PROGRAM_STUDY_H

#include "model/program/calibrate.h"
#include "model/program/simulate.h"
#include "model/program/sweep.h"
#include "study/runs.h"

/* ==== program wish ============================================================================ */

/* What users ask of program models. The texts are as the user typed them; results live in `arena`.
 * Functions fail with LULL_ERR_RANGE for what is not understood, and as files are read. */

/* A run as the user named it, with values that hold for it alone. */
struct lull_model_run_wish {
    const char *path;
    const char *const *settings; /* "L=500", NULL at the end; NULL: none */
};

/* NULL where nothing was said; lists end with NULL. */
struct lull_program_texts {
    /* "RUN,L=100,RUN2": pieces with '=' that are no files belong to the run before them. */
    const char *const *calibrate, *const *against;
    const char *confidence;   /* of intervals, in percent: 95 */
    const char *seed;         /* of what is simulated: 1 */
    int simulate;             /* is wanted */
    const char *network;      /* for it: a spec */
    const char *const *set;   /* "L=500" */
    const char *machine;      /* its file */
    const char *free;         /* names of parameters that a calibration finds, with commas; NULL:
                                 those that the model marks and the user has not set */
    const char *const *sweep; /* as lull_model_axis_read understands them; a parameter without a
                                 value gets the first of its axis */
};

struct lull_program_wish {
    const struct lull_model_axis *axes;
    size_t n_axes;
    const uint32_t *free; /* parameters to calibrate */
    size_t n_free;
    const struct lull_model_run_wish *calibrate, *against;
    uint32_t n_calibrate, n_against;
    double confidence;                /* of intervals */
    struct lull_model_engine *engine; /* NULL: nothing is simulated */
    struct lull_runs_options runs;    /* the caller's */
};

/* Sets what needs no model. */
lull_status lull_program_wish_read(const struct lull_program_texts *texts, struct lull_arena *arena,
                                   struct lull_program_wish *wish, struct lull_error *err);
/* Sets the rest, and values of the model. Notices say what the machine file does not know. */
lull_status lull_program_wish_apply(const struct lull_program_texts *texts,
                                    struct lull_program_model *model, struct lull_notices *notices,
                                    struct lull_arena *arena, struct lull_program_wish *wish,
                                    struct lull_error *err);

/* Runs that a model is derived from. */
struct lull_derive_wish {
    const char **paths; /* [count] */
    uint32_t count;
    const char *size_name; /* NULL: the size of the problem is not known */
    const double *sizes;   /* [count] */
};

/* Of "RUN,N=1000": a size behind every run, with one name, or behind none. */
lull_status lull_derive_wish_read(const char *const *texts, struct lull_arena *arena,
                                  struct lull_derive_wish *ret_wish, struct lull_error *err);

/* ==== program study =========================================================================== */

struct lull_model_run {
    const char *path, *name;
    double *values; /* [n_parameters]: of the model, with those of the run */
    uint32_t processes;
    double seconds;    /* of the whole run */
    double *terms;     /* [n_terms] seconds of a process in the term's regions, on average; NAN: it
                          names none, or none is in the run */
    bool has_messages; /* what follows is known */
    double messages, bytes;           /* between processes, of all */
    double collectives;               /* taken part in, of all */
    struct lull_term_cost *predicted; /* [n_terms], once predicted */
    double uncertainty;               /* of their sum, as lull_model_uncertainty says it */
};

struct lull_program_study {
    struct lull_program_model *model;
    struct lull_model_sweep sweep;
    struct lull_model_sensitivity *sensitivities; /* of the best variant at the last point */
    size_t n_sensitivities;
    const uint32_t *free; /* the parameters that were calibrated */
    size_t n_free;
    struct lull_calibration calibration;
    struct lull_model_run *against;
    uint32_t n_against;
    struct lull_model_simulation **simulations; /* [n_variants][n_points]; NULL: none */
};

/* Calibrates, evaluates, compares and simulates, in this order. A run's values are those of the
 * model with the processes and threads of the run and its own settings. Results live in `arena`. */
lull_status lull_program_study_make(struct lull_program_model *model,
                                    const struct lull_program_wish *wish,
                                    struct lull_notices *notices, struct lull_arena *arena,
                                    struct lull_program_study *ret_study, struct lull_error *err);

/* ==== processor time ========================================================================== */

/* How long threads had a core, of a run that was recorded with the counter processor-time: what a
 * computation takes by itself, however many others share its core. */

struct lull_processor_time {
    bool is_known;       /* else the run does not tell, and all is 0 */
    const double *waits; /* [n_regions of the trace] s of useful time directly inside in which
                            threads had no core, of all threads */
    const struct lull_trace *trace;
};

/* Of the whole run, what is between MPI_Init and MPI_Finalize, or the life of an application; not
 * known of another window.
 * Results live in `arena`. Fails as lull_trace_read_sums does. */
lull_status lull_processor_time_read(const struct lull_run *run, struct lull_arena *arena,
                                     struct lull_processor_time *ret_time, struct lull_error *err);

/* Seconds of the waits in regions of a name. */
double lull_processor_waits(const struct lull_processor_time *time, const char *region);

/* Useful seconds of a thread of the run's breakdown: with a core where that is known. */
double lull_useful_seconds(const struct lull_processor_time *time,
                           const struct lull_breakdown *breakdown, uint32_t thread);

#endif
