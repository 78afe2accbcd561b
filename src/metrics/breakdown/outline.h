/* A breakdown before its numbers; internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_OUTLINE_H
#define LULL_METRICS_BREAKDOWN_OUTLINE_H

#include "metrics/breakdown/breakdown.h"

/* A breakdown that has the processes, threads and counters of an application, and no times. */
struct lull_breakdown *lull_breakdown_outline(const struct lull_trace *trace, uint32_t application,
                                              struct lull_arena *arena);

#endif
