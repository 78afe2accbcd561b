/* The breakdown from the sums that a recorder kept. Internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_SUMS_H
#define LULL_METRICS_BREAKDOWN_SUMS_H

#include "metrics/breakdown/breakdown.h"

/* For all locations of options->application; windows cannot be told. */
lull_status lull_breakdown_of_sums(const struct lull_trace *trace,
                                   const struct lull_breakdown_options *options,
                                   struct lull_arena *arena, struct lull_breakdown **ret_breakdown,
                                   struct lull_error *err);

#endif
