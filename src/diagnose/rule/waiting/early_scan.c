/* Ranks wait in scans for those before them.
 * Evidence: when each process came, beside the last of the ranks before it. Silent: where the
 * members are not known. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_early_scan(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_EARLY_SCAN);
}

const struct lull_rule lull_rule_early_scan = {
    "early_scan", "early scan", "ranks wait in scans for those before them", find_early_scan};
