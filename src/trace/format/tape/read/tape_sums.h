/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the sums of a tape. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_SUMS_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_SUMS_H

#include "trace/format/tape/tape_data.h"
#include "trace/trace.h"

/* When a location began and ended, in ticks of its process's clock; both 0: no thread began
 * there. */
lull_status lull_tape_sums_life(const struct lull_trace *trace, const struct lull_tape_file *file,
                                uint64_t *ret_begin, uint64_t *ret_end, struct lull_error *err);

/* As lull_trace_read_sums. */
lull_status lull_tape_read_sums(const struct lull_trace *trace, uint32_t location,
                                struct lull_arena *arena, struct lull_sums *ret_sums,
                                struct lull_error *err);

#endif
