/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of the nesting of ENTER and LEAVE, and the check that time runs forward, for the events of
 * one location; internal to the trace room. */
#ifndef LULL_TRACE_NESTING_H
#define LULL_TRACE_NESTING_H

#include "trace/trace.h"

#include <stddef.h>

struct lull_nesting {
    uint32_t *open; /* stack of regions, malloc'd */
    size_t capacity;
    uint32_t depth;
    int64_t last_time; /* of the events so far */
    int64_t before;    /* the last time of the block before */
    int64_t call_end;  /* of the last CALL: before it, no region may begin or end */
    uint64_t hidden;   /* mask of ENTER or LEAVE, if the repair needs it and nobody asked for it */
    bool unordered;    /* messages may come out of order */
    bool cut_begin;    /* no region has been entered yet */
    bool left_out;     /* the location is damaged: all events from now on are dropped */
    bool tells_off;    /* MEASURE_OFF was asked for */
};

/* The kinds to read for a visitor who wants `mask`. The repair needs both ENTER and LEAVE, even
 * where only one of them is wanted. */
uint64_t lull_nesting_mask(uint64_t mask);

void lull_nesting_begin(struct lull_nesting *nesting, uint64_t mask, bool unordered);
void lull_nesting_end(struct lull_nesting *nesting); /* releases */

/* Memory for repaired events, malloc'd; the caller frees `events`. */
struct lull_event_buffer {
    struct lull_event *events;
    size_t capacity;
};

/* Repairs a block of events. Usually nothing is wrong, and *events and *count stay as they are.
 * Otherwise they become those of a repaired copy in *scratch, which grows as needed. Where time
 * runs backwards and the format leaves out damage (trace/format.h), the events end with
 * MEASURE_OFF, and all later blocks become empty. */
lull_status lull_nesting_repair(struct lull_nesting *nesting, const struct lull_trace *trace,
                                uint32_t location, const struct lull_event **events,
                                uint32_t *count, struct lull_event_buffer *scratch,
                                struct lull_error *err);

/* The location has ended: gives the LEAVE events of all regions that are still open, at the end of
 * the trace. They live in *scratch. */
lull_status lull_nesting_close_all(struct lull_nesting *nesting, const struct lull_trace *trace,
                                   uint32_t location, const struct lull_event **ret_events,
                                   uint32_t *ret_count, struct lull_event_buffer *scratch,
                                   struct lull_error *err);

#endif
