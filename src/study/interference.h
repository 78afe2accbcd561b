/* Whether the threads of a run had their cores to themselves: else its times tell of the machine.
 */
#ifndef LULL_STUDY_INTERFERENCE_H
#define LULL_STUDY_INTERFERENCE_H

#include "trace/trace.h"

/* ==== cores =================================================================================== */

/* The cores that the threads of a run might use, of all nodes; 0: the trace does not tell. */
uint32_t lull_cores_of(const struct lull_trace *trace, struct lull_arena *arena);

/* One sentence where threads could have run and had no core for more than 5 % of the time: how
 * many, which most, and whether the run's own threads or others had the cores. NULL: none had, or
 * the trace does not tell. In `arena`. */
const char *lull_cores_describe(const struct lull_trace *trace, struct lull_arena *arena);

/* What that has to do with a replay that is shorter than the run, as a sentence with a space before
 * it; "" where all had their cores, the trace does not tell, or the replay is not shorter. */
const char *lull_cores_excuse(const struct lull_trace *trace, bool shorter,
                              struct lull_arena *arena);

/* ==== disturbed =============================================================================== */

/* Whether a run was disturbed on purpose: else its times tell of the program. */

/* One sentence without its end: with what, and what of it could not be done; NULL: it was not. In
 * `arena`. */
const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena);

#endif
