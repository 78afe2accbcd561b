/* The scan of a format whose events are one sequence: the format walks its file in the calling
 * thread and delivers through a sink (trace/format/sink.h). Where several processes read it
 * (relay.h), the first does, and hands over the blocks of the others. Internal to the room. */
#ifndef LULL_TRACE_SCAN_PUSH_H
#define LULL_TRACE_SCAN_PUSH_H

#include "trace/scan.h"

lull_status lull_push_scan(const struct lull_trace *trace, const struct lull_scan_options *options,
                           uint64_t mask, const struct lull_visitor *visitor,
                           struct lull_error *err);

#endif
