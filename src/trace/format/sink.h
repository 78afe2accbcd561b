/* Where a format that is read in one sequence delivers: the scan's side of struct lull_reader's
 * drive(). */
#ifndef LULL_TRACE_FORMAT_SINK_H
#define LULL_TRACE_FORMAT_SINK_H

#include "trace/event.h"

#include "base/error.h"

struct lull_sink;

/* Events of one location, in its order; `events` must stay valid during the call only. Ends the
 * reading when it fails. */
lull_status lull_sink_block(struct lull_sink *sink, uint32_t location,
                            const struct lull_event *events, uint32_t count,
                            struct lull_error *err);

/* Reports progress (0 .. 1); call it every megabyte or so. */
void lull_sink_progress(struct lull_sink *sink, double share);

/* How many threads may work for this reading, >= 1; events are delivered by the calling one. */
unsigned lull_sink_workers(const struct lull_sink *sink);

#endif
