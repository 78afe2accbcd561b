/* Slow reference simulator of the network loggops for GOAL programs: the rules of docs/simulate.md
 * ("Rules of loggops") step by step, with nothing clever in it and no code of the engine. For
 * tests of the engine.
 *
 * What happens later lies in an array that is searched from end to end for what comes first;
 * matching goes through lists from the front; what keeps messages of a channel in order is a search
 * for earlier ones that have not arrived. */
#ifndef LULL_TESTS_SLOW_LOGGOPS_H
#define LULL_TESTS_SLOW_LOGGOPS_H

#include "support/slow_goal.h"

/* Text and result as with slow_goal_run. */
void slow_loggops_run(const char *text, const struct slow_network *network,
                      struct slow_result *ret_result);

#endif
