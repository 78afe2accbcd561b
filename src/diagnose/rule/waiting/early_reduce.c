/* The root of reductions and gathers waits for who comes late.
 * Evidence: when the root and the last of the others came. Silent: where the root is not known, and
 * for the others, which may leave before. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_early_reduce(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_EARLY_REDUCE);
}

const struct lull_rule lull_rule_early_reduce = {
    "early_reduce", "early reduce", "the root of reductions and gathers waits for who comes late",
    find_early_reduce};
