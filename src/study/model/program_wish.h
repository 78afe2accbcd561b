/* What users ask of program models. The texts are as the user typed them; results live in `arena`.
 * Functions fail with LULL_ERR_RANGE for what is not understood, and as files are read. */
#ifndef LULL_STUDY_MODEL_PROGRAM_WISH_H
#define LULL_STUDY_MODEL_PROGRAM_WISH_H

#include "model/program/simulate.h"
#include "model/program/sweep.h"
#include "study/runs.h"

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

#endif
