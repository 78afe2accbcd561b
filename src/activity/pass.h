/* SPDX-License-Identifier: BSD-3-Clause */
/* A pass: one reading of a run, for several consumers of steps at once.
 *
 * The calls for one location never overlap and come in order, so a consumer may keep a state per
 * location without a lock. Usually a worker stays with a process, and helps with another when all
 * are begun. If a consumer wants it (`abreast`), all locations of a process belong to one worker
 * from begin to end, and the worker reads its locations abreast: always the next block of events
 * of the location that lags most in time. So the steps that it has handed over of its locations
 * reach about the same time at any moment. Formats that hold all locations in one sequence
 * (Paraver) are read by one worker, in that sequence.
 *
 * Memory: an interpreter for each location that is being read (all of a worker's locations when
 * they are read abreast), a block of events and one of steps per worker, and what consumers keep.
 */
#ifndef LULL_ACTIVITY_PASS_H
#define LULL_ACTIVITY_PASS_H

#include "activity/reading.h"
#include "trace/scan.h"

/* How many workers a pass will have at most. */
unsigned lull_pass_workers(const struct lull_trace *trace, const struct lull_pass_options *options);
/* The number of the worker, below `workers`, that reads a process of the range, in a pass abreast.
 */
unsigned lull_pass_worker_of(const struct lull_trace *trace, struct lull_process_range range,
                             unsigned workers, uint32_t process);

/* Reads the run once and returns when all consumers have everything; options and consumers are
 * borrowed until then. Fails as lull_scan does, with the status of a consumer, and with
 * LULL_ERR_MEMORY, also where not all threads of a pass abreast can be started. */
lull_status lull_pass_run(const struct lull_trace *trace, const struct lull_pass_options *options,
                          const struct lull_consumer *consumers, uint32_t n_consumers,
                          struct lull_error *err);

/* A pass in parts, for lull_pass_run, which drives it with a scan, and for tests, which call it
 * themselves. begin, block and end are the functions of a visitor (trace/scan.h) whose context is
 * the pass; the rules for their calls are those of a visitor. `options` is copied; what it points
 * to and `consumers` must outlive the pass. `worker` < workers. */
struct lull_pass;
lull_status lull_pass_create(const struct lull_trace *trace,
                             const struct lull_pass_options *options, unsigned workers,
                             const struct lull_consumer *consumers, uint32_t n_consumers,
                             struct lull_pass **ret_pass, struct lull_error *err);
lull_status lull_pass_begin(void *pass, unsigned worker, uint32_t location, struct lull_error *err);
lull_status lull_pass_block(void *pass, unsigned worker, const struct lull_block *block,
                            struct lull_error *err);
lull_status lull_pass_end(void *pass, unsigned worker, uint32_t location, struct lull_error *err);
void lull_pass_destroy(struct lull_pass *pass); /* NULL is allowed */

/* A cursor pulls the steps of one location: for the replay, whose engine decides which location
 * goes on. */
struct lull_step_cursor; /* has a copy of the options and of their reading */
lull_status lull_step_cursor_open(const struct lull_trace *trace, uint32_t location, uint64_t wants,
                                  const struct lull_pass_options *options,
                                  struct lull_step_cursor **ret_cursor, struct lull_error *err);
/* The next steps; count 0: the end (END was the last). They live until the next call. */
lull_status lull_step_cursor_next(struct lull_step_cursor *cursor, struct lull_steps *ret_steps,
                                  struct lull_error *err);
void lull_step_cursor_close(struct lull_step_cursor *cursor); /* NULL is allowed */

#endif
