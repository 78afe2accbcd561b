/* The iterations of ranks: how long each took and how long it waited, where they can be found. */
#ifndef LULL_STUDY_REPORT_ITERATIONS_H
#define LULL_STUDY_REPORT_ITERATIONS_H

#include "study/joint_pass.h"
#include "wave/field.h"

/* Rides on a pass beside others. Its memory grows with the calls of MPI that wait, so that it gives
 * up after so many spans, or calls, of master threads. */
#define LULL_ITERATIONS_MOST UINT64_C(4000000)

struct lull_iterations;
/* `calls_in_full`: another consumer of the pass wants CALL_BEGINs; else SPANs are calls, and those
 * that take no time at all are none. */
lull_status lull_iterations_create(const struct lull_trace *trace, uint32_t application,
                                   bool calls_in_full, struct lull_iterations **ret_iterations,
                                   struct lull_error *err);
struct lull_consumer lull_iterations_consumer(struct lull_iterations *iterations);
/* Behind a pass that a team has shared, by all of its members, before the conclusion: the first has
 * those of all ranks then. NULL: alone. */
lull_status lull_iterations_gather(struct lull_iterations *iterations,
                                   const struct lull_division *division, struct lull_error *err);
/* The field, or why there is none in *ret_absent, one sentence in `arena`. */
const struct lull_wave_field *lull_iterations_conclude(struct lull_iterations *iterations,
                                                       struct lull_arena *arena,
                                                       const char **ret_absent);
void lull_iterations_destroy(struct lull_iterations *iterations); /* NULL is allowed */

#endif
