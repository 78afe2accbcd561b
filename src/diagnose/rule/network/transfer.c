/* An ideal network would save time, and neither latency nor traffic explains it.
 * Evidence: the runtime on an ideal network, which has the same waits (POP's transfer efficiency).
 * Formula: T - T_ideal of the runtime. Silent: below 1 %, and where waits explain all of it. */
#include "diagnose/rule/network/network_loss.h"
#include "diagnose/rule/rules.h"

static void find_transfer(struct lull_case *c)
{
    struct lull_network_loss loss;
    if (!lull_network_loss_of(c, &loss) || loss.cause != LULL_NETWORK_TRANSFER)
        return;
    lull_network_tell(c, &loss, "",
                      "Moving data takes it, or operations of all whose steps have a price.");
}

const struct lull_rule lull_rule_transfer = {"transfer", "transfer",
                                             "an ideal network would save time", find_transfer};
