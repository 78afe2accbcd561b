/* Receivers wait for messages that are sent late.
 * Evidence: receives that began before the message was sent, also among several that one call
 * completes, of which the latest counts. Silent: where the receiver was not there yet either. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_late_sender(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_LATE_SENDER);
}

const struct lull_rule lull_rule_late_sender = {"late_sender", "late sender",
                                                "receivers wait for messages that are sent late",
                                                find_late_sender};
