/* SPDX-License-Identifier: BSD-3-Clause */
/* A program model carried out by the simulator, which shows what the closed form leaves out.
 *
 * Every rank executes the primitives of each term in turn, iteration after iteration: computations,
 * messages and collective operations by the algorithms that were named, noise as draws of its own.
 * A term that is not just the sum of its primitives, and one without primitives, becomes a
 * computation as long as the term. */
#ifndef LULL_MODEL_PROGRAM_SIMULATE_H
#define LULL_MODEL_PROGRAM_SIMULATE_H

#include "model/program/program_model.h"
#include "sim/memory.h"
#include "sim/network/network.h"
#include "sim/program.h"

struct lull_model_simulation {
    double seconds; /* from the start to the end of the last rank; of one iteration where the model
                       does not count them */
    double *terms;  /* [n_terms] seconds in the term, mean of the ranks */
    bool *as_computation; /* [n_terms] the term became a computation */
    uint32_t iterations;
};

/* A point as a program. */
struct lull_model_made {
    struct lull_program *program; /* one stream for each rank; its regions are the terms, and a mark
                                     with the number of a term says when that begins */
    const char *algorithms;       /* for struct lull_network, in the program's arena; NULL: none */
    const struct lull_memory *cores; /* how processes share cores; NULL: each has its own */
    uint32_t iterations;
};

/* Makes a program of the model with these values. ret_replaced[n_terms] says which terms became
 * computations. Fails with LULL_ERR_RANGE for processes, iterations and counts that are not whole
 * or too many, and where two primitives name different algorithms for one operation, or one names
 * an algorithm and the other does not; and as lull_model_evaluate. */
lull_status lull_model_make_program(struct lull_program_model *model, const double *values,
                                    uint64_t seed, bool *ret_replaced,
                                    struct lull_model_made *ret_made, struct lull_error *err);

/* How to simulate. */
struct lull_model_engine {
    const char *network;                /* spec; NULL: the machine's, or Hockney's model with the
                                           latency and bandwidth of the model */
    const struct lull_machine *machine; /* NULL: none */
    uint64_t seed;
};

/* Simulates a point; results live in `arena`. */
lull_status lull_model_simulate(struct lull_program_model *model, const double *values,
                                const struct lull_model_engine *engine, struct lull_arena *arena,
                                struct lull_model_simulation *ret_simulation,
                                struct lull_error *err);

#endif
