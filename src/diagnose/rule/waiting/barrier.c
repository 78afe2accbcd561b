/* All wait at barriers for the last.
 * Evidence: when each process came to each barrier. Silent: where its members are not known. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_barrier(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_BARRIER);
}

const struct lull_rule lull_rule_barrier = {"barrier", "late at a barrier",
                                            "all wait at barriers for the last", find_barrier};
