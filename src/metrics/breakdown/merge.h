/* The one form of a breakdown. Internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_MERGE_H
#define LULL_METRICS_BREAKDOWN_MERGE_H

#include "metrics/breakdown/breakdown.h"

/* The sum of `a` and `b` (NULL: nothing), copied into `arena`: processes by rank, threads by kind
 * and number, regions, counters and parallels by name, each once; window_ns, runtime_ns and
 * n_nodes derived from them. ret_joined may be one of the parts. */
lull_status lull_breakdown_join(const struct lull_breakdown *a, const struct lull_breakdown *b,
                                struct lull_arena *arena, struct lull_breakdown *ret_joined,
                                struct lull_error *err);

/* The sum of a thread's times: the length of its windows; negative where it overflows. */
int64_t lull_thread_window(const struct lull_thread_breakdown *thread);

#endif
