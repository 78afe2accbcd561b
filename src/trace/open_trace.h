/* SPDX-License-Identifier: BSD-3-Clause */
/* The mutable part of an open trace; internal to the trace room. */
#ifndef LULL_TRACE_OPEN_TRACE_H
#define LULL_TRACE_OPEN_TRACE_H

#include "base/file.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>

/* How many quirks of one kind were found, and by whom. */
struct lull_quirk_counts {
    uint64_t at_opening;
    uint64_t by_tally;                      /* by the tally that counted most */
    uint64_t elsewhere;                     /* without a tally, as by cursors */
    uint64_t told_by_tally, told_elsewhere; /* what lull_trace_quirks_pack has packed of by_tally
                                               and of elsewhere */
};

struct lull_relay;

/* A temporary tape with the same locations, for cursors on formats that cannot be read by location.
 */
struct lull_copy {
    struct lull_trace *trace; /* NULL: there is none */
    struct lull_output *output;
    struct lull_process_range range; /* the processes whose events it has */
};

struct lull_trace_shared {
    pthread_mutex_t lock;
    bool *left_out; /* [n_locations], malloc'd: damaged and left out; NULL: none is */
    uint32_t n_left_out;
    struct lull_quirk quirks[LULL_MOST_QUIRKS]; /* without counts */
    struct lull_quirk_counts counts[LULL_MOST_QUIRKS];
    uint32_t n_quirks;
    uint32_t n_at_opening; /* the first so many quirks were found on opening */
    bool opening;
    const struct lull_exchange *exchange; /* while several processes open the trace; else NULL */
    const struct lull_relay *relay; /* given by lull_trace_relay; NULL: this process reads alone */
    pthread_mutex_t copy_lock;      /* held while a copy is made */
    atomic_ullong openings;         /* lull_trace_openings */
    struct lull_copy whole, part;   /* `whole` is made by the first cursor, `part` by
                                       lull_cursors_prepare */
};

void lull_copy_discard(struct lull_copy *copy); /* also where there is none */

#endif
