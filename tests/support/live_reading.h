/* What is read of a run while it is recorded, beside what a reading afterwards gives. */
#ifndef LULL_TESTS_LIVE_READING_H
#define LULL_TESTS_LIVE_READING_H

#include "trace/scan.h"
#include "trace/trace.h"

/* One location, read by a cursor. */
struct live_reading {
    struct lull_cursor *cursor;
    struct lull_event *events; /* malloc'd */
    size_t count, capacity;
    unsigned empty; /* looks at which there was nothing yet */
};

/* Opens a cursor on each location of a trace that is opened live; the test fails where that fails. */
struct live_reading *live_reading_begin(const struct lull_trace *live);
/* Reads all that is there of one location. `what`: what a failure begins with. */
enum lull_events_state live_reading_look(struct live_reading *reading, const char *what);
/* Fails unless a reading of the run at `path`, which has ended, gives the same events; samples are not
 * compared, because no live reading has them. */
void live_reading_compare(const char *path, const struct lull_trace *live,
                          struct live_reading *readings, const char *what);
void live_reading_end(const struct lull_trace *live, struct live_reading *readings);

#endif
