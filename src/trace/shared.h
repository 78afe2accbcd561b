/* What is mutable in an open trace. Internal to the trace room. */
#ifndef LULL_TRACE_SHARED_H
#define LULL_TRACE_SHARED_H

#include "base/file.h"
#include "trace/trace.h"

#include <pthread.h>

enum { LULL_MOST_QUIRKS = 64 };

struct lull_trace_shared {
    pthread_mutex_t lock;
    struct lull_quirk quirks[LULL_MOST_QUIRKS];
    uint32_t n_quirks;
    uint32_t n_at_opening; /* of them, in the order in which they were found; the others are found
                              by scans */
    bool opened;
    /* A run may be read several times, and each scan finds the same again: what counts is the scan
     * that found most. Cursors add what no scan has found. */
    bool scans, scanned;
    uint64_t in_scan[LULL_MOST_QUIRKS]; /* of this scan, or the last one */
    uint64_t at_opening[LULL_MOST_QUIRKS];
    pthread_mutex_t convert_lock; /* held while the copy is made */
    /* A temporary tape with the same locations, for cursors on formats that cannot be read by
     * location; made by the first cursor. */
    struct lull_trace *by_location;
    struct lull_output *by_location_output;
};

/* A scan begins or ends. */
void lull_trace_set_scanning(const struct lull_trace *trace, bool scans);

#endif
