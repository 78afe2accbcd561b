/* SPDX-License-Identifier: BSD-3-Clause */
/* How unevenly processes work in a region, and what the run would be if one process worked like its
 * peers. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_IMBALANCE_H
#define LULL_DIAGNOSE_RULE_IMBALANCE_H

#include "diagnose/rule.h"

/* ==== uneven ================================================================================== */

/* Whether the waits of which the region is suspected follow from how much the processes work there
 * over the run: if each process takes as long every time, all wait for the longest, (most - mean)
 * each. */
bool lull_uneven_explains(const struct lull_case *c, const struct lull_uneven *uneven,
                          const struct lull_suspicion *suspicion);

/* Whether the suspect is late by working more: what it works longer than the median of its peers,
 * times the number of all that may wait for it, is at least half of its charges. Otherwise it is
 * late at times, and others are late at other times. */
bool lull_uneven_is_late(const struct lull_case *c, const struct lull_suspect *suspect);

/* ==== a process as long as its peers ========================================================== */

/* Gives the finding a fix: the suspect's computations in the region are cut to the median of its
 * peers, or lose `share` of what they take longer. Where most peers do not compute there, the region
 * takes no time, or loses that share. */
void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect, double share);

#endif
