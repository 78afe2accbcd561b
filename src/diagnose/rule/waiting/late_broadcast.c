/* All wait for the root of broadcasts and scatters.
 * Evidence: when the root and each of the others came. Silent: where the root is not known. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_late_broadcast(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_LATE_BROADCAST);
}

const struct lull_rule lull_rule_late_broadcast = {
    "late_broadcast", "late broadcast", "all wait for the root of broadcasts and scatters",
    find_late_broadcast};
