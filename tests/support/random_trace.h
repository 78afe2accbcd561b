/* Random traces in memory, for tests of what reads events: definitions, and per location the
 * events in time order with everything that may occur among them. */
#ifndef LULL_TESTS_RANDOM_TRACE_H
#define LULL_TESTS_RANDOM_TRACE_H

#include "stats/random.h"
#include "trace/trace.h"

#include <stdbool.h>

struct random_location {
    struct lull_event *events;
    uint32_t count, capacity;
};

struct random_execution {
    int64_t begin, end;
};

/* Per process: the executions of parallel regions on its master, in order, not overlapping. */
struct random_process {
    struct random_execution *executions;
    uint32_t count;
};

struct random_trace {
    struct lull_trace *trace; /* owns nothing else */
    struct random_location *locations;
    struct random_process *processes;
};

struct random_trace_options {
    bool states;
    bool counters;
    uint32_t processes, threads, devices; /* at most; drawn from 1 (devices: 0) */
    int64_t duration;
};

enum { RANDOM_PARALLEL_REGIONS = 2 }; /* "parallel a", "parallel b": the first of the regions */

void random_trace_make(struct lull_random *random, const struct random_trace_options *options,
                       struct random_trace *ret_trace);
void random_trace_free(struct random_trace *made);

/* Random intervals of a process, sorted, apart from each other or touching; at most `most`. */
struct lull_interval;
uint32_t random_intervals(struct lull_random *random, int64_t duration, uint32_t most,
                          struct lull_interval *intervals);

#endif
