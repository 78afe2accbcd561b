/* OpenMP parallel regions over processes. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_PARALLELS_H
#define LULL_DIAGNOSE_RULE_PARALLELS_H

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

/* Time of all CPU threads in an activity. */
int64_t lull_case_activity_ns(const struct lull_case *c, unsigned activity);
/* The region with most of it; NULL: no region has any. */
const struct lull_region_breakdown *lull_case_region_of(const struct lull_case *c,
                                                        unsigned activity);

#endif
