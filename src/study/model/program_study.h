/* What recorded runs say about the terms of a program model. */
#ifndef LULL_STUDY_MODEL_PROGRAM_STUDY_H
#define LULL_STUDY_MODEL_PROGRAM_STUDY_H

#include "model/program/calibrate.h"
#include "study/model/program_wish.h"

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

#endif
