/* Scans a whole trace and checks what trace/trace.h, event.h and scan.h promise about every event:
 * order, nesting, extent, and that all indices and enumerations are in their ranges. */
#ifndef LULL_TESTS_CHECK_TRACE_H
#define LULL_TESTS_CHECK_TRACE_H

#include "trace/scan.h"

/* The status of the scan, or LULL_ERR_RANGE with the promise that was broken and its place in
 * *ret_broken (which is empty otherwise). */
lull_status check_trace(const struct lull_trace *trace, unsigned workers, struct lull_error *err,
                        struct lull_error *ret_broken);

#endif
