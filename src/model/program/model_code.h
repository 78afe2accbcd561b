/* SPDX-License-Identifier: BSD-3-Clause */
/* The Lua side of a program model: the functions that its file has returned, and what they are
 * asked for. Internal to src/model/program. */
#ifndef LULL_MODEL_PROGRAM_MODEL_CODE_H
#define LULL_MODEL_PROGRAM_MODEL_CODE_H

#include "model/program/primitives.h"
#include "model/sandbox.h"

/* A number, a parameter, or a function of the parameters. */
struct lull_model_number {
    bool is_given;
    double value;
    uint32_t parameter; /* LULL_MODEL_NONE: none */
    int function;       /* reference, LUA_NOREF: none */
};

struct lull_term_code {
    int function;                   /* reference in Lua's registry */
    struct lull_model_number every; /* iterations from one execution of the term to the next */
    enum lull_resource resource;    /* what the time of a term without primitives is spent on */
};

struct lull_model_code {
    struct lull_sandbox *sandbox;
    struct lull_tally tally;
    struct lull_outside outside;
    struct lull_term_code *terms; /* [n_terms] */
    struct lull_model_number work, cores, uncertainty;
    struct lull_model_number latency, bandwidth; /* of messages that do not say their own */
    int point;    /* reference to the table of parameters that is the argument of all functions */
    double *last; /* [n_parameters]: the values that this table holds now */
};

/* Evaluates one execution of one term, as lull_model_evaluate does, and returns its seconds and its
 * operations, which live in `arena`. */
lull_status lull_model_record(struct lull_program_model *model, const double *values, uint32_t term,
                              struct lull_arena *arena,
                              struct lull_model_operation **ret_operations, size_t *ret_count,
                              double *ret_seconds, struct lull_error *err);
/* How many iterations lie between two executions of a term; 1 for each, 0: the term never runs. */
lull_status lull_model_every(struct lull_program_model *model, const double *values, uint32_t term,
                             double *ret_every, struct lull_error *err);

/* Latency (s) and bandwidth (B/s) of messages that do not say their own; NAN: the model has none.
 */
lull_status lull_model_network(struct lull_program_model *model, const double *values,
                               double *ret_latency, double *ret_bandwidth, struct lull_error *err);

/* The number of processes on the core that has most of them; at least 1. */
lull_status lull_model_share(struct lull_program_model *model, const double *values,
                             double *ret_share, struct lull_error *err);

#endif
