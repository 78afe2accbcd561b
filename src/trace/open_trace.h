/* What is mutable in an open trace. Internal to the trace room. */
#ifndef LULL_TRACE_OPEN_TRACE_H
#define LULL_TRACE_OPEN_TRACE_H

#include "base/file.h"
#include "trace/scan.h"
#include "trace/trace.h"

#include <pthread.h>

/* How many quirks of one kind were found, by whom. */
struct lull_quirk_counts {
    uint64_t at_opening;
    uint64_t by_tally;                      /* the one that counted most */
    uint64_t elsewhere;                     /* as by cursors */
    uint64_t told_by_tally, told_elsewhere; /* of them, what was packed */
};

/* A temporary tape with the same locations, for cursors on formats that cannot be read by location.
 */
struct lull_copy {
    struct lull_trace *trace; /* NULL: there is none */
    struct lull_output *output;
    struct lull_process_range range; /* of which it has events */
};

struct lull_trace_shared {
    pthread_mutex_t lock;
    bool *left_out; /* per location, malloc'd; NULL: none is */
    uint32_t n_left_out;
    struct lull_quirk quirks[LULL_MOST_QUIRKS]; /* without counts */
    struct lull_quirk_counts counts[LULL_MOST_QUIRKS];
    uint32_t n_quirks;
    uint32_t n_at_opening; /* of them, in the order in which they were found; the others are found
                              later */
    bool opening;
    const struct lull_exchange *exchange; /* while it is opened by several; else NULL */
    const struct lull_relay *relay;       /* where its events are one sequence; NULL: alone */
    pthread_mutex_t copy_lock;            /* held while a copy is made */
    struct lull_copy whole, part;         /* made by the first cursor; by lull_cursors_prepare */
};

void lull_copy_discard(struct lull_copy *copy); /* also where there is none */

/* The locations of a range of processes, [*ret_first, *ret_end). */
void lull_locations_of(const struct lull_trace *trace, struct lull_process_range range,
                       uint32_t *ret_first, uint32_t *ret_end);

#endif
