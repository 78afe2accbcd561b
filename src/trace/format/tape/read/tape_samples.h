/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the samples of a tape. */
#ifndef LULL_TRACE_FORMAT_TAPE_READ_TAPE_SAMPLES_H
#define LULL_TRACE_FORMAT_TAPE_READ_TAPE_SAMPLES_H

#include "trace/format/tape/read/tape_source.h"
#include "trace/format/tape/tape_data.h"
#include "trace/trace.h"

/* The samples of a location on their way to its stream, of which a few are in memory at a time. */
struct tape_samples;

/* *ret_samples is NULL where the location has none, and where they are damaged, which is told as a
 * quirk. `source` is the open file of the location's process, which outlives the samples; NULL: it is
 * opened for each part. */
lull_status lull_tape_samples_open(const struct lull_trace *trace, uint32_t location,
                                   struct lull_tape_source *source,
                                   struct tape_samples **ret_samples, struct lull_error *err);
/* The next sample, in order of time, as an event; NULL: there are no more. Valid until
 * lull_tape_samples_take. */
const struct lull_event *lull_tape_samples_next(struct tape_samples *samples);
void lull_tape_samples_take(struct tape_samples *samples);  /* goes on to the one behind */
void lull_tape_samples_close(struct tape_samples *samples); /* NULL is allowed */

/* As lull_trace_read_sampling. */
lull_status lull_tape_read_sampling(const struct lull_trace *trace, uint32_t location,
                                    struct lull_sampling *ret_sampling, struct lull_error *err);

/* As lull_trace_details_open and those behind it. */
lull_status lull_tape_details_open(const struct lull_trace *trace, uint32_t location,
                                   struct lull_sample_details **ret_details,
                                   struct lull_error *err);
lull_status lull_tape_detail_read(struct lull_sample_details *details, uint64_t number,
                                  struct lull_sample_detail *ret_detail, struct lull_error *err);
void lull_tape_details_close(struct lull_sample_details *details);

#endif
