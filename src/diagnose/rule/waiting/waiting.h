/* Who made others wait: what the rules of the kinds of waits share. Internal to the room.
 *
 * Evidence: the charges of waits (wait/wait.h) by process and region, and how long each process
 * computed there. Where few processes have most of the charges of a region, each is told by the
 * kind that it was charged with most; where many have them, and not because of uneven work, the
 * region is told, by that kind of the first. Formula: the sum of its charges; the charges are the
 * delay costs of D. Boehme et al., 10.1145/2934661. Silent: below 1 % of the core time, and where
 * waits are shorter than clocks are apart. */
#ifndef LULL_DIAGNOSE_RULE_WAITING_WAITING_H
#define LULL_DIAGNOSE_RULE_WAITING_WAITING_H

#include "diagnose/rule.h"

/* Tells the suspects of that kind (enum lull_wait_kind). */
void lull_waiting_find(struct lull_case *c, unsigned kind);

#endif
