/* A trace whose locations do not go alike, and what is told of the progress with one. */
#ifndef LULL_TESTS_UNEVEN_TRACE_H
#define LULL_TESTS_UNEVEN_TRACE_H

#include "trace/trace.h"

#include <stdbool.h>

enum { PROCESSES = 5, THREADS = 3, LOCATIONS = PROCESSES * THREADS, EVENTS = 20000 };

/* Events of different distances, so that locations reach the same time after different numbers of
 * blocks; processes 3 and 4 are another application. */
struct lull_trace *uneven_trace(void);

struct progress_seen {
    double last;
    unsigned calls;
    bool backwards, outside; /* of 0 to 1 */
};

/* A progress function whose context is a struct progress_seen. */
void see_progress(void *context, double share);

#endif
