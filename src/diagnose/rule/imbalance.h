/* How unevenly processes work in a region. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_IMBALANCE_H
#define LULL_DIAGNOSE_RULE_IMBALANCE_H

#include "diagnose/rule.h"

/* ==== uneven ================================================================================== */

/* Useful time of the first threads in a region over the run, ns. */
struct lull_uneven {
    double mean, median, most;
    uint64_t bursts; /* of all processes, in which the region has a part */
};
/* Of all processes but one (LULL_NONE: of all). */
struct lull_uneven lull_uneven_of(const struct lull_case *c, uint32_t region, uint32_t except);

/* Whether the waits that the region is suspected of follow from what the processes work there over
 * the run: if each is as long every time, all wait for the longest, (most - mean) each. */
bool lull_uneven_explains(const struct lull_case *c, const struct lull_uneven *uneven,
                          const struct lull_suspicion *suspicion);

/* Whether what a suspect works longer than the median of its peers, times all that may wait for it,
 * is half of what it is charged with: else it is late at times, and others are at other times. */
bool lull_uneven_is_late(const struct lull_case *c, const struct lull_suspect *suspect);

/* ==== cut ===================================================================================== */

/* The what-if of one process: as long as its peers. */

/* Its computations in the region are cut to the median of its peers; where most of these do not
 * compute there, the region takes no time. */
void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect);

#endif
