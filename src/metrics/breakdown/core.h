/* The state machine behind a breakdown: blocks of events in, sums per thread out.
 *
 * lull_breakdown_compute drives it with a scan; tests feed it by hand. begin, block and end have
 * the shape of a lull_visitor's functions (context: the core) and its rules: the calls for one
 * location never overlap, those for different locations may. Internal to the room. */
#ifndef LULL_METRICS_BREAKDOWN_CORE_H
#define LULL_METRICS_BREAKDOWN_CORE_H

#include "metrics/breakdown/breakdown.h"

struct lull_core;

/* For all locations of options->application. `workers` bounds the worker numbers that follow. */
lull_status lull_core_create(const struct lull_trace *trace,
                             const struct lull_breakdown_options *options, unsigned workers,
                             struct lull_core **ret_core, struct lull_error *err);
void lull_core_destroy(struct lull_core *core); /* NULL is allowed */

lull_status lull_core_begin(void *core, unsigned worker, uint32_t location, struct lull_error *err);
lull_status lull_core_block(void *core, unsigned worker, const struct lull_block *block,
                            struct lull_error *err);
lull_status lull_core_end(void *core, unsigned worker, uint32_t location, struct lull_error *err);

/* A breakdown that has the processes, threads and counters of an application, and no times. */
struct lull_breakdown *lull_core_outline(const struct lull_trace *trace, uint32_t application,
                                         struct lull_arena *arena);

/* The sums of all locations, once each has been begun and ended; copied into `arena`. */
lull_status lull_core_result(struct lull_core *core, struct lull_arena *arena,
                             struct lull_breakdown **ret_breakdown, struct lull_error *err);

#endif
