/* The rules, in the order in which they are asked: what explains more comes first. */
#include "diagnose/rule.h"

#include "diagnose/rule/rules.h"

const struct lull_rule *const lull_rules[] = {
    &lull_rule_slow_node,
    &lull_rule_noise,
    &lull_rule_idle_wave,
    &lull_rule_imbalance,
    &lull_rule_late_sender,
    &lull_rule_wrong_order,
    &lull_rule_late_receiver,
    &lull_rule_barrier,
    &lull_rule_n_to_n,
    &lull_rule_early_reduce,
    &lull_rule_late_broadcast,
    &lull_rule_early_scan,
    NULL,
};
