/* OpenMP parallel regions over processes. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_THREADS_PARALLELS_H
#define LULL_DIAGNOSE_RULE_THREADS_PARALLELS_H

#include "diagnose/rule.h"

/* All of one name. Sums over its executions, threads and processes, ns. */
struct lull_parallels {
    const char *name;
    uint64_t executions;
    uint32_t threads; /* of the process with most */
    uint32_t rank;    /* LULL_NONE: several processes have it */
    int64_t useful_ns, schedule_ns, lock_ns;
    int64_t imbalance_ns; /* what threads have less than the longest of their execution, if they
                             wait for it at barriers: who waited for a lock comes no earlier */
};

/* In the order of their names. */
uint32_t lull_parallels_of(struct lull_case *c, struct lull_parallels **ret_parallels);
void lull_parallels_set_process(struct lull_case *c, struct lull_finding *finding,
                                const struct lull_parallels *parallels);

/* What a replay is to suppose of the threads. `region` may be NULL. */
void lull_threads_fix(struct lull_case *c, struct lull_finding *finding,
                      enum lull_threads_change change, const char *region);

#endif
