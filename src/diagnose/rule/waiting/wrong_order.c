/* Receivers wait for one message while another one, which they take later, is there.
 * Evidence: a late sender where a later call received what had been sent before the wait began, as
 * Scalasca defines it. Silent: where the other message comes more than a few waits later. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_wrong_order(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_WRONG_ORDER);
}

const struct lull_rule lull_rule_wrong_order = {
    "wrong_order", "wrong order",
    "receivers wait for one message while another, sent earlier, is there", find_wrong_order};
