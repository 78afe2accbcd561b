/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of a program model: what users ask of it (a wish, read from their texts), its
 * calibration with recorded runs, its evaluation, its comparison with other recorded runs, and its
 * simulation. Results live in an arena. */
#ifndef LULL_STUDY_MODEL_PROGRAM_STUDY_H
#define LULL_STUDY_MODEL_PROGRAM_STUDY_H

#include "model/program/calibrate.h"
#include "model/program/simulate.h"
#include "model/program/sweep.h"
#include "study/runs.h"

/* ==== the wish ================================================================================ */

/* The texts are as the user typed them. Functions fail with LULL_ERR_RANGE for what is not
 * understood, and as reading a file fails. */

/* A run as the user named it, with values of parameters that hold for this run alone. */
struct lull_model_run_wish {
    const char *path;
    const char *const *settings; /* "L=500", NULL at the end; NULL: none */
};

/* NULL where nothing was said; lists end with NULL. */
struct lull_program_texts {
    /* "RUN,L=100,RUN2": pieces with '=' that are no files belong to the run before them. */
    const char *const *calibrate, *const *against;
    const char *confidence;   /* of intervals, in percent; not said: 95 */
    const char *seed;         /* of the simulation; not said: 1 */
    int simulate;             /* a simulation is wanted */
    const char *network;      /* spec of its network */
    const char *const *set;   /* "L=500" */
    const char *machine;      /* path of a machine file */
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
    struct lull_runs_options runs;    /* how runs are read; set by the caller */
};

/* Sets those parts of *wish that can be read without the model. */
lull_status lull_program_wish_read(const struct lull_program_texts *texts, struct lull_arena *arena,
                                   struct lull_program_wish *wish, struct lull_error *err);
/* Sets all other parts of *wish, and the values of the model's parameters that the texts give.
 * Notices say what the machine file does not know. */
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

/* Reads texts like "RUN,N=1000". Either every run has a size behind it, all under the same name, or
 * none has one. */
lull_status lull_derive_wish_read(const char *const *texts, struct lull_arena *arena,
                                  struct lull_derive_wish *ret_wish, struct lull_error *err);

/* ==== the study =============================================================================== */

/* A recorded run beside the model. */
struct lull_model_run {
    const char *path, *name;
    double *values; /* [n_parameters]: those of the model, replaced by those of the run */
    uint32_t processes;
    double seconds;    /* of the whole run */
    double *terms;     /* [n_terms] seconds of a process in the term's regions, on average; NAN: the
                          term names no regions, or the run has none of them */
    bool has_messages; /* the next three numbers are known */
    double messages, bytes;           /* from one process to another, all processes together */
    double collectives;               /* operations taken part in, added up over all processes */
    struct lull_term_cost *predicted; /* [n_terms], once predicted */
    double uncertainty;               /* of the sum of the terms, as lull_model_uncertainty says */
};

struct lull_program_study {
    struct lull_program_model *model;
    struct lull_model_sweep sweep;
    struct lull_model_sensitivity *sensitivities; /* of the best variant at the last point */
    size_t n_sensitivities;
    const uint32_t *free; /* [n_free] the parameters that were calibrated */
    size_t n_free;
    struct lull_calibration calibration;
    struct lull_model_run *against; /* [n_against] runs that the model is compared with */
    uint32_t n_against;
    struct lull_model_simulation **simulations; /* [n_variants][n_points]; NULL: none */
};

/* Calibrates, evaluates, compares and simulates, in this order. For a recorded run the model's
 * values are replaced by the processes and threads of the run and by its settings. Results live in
 * `arena`. */
lull_status lull_program_study_make(struct lull_program_model *model,
                                    const struct lull_program_wish *wish,
                                    struct lull_notices *notices, struct lull_arena *arena,
                                    struct lull_program_study *ret_study, struct lull_error *err);

/* ==== processor time ========================================================================== */

/* In a run that was recorded with the counter processor-time it is known how long threads had a
 * core. With that, a computation's time is what it takes by itself, however many others share its
 * core. */

struct lull_processor_time {
    bool is_known;       /* else the run does not tell, and everything is 0 */
    const double *waits; /* [n_regions of the trace]: seconds of useful time directly inside the
                            region in which threads had no core, summed over all threads */
    const struct lull_trace *trace;
};

/* The processor time of the part of the run that was analysed, if that is the whole run, what is
 * between MPI_Init and MPI_Finalize, or the life of an application; it is not known for any other
 * window. Results live in `arena`. Fails as lull_trace_read_sums does. */
lull_status lull_processor_time_read(const struct lull_run *run, struct lull_arena *arena,
                                     struct lull_processor_time *ret_time, struct lull_error *err);

/* Seconds of `waits`, summed over all regions with this name. */
double lull_processor_waits(const struct lull_processor_time *time, const char *region);

/* Useful seconds of a thread of the run's breakdown; where it is known, only those in which the
 * thread had a core. */
double lull_useful_seconds(const struct lull_processor_time *time,
                           const struct lull_breakdown *breakdown, uint32_t thread);

#endif
