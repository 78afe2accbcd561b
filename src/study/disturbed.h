/* Whether a run was disturbed on purpose: else its times tell of the program. */
#ifndef LULL_STUDY_DISTURBED_H
#define LULL_STUDY_DISTURBED_H

#include "trace/trace.h"

/* One sentence without its end: with what, and what of it could not be done; NULL: it was not. In
 * `arena`. */
const char *lull_disturbed_describe(const struct lull_trace *trace, struct lull_arena *arena);

#endif
