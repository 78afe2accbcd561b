/* The what-if of one process: as long as its peers. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_WORK_CUT_H
#define LULL_DIAGNOSE_RULE_WORK_CUT_H

#include "diagnose/rule.h"

/* Its computations in the region are cut to the median of its peers; where most of these do not
 * compute there, the region takes no time. */
void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect);

#endif
