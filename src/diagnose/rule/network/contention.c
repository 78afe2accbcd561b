/* Messages of the same size are slower while there is more traffic.
 * Evidence: the transit of messages by size in 256 windows of the run, and the bytes in these.
 * Formula: what they take beyond the fastest quarter of windows, in windows with more traffic than
 * the median; that is half of all transit, and twice what they take in the others. Silent: below
 * 1 %, and with few samples, in fewer than 8 windows: then transfer tells it. */
#include "diagnose/rule/network/network_loss.h"
#include "diagnose/rule/rules.h"

static void find(struct lull_case *c)
{
    struct lull_network_loss loss;
    if (!lull_network_loss_of(c, &loss) || loss.cause != LULL_NETWORK_CONTENTION)
        return;
    lull_network_tell(c, &loss, ", most of it while there is much traffic",
                      "Messages of the same size take longer while there is more traffic.");
}

const struct lull_rule lull_rule_contention = {
    "contention", "contention", "messages are slower while there is more traffic", find};
