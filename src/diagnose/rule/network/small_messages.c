/* Most of what messages cost is latency.
 * Evidence: the transit of messages by size. Formula: a class of sizes is small where its messages
 * take at most half as long again as the smallest ones; these have half of all transit. Silent:
 * below 1 %, and where fewer than 30 messages are of a size. */
#include "diagnose/rule/network/network_loss.h"
#include "diagnose/rule/rules.h"

static void find_small_messages(struct lull_case *c)
{
    struct lull_network_loss loss;
    if (!lull_network_loss_of(c, &loss) || loss.cause != LULL_NETWORK_SMALL_MESSAGES)
        return;
    const char *detail =
        lull_arena_printf(c->arena, ": %.0f messages of %.0f bytes on average",
                          (double)loss.all.count, (double)loss.all.bytes / (double)loss.all.count);
    lull_network_tell(c, &loss, detail,
                      "Most of it is latency: fewer and larger messages cost less.");
}

const struct lull_rule lull_rule_small_messages = {"small_messages", "small messages",
                                                   "most of what messages cost is latency",
                                                   find_small_messages};
