/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace written in another format. */
#ifndef LULL_TRACE_CONVERT_H
#define LULL_TRACE_CONVERT_H

#include "trace/format.h"

/* Writes all events of `trace` to `path`; `replace` allows an existing output to be replaced.
 * `progress` (0 .. 1) may be NULL. */
lull_status lull_convert(const struct lull_trace *trace, const char *path,
                         const struct lull_format *format, bool replace,
                         void (*progress)(void *context, double share), void *progress_context,
                         struct lull_error *err);

#endif
