/* What `lull simulate` says: the result of one simulation, of a sweep, and what can be named. */
#ifndef LULL_VIEW_SIMULATION_DOCUMENT_H
#define LULL_VIEW_SIMULATION_DOCUMENT_H

#include "report/document.h"
#include "study/simulated.h"

/* Schema lull-simulate/1; `inputs` and `points` outlive the documents. `per_rank`: a row for every
 * rank, only with one point. */
struct lull_document *lull_simulate_one(const struct lull_simulate_inputs *inputs,
                                        const struct lull_simulate_point *points, bool per_rank,
                                        struct lull_arena *arena);
struct lull_document *lull_simulate_sweep(const struct lull_simulate_inputs *inputs,
                                          const struct lull_simulate_point *points,
                                          struct lull_arena *arena);

/* Networks, noises, patterns and placements with their parameters. */
struct lull_document *lull_simulate_list(struct lull_arena *arena);

#endif
