/* SPDX-License-Identifier: BSD-3-Clause */
/* All rules, for the array of them (diagnose/rules.c). Internal to the room. */
#ifndef LULL_DIAGNOSE_RULES_H
#define LULL_DIAGNOSE_RULES_H

#include "diagnose/rule.h"

extern const struct lull_rule lull_rule_slow_node, lull_rule_noise, lull_rule_idle_wave,
    lull_rule_imbalance, lull_rule_computation_scaling;
extern const struct lull_rule lull_rule_late_sender, lull_rule_wrong_order, lull_rule_late_receiver,
    lull_rule_eager_limit, lull_rule_barrier, lull_rule_n_to_n, lull_rule_early_reduce,
    lull_rule_late_broadcast, lull_rule_early_scan, lull_rule_at_end;
extern const struct lull_rule lull_rule_serial, lull_rule_thread_imbalance, lull_rule_lock,
    lull_rule_fork_join, lull_rule_chunk;
extern const struct lull_rule lull_rule_transfer, lull_rule_small_messages, lull_rule_contention;
extern const struct lull_rule lull_rule_io, lull_rule_tracer, lull_rule_oversubscription,
    lull_rule_memory_bandwidth, lull_rule_kernel_time, lull_rule_slow_loop;
extern const struct lull_rule lull_rule_memory_limit, lull_rule_swapping, lull_rule_memory_growth;
extern const struct lull_rule lull_rule_device_sync, lull_rule_device_starved, lull_rule_device_mpi,
    lull_rule_device_runtime, lull_rule_device_launch, lull_rule_device_copies,
    lull_rule_device_exchange, lull_rule_device_default_stream, lull_rule_device_shared,
    lull_rule_device_imbalance;

#endif
