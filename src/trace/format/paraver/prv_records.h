/* SPDX-License-Identifier: BSD-3-Clause */
/* From the lines of a .prv to items: records taken apart in batches by several threads, and all
 * messages of a file in order of time; internal to the Paraver format. */
#ifndef LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H
#define LULL_TRACE_FORMAT_PARAVER_PRV_RECORDS_H

#include "trace/format/paraver/prv_batch.h"

#include <string.h>

/* ==== messages ================================================================================ */

struct lull_event lull_prv_message_event(const struct lull_trace *trace,
                                         const struct lull_prv_half *half);

/* All messages of a file. */
struct lull_prv_messages {
    struct lull_prv_location_messages {
        struct lull_prv_half *halves; /* malloc'd; sorted by time, receives first */
        size_t n, capacity;
    } * of_location; /* [n_locations], malloc'd */
    uint32_t n_locations;
};
lull_status lull_prv_messages_read(const struct lull_trace *trace, unsigned workers,
                                   struct lull_prv_messages *messages, struct lull_error *err);
void lull_prv_messages_free(struct lull_prv_messages *messages);

/* ==== pipe ==================================================================================== */

/* What is wanted of the lines. */
enum lull_prv_need { LULL_PRV_NEED_NOTHING, LULL_PRV_NEED_VALUE, LULL_PRV_NEED_READING };
struct lull_prv_wish {
    const struct lull_prv_types *types;
    const uint8_t *needs; /* per type, enum lull_prv_need */
    bool states, events;
    bool messages; /* in the order of the file */
    bool odd;      /* COMM and ODD items */
};

/* A pipe leads the lines of a file through several threads. The calling thread uses the batches in
 * the order of the file. The other threads fill batches ahead of it, and so does the calling thread
 * while the next batch is not there yet. Where states or events are wanted, lines of a thread that are
 * late by up to LULL_PRV_LATE_LINES lines come in order. Memory: a few pieces of the file per
 * thread, and so many lines. */

/* Takes a batch; `share` (0 .. 1) of the file has been read. A failure ends the reading. Bad items
 * are left to this function to report. */
typedef lull_status (*lull_prv_take)(void *context, const struct lull_prv_batch *batch,
                                     double share, struct lull_error *err);

/* Reads the whole file. `again`: another pass over the file counts the quirks, this one does
 * not. */
lull_status lull_prv_pipe_run(const struct lull_trace *trace, bool again, unsigned workers,
                              const struct lull_prv_wish *wish, lull_prv_take take, void *context,
                              struct lull_error *err);

/* Fails with "<path>: line <n>: <what>" for a batch that ends with a bad item, or for no memory. */
lull_status lull_prv_bad_batch(const struct lull_trace *trace, const struct lull_prv_batch *batch,
                               uint64_t line, struct lull_error *err);

/* Counts the times of the item that lay behind the end of the run as quirks. */
void lull_prv_tell_late(const struct lull_trace *trace, const struct lull_prv_item *item,
                        uint64_t line);

#endif
