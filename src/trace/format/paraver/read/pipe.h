/* The lines of a file through several threads; internal to the Paraver format.
 *
 * The calling thread uses batches in the order of the file. The others take pieces of the file
 * apart, ahead of it, and so does the calling thread while the next batch is not there. Memory: a
 * few pieces per thread. */
#ifndef LULL_TRACE_FORMAT_PARAVER_READ_PIPE_H
#define LULL_TRACE_FORMAT_PARAVER_READ_PIPE_H

#include "trace/format/paraver/read/batch.h"

/* `line`: the number of the batch's first line in the file, from 1. `share` of the file that has
 * been read. Ends the reading when it fails; a bad item is for it to tell. */
typedef lull_status (*lull_prv_take)(void *context, const struct lull_prv_batch *batch,
                                     uint64_t line, double share, struct lull_error *err);

/* `again`: the file has been or will be read by another pass, which counts the quirks. */
lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err);

/* "<path>: line <n>: <what>", of a batch that ends with a bad item; or no memory. */
lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err);

/* Counts the times of the item that lay behind the end of the run. */
void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line);

#endif
