/* What messages cost beyond waiting: the loss of the run to an ideal network. One of three rules
 * tells it, that which explains most of it. Internal to the room. */
#ifndef LULL_DIAGNOSE_RULE_NETWORK_NETWORK_LOSS_H
#define LULL_DIAGNOSE_RULE_NETWORK_NETWORK_LOSS_H

#include "diagnose/rule.h"

enum lull_network_cause {
    LULL_NETWORK_TRANSFER,
    LULL_NETWORK_SMALL_MESSAGES,
    LULL_NETWORK_CONTENTION
};

struct lull_network_loss {
    int64_t runtime_ns; /* that an ideal network saves: T - T_ideal */
    int64_t core_ns;    /* that as core time */
    /* Mean transit of the smallest messages, ns; the share of all transit that messages have whose
     * size hardly matters; of flights what comes with traffic. */
    double latency, share_of_latency, share_of_traffic;
    struct lull_messages_sum all;
    enum lull_network_cause cause;
};

/* False: it is not known, less than what is told, or half of it are sends that wait for receives,
 * which other rules have told. */
bool lull_network_loss_of(const struct lull_case *c, struct lull_network_loss *ret_loss);
/* `detail` goes behind the sentence, before its full stop. */
void lull_network_tell(struct lull_case *c, const struct lull_network_loss *loss,
                       const char *detail, const char *cause);

#endif
