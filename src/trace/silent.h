/* A trace that is read once more by a process which is not to count what is odd there, as others of
 * its team do. */
#ifndef LULL_TRACE_SILENT_H
#define LULL_TRACE_SILENT_H

#include "trace/trace.h"

/* The same trace, without quirks; the other one must outlive it. NULL: no memory. */
struct lull_trace *lull_trace_silent_create(const struct lull_trace *trace);
void lull_trace_silent_destroy(struct lull_trace *silent); /* NULL is allowed */

#endif
