/* Senders wait for receives that are posted late.
 * Evidence: synchronous sends, and blocking ones of more than what every MPI sends without waiting,
 * that began before the receive was posted and ended after it. Silent: where messages are buffered,
 * where sends do not block, and where it is not known when the receive was posted. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/waiting/waiting.h"

static void find_late_receiver(struct lull_case *c)
{
    lull_waiting_find(c, LULL_WAIT_LATE_RECEIVER);
}

const struct lull_rule lull_rule_late_receiver = {"late_receiver", "late receiver",
                                                  "senders wait for receives that are posted late",
                                                  find_late_receiver};
