/* Whether two traces say the same: for tests that write a trace and read it back.
 *
 * Events are compared by what they name (region, communicator, state, counter and marker by name,
 * processes and locations by index), not by index of a definition. A CALL counts as its ENTER and
 * LEAVE. Order is compared among ENTER and LEAVE, and among all others; how the two interleave at
 * one and the same time is left open, as a CALL does not say it. A COUNTERS event counts as its
 * readings. */
#ifndef LULL_TESTS_SAME_TRACE_H
#define LULL_TESTS_SAME_TRACE_H

#include "trace/scan.h"

enum same_definitions { /* what to leave out of the comparison */
                        SAME_BUT_NODES = 1,
                        SAME_BUT_REGIONS = 2,
                        SAME_BUT_COMMS = 4,
                        SAME_BUT_COUNTERS = 8,
                        SAME_BUT_MARKERS = 16,
                        SAME_BUT_STATES = 32,
                        SAME_BUT_NAMES = 64, /* of processes and locations */
                        SAME_BUT_CLOCK = 128 /* resolution, error, real time, producer */
};

/* false: *ret_difference tells the first. */
bool same_definitions(const struct lull_trace *a, const struct lull_trace *b, unsigned but,
                      struct lull_error *ret_difference);

struct same_events_options {
    uint64_t mask;          /* kinds to compare; 0: all (CALL counts as ENTER and LEAVE) */
    int64_t tolerance;      /* of times and durations, ns */
    bool renumber_requests; /* requests need only fit each other, not have the same numbers */
    bool same_definitions;  /* that is known: events that are equal to the byte are the same */
};

bool same_events(const struct lull_trace *a, const struct lull_trace *b,
                 const struct same_events_options *options, struct lull_error *ret_difference);

/* The same for two sequences of one location, `a` of trace `ta`, and so on. */
struct same_sequence {
    const struct lull_trace *trace;
    const struct lull_event *events;
    size_t count;
};
bool same_sequences(const struct same_sequence *a, const struct same_sequence *b,
                    const struct same_events_options *options, struct lull_error *ret_difference);

/* All events of one location, by a cursor or from a scan with `workers` (then of all locations, an
 * array by location); readings are copied. Memory from `arena`. */
lull_status collect_by_cursor(const struct lull_trace *trace, uint32_t location, uint64_t mask,
                              struct lull_arena *arena, struct same_sequence *ret_sequence,
                              struct lull_error *err);
lull_status collect_by_scan(const struct lull_trace *trace, uint64_t mask, unsigned workers,
                            struct lull_arena *arena, struct same_sequence **ret_sequences,
                            struct lull_error *err);
/* From a scan with options; empty where a location is not read. */
lull_status collect_as(const struct lull_trace *trace, const struct lull_scan_options *options,
                       struct lull_arena *arena, struct same_sequence **ret_sequences,
                       struct lull_error *err);

#endif
