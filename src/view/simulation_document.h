/* SPDX-License-Identifier: BSD-3-Clause */
/* The documents of `lull simulate`: the result of one simulation, that of a sweep, and the list of
 * what specs can name. */
#ifndef LULL_VIEW_SIMULATION_DOCUMENT_H
#define LULL_VIEW_SIMULATION_DOCUMENT_H

#include "report/document.h"
#include "study/simulated.h"

/* "lull-simulate/1". `inputs` and `points` outlive the documents. `per_rank`: the document of one
 * point has a row for every rank. */
struct lull_document *lull_simulate_one(const struct lull_simulate_inputs *inputs,
                                        const struct lull_simulate_point *points, bool per_rank,
                                        struct lull_arena *arena);
struct lull_document *lull_simulate_sweep(const struct lull_simulate_inputs *inputs,
                                          const struct lull_simulate_point *points,
                                          struct lull_arena *arena);

/* Networks, noises, patterns and placements with their parameters. */
struct lull_document *lull_simulate_list(struct lull_arena *arena);

#endif
