/* Counting what a trace holds, in one pass over all events. */
#ifndef LULL_STUDY_CENSUS_H
#define LULL_STUDY_CENSUS_H

#include "team/division.h"
#include "trace/trace.h"

struct lull_census {
    uint64_t events[LULL_EVENT_KINDS];
    uint64_t collectives[LULL_COLLECTIVES];      /* participations: begun by one process each */
    uint64_t collective_bytes[LULL_COLLECTIVES]; /* sent by all */
    uint64_t sent, received;             /* messages, without those to and from MPI_PROC_NULL */
    uint64_t sent_bytes, received_bytes; /* of them */
    uint64_t largest_message;
    uint64_t rma_bytes, io_bytes;
    uint64_t *readings; /* [n_counters] */
};

/* The result lives in `arena`. `progress` may be NULL. Of a team, whose members read their
 * processes (NULL: alone), the first has it, and the quirks of all. */
lull_status lull_census_take(const struct lull_trace *trace, const struct lull_division *division,
                             unsigned workers, void (*progress)(void *context, double share),
                             void *progress_context, struct lull_arena *arena,
                             struct lull_census **ret_census, struct lull_error *err);

#endif
