/* SPDX-License-Identifier: BSD-3-Clause */
/* Making the windows that a pass analyses (activity/reading.h): from an interval of time, or from a
 * region. */
#ifndef LULL_METRICS_WINDOWS_H
#define LULL_METRICS_WINDOWS_H

#include "activity/pass.h"
#include "team/division.h"
#include "trace/scan.h"

/* The same interval for all processes, clipped to the run; LULL_ERR_RANGE if nothing is left. */
lull_status lull_windows_of_time(const struct lull_trace *trace, int64_t from, int64_t to,
                                 struct lull_arena *arena, struct lull_windows **ret_windows,
                                 struct lull_error *err);

/* Windows of each process: when its master thread is inside the region called `name` (outermost
 * visits). LULL_ERR_RANGE when no process ever enters it; the message lists similar names. A member
 * of a team (NULL: alone) gets the windows of its own processes. */
lull_status lull_windows_of_region(const struct lull_trace *trace, const char *name,
                                   const struct lull_division *division, struct lull_arena *arena,
                                   struct lull_windows **ret_windows, struct lull_error *err);

/* The processes that this member of a team reads. */
struct lull_process_range lull_pass_range(const struct lull_division *division);

/* The readings of a process's memory that lie in its windows (NULL: all). Where these are not all, they are a copy in
 * `arena`. */
const struct lull_memory_reading *lull_windows_readings(const struct lull_windows *windows,
                                                        const struct lull_trace *trace,
                                                        uint32_t process, struct lull_arena *arena,
                                                        uint32_t *ret_count);

/* The time that lies in windows of both `a` and `b`. */
struct lull_windows *lull_windows_intersect(const struct lull_windows *a,
                                            const struct lull_windows *b, struct lull_arena *arena);

#endif
