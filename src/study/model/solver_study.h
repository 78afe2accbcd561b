/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of a solver: what users ask of it (a wish, read from their texts), and its prediction on
 * a machine, also for several values of one of its parameters. Results live in an arena. */
#ifndef LULL_STUDY_MODEL_SOLVER_STUDY_H
#define LULL_STUDY_MODEL_SOLVER_STUDY_H

#include "model/solver/solver.h"
#include "study/notices.h"

struct lull_solver_wish {
    const char *path, *machine_path; /* of the description, and of the machine file */
    struct lull_solver_options options;
    const struct lull_solver_parameter *values; /* [n_values] that the user sets */
    size_t n_values;
    const char *swept;   /* name of the parameter that a sweep varies; NULL: no sweep */
    const double *sweep; /* [n_sweep] values of that parameter */
    size_t n_sweep;
};

/* The user's texts; NULL or 0 where nothing was said. */
struct lull_solver_texts {
    const char *const *values; /* "Nx=1000", NULL at the end */
    const char *sweep;         /* "Nx=100,1000" */
    int cores;
    const char *compiler; /* "gcc", "clang" */
    const char *barrier;  /* a time */
};

/* Sets values, sweep and options of *wish, whose contents live in `arena`. Fails with
 * LULL_ERR_RANGE for anything that is not understood. */
lull_status lull_solver_wish_read(const struct lull_solver_texts *texts, struct lull_arena *arena,
                                  struct lull_solver_wish *wish, struct lull_error *err);

/* One value of the parameter that a sweep goes over. */
struct lull_solver_sweep_point {
    double value;
    struct lull_solver_prediction prediction;
};

struct lull_solver_study {
    const struct lull_machine *machine;
    const char *machine_name;
    const struct lull_solver_prediction *prediction;
    const char *swept; /* name of the parameter that the sweep varies; NULL: no sweep */
    const struct lull_solver_sweep_point *sweep;
    size_t n_sweep;
};

/* Makes the study. Notices say what the machine file does not know. Fails as reading the machine
 * file and the description, and as the predictions fail. */
lull_status lull_solver_study_make(const struct lull_solver_wish *wish,
                                   struct lull_notices *notices, struct lull_arena *arena,
                                   struct lull_solver_study *ret_study, struct lull_error *err);

#endif
