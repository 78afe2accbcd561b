/* A location that is read block by block, of formats that are pulled; internal. Scans and cursors
 * differ in which lane is next. */
#ifndef LULL_TRACE_SCAN_LANE_H
#define LULL_TRACE_SCAN_LANE_H

#include "trace/scan.h"
#include "trace/scan/nesting.h"

enum { LULL_LANE_EVENTS = 512 }; /* of a block of a scan */

/* What a block is read into: one for all lanes that are read in turn. */
struct lull_lane_room {
    struct lull_event_buffer scratch; /* for what is put right */
    size_t n_events;
    struct lull_event events[];
};

/* Zeroed before it is opened, and while it is not. */
struct lull_lane {
    const struct lull_trace *trace;
    void *stream;
    struct lull_nesting nesting; /* its last_time: of the last event so far */
    uint32_t location;
    bool ended;
};

struct lull_lane_room *lull_lane_room_create(size_t n_events); /* >= 64; NULL: no memory */
void lull_lane_room_destroy(struct lull_lane_room *room);      /* NULL is allowed */

lull_status lull_lane_open(struct lull_lane *lane, const struct lull_trace *trace,
                           uint32_t location, uint64_t mask, struct lull_error *err);
/* The next block, which may be empty, in `room`. Behind the last of the file one closes what is
 * open; then the lane has ended. */
lull_status lull_lane_next(struct lull_lane *lane, struct lull_lane_room *room,
                           struct lull_block *ret_block, struct lull_error *err);
/* The same, shown to a visitor, with its end. */
lull_status lull_lane_visit(struct lull_lane *lane, struct lull_lane_room *room,
                            const struct lull_visitor *visitor, unsigned worker,
                            struct lull_error *err);
void lull_lane_close(struct lull_lane *lane); /* also one that is not open */

/* Whether a scan with these options reads the location: it is in the range, and one of those that
 * are read of any range. */
bool lull_lane_is_wanted(const struct lull_trace *trace, const struct lull_scan_options *options,
                         uint32_t location);
bool lull_lane_is_selected(const struct lull_trace *trace, const struct lull_scan_options *options,
                           uint32_t location);

#endif
