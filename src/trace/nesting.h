/* Nesting repair and the check that time runs forward, for one location; internal. */
#ifndef LULL_TRACE_NESTING_H
#define LULL_TRACE_NESTING_H

#include "trace/trace.h"

#include <stddef.h>

struct lull_nesting {
    uint32_t *open; /* stack of regions, malloc'd */
    size_t capacity;
    uint32_t depth;
    int64_t last_time;
    int64_t before;   /* the last time of the block before */
    int64_t call_end; /* of the last CALL: before it, no region may begin or end */
    uint64_t hidden;  /* of ENTER and LEAVE, what is needed for the repair but was not asked for */
    bool unordered;   /* messages may come out of order */
    bool cut_begin;   /* no region has been entered yet */
    bool left_out;    /* what comes is behind a damage, and not taken */
    bool tells_off;   /* MEASURE_OFF was asked for */
};

/* The kinds to read for a visitor who wants `mask`: what one of ENTER and LEAVE is after the repair
 * only both can tell. */
uint64_t lull_nesting_mask(uint64_t mask);

void lull_nesting_begin(struct lull_nesting *nesting, uint64_t mask, bool unordered);
void lull_nesting_end(struct lull_nesting *nesting); /* releases */

/* Where a location is damaged and its format can do without it, its events end with MEASURE_OFF;
 * what comes later is dropped.
 *
 * Events in, events out: *events and *count are replaced by a repaired copy (in *scratch, grown
 * as needed, freed by the caller) where something had to be put right; usually they stay as
 * they are and nothing is copied. */
struct lull_event_buffer {
    struct lull_event *events;
    size_t capacity;
};
lull_status lull_nesting_repair(struct lull_nesting *nesting, const struct lull_trace *trace,
                                uint32_t location, const struct lull_event **events,
                                uint32_t *count, struct lull_event_buffer *scratch,
                                struct lull_error *err);

/* The LEAVE events, at the end of the trace, of all that is still open. */
lull_status lull_nesting_close_all(struct lull_nesting *nesting, const struct lull_trace *trace,
                                   uint32_t location, const struct lull_event **ret_events,
                                   uint32_t *ret_count, struct lull_event_buffer *scratch,
                                   struct lull_error *err);

#endif
