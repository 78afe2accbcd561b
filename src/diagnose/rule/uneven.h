/* How unevenly processes work in a region. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_UNEVEN_H
#define LULL_DIAGNOSE_RULE_UNEVEN_H

#include "diagnose/rule.h"

/* Useful time of the first threads in a region over the run, ns. */
struct lull_uneven {
    double mean, median, most;
    uint64_t least_bursts; /* of a process that works there at its busiest place */
    uint64_t bursts, long_bursts;
    double long_ns;        /* of long bursts beyond their median */
    uint32_t with_long;    /* processes that have some */
    uint32_t working;      /* processes that work there */
};
struct lull_uneven lull_uneven_of(const struct lull_case *c, uint32_t region);

#endif
