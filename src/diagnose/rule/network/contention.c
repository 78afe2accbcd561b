/* Messages of the same size are slower while there is more traffic.
 * Evidence: flights of messages by size in 256 windows of the run, and the bytes that were sent in
 * these. Formula: what they take beyond the mean of the windows with least traffic, which have 100
 * of them; that is half of all flights, and three of four of the other windows are slower. Silent:
 * below 1 %, where fewer were seen on either side, and where all windows have as much traffic: then
 * transfer tells it. Limit: it does not look at how far apart two processes are. */
#include "diagnose/rule/network/network_loss.h"
#include "diagnose/rule/rules.h"

static void find_contention(struct lull_case *c)
{
    struct lull_network_loss loss;
    if (!lull_network_loss_of(c, &loss) || loss.cause != LULL_NETWORK_CONTENTION)
        return;
    lull_network_tell(c, &loss, ", most of it while there is much traffic",
                      "Messages of the same size take longer while there is more traffic.");
}

const struct lull_rule lull_rule_contention = {
    "contention", "contention", "messages are slower while there is more traffic", find_contention};
