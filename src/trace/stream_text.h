/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a stream of a device, as a line of text, for formats that have no records for it. Example:
 *     context 1, in order 1, default 0, lost 0, clock error 35 ns, CUDA | pci:0000:01:00.0 | NVIDIA H100 */
#ifndef LULL_TRACE_STREAM_TEXT_H
#define LULL_TRACE_STREAM_TEXT_H

#include "trace/trace.h"

/* Of a location that has a lull_stream; the text lives in `arena`. */
const char *lull_stream_print(const struct lull_trace *trace, uint32_t location,
                              struct lull_arena *arena);

/* Gives a location of a device the stream that the text describes, with a device of its own; a text that is no such line,
 * and a location that is no stream of a device, are left alone. *capacity is that of trace->devices. Streams of one
 * device get the same one by lull_join_devices. */
void lull_stream_parse(struct lull_trace *trace, uint32_t location, const char *text,
                       size_t *capacity);

/* Makes one device of those that are the same on a node. Each stream has one of its own, whose node is set here. */
void lull_join_devices(struct lull_trace *trace);

#endif
