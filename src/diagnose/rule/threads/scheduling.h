/* What OpenMP's scheduling takes, divided into two. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_THREADS_SCHEDULING_H
#define LULL_DIAGNOSE_RULE_THREADS_SCHEDULING_H

#include "diagnose/rule/threads/parallels.h"

struct lull_scheduling {
    int64_t fork_ns, chunk_ns; /* of all threads: to begin and end regions; to get iterations */
    uint64_t executions, forks, chunks; /* of parallel regions; threads in these; asked for */
    const struct lull_parallels *most;  /* with most time of both; NULL: there is none */
};
struct lull_scheduling lull_scheduling_of(struct lull_case *c);

#endif
