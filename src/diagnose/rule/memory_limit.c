/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes have nearly all of the memory that they may have.
 * Evidence: the peak of each process by the system's own mark, the memory of its node, and the least
 * limit of its control groups. Formula: the sum of the peaks of the processes of a node beside its
 * memory, or of a control group beside its limit, where that share is largest. Silent: below 90 %,
 * and where the recorder did not learn it. Limit: peaks of processes may lie apart, and pages that
 * they share count in each, so that they may have had less at any time. */
#include "diagnose/rules.h"
#include "trace/memory.h"

/* The share with which a node is to be filled, where it is said how many processes it has room for. */
#define ROOMY 0.8

/* What to do, by how many processes fit, if each goes on to need as much. */
static const char *advice_on_limit(const struct lull_case *c, const struct lull_memory_sum *sum)
{
    const double each = (double)sum->together / sum->members,
                 fit = floor(ROOMY * (double)sum->capacity / each);
    const char *most = lull_case_size(c, (double)sum->largest_member),
               *name = c->evidence->trace->processes[sum->of_members].name;
    const char *ends = sum->is_limit ? "Beyond the limit the system ends processes of the group."
                                     : "Beyond that the system swaps, or ends processes.";
    if (sum->members == 1 || fit < 1)
        return lull_arena_printf(c->arena, "%s Divide the work among more nodes%s.", ends,
                                 sum->is_limit ? ", or ask the batch system for a higher limit"
                                               : "");
    return lull_arena_printf(
        c->arena,
        "%s The largest process, %s, had %s. With %.0f instead of %u, each with as much, "
        "%.0f %% would be in use: use more nodes, or threads in the place of processes.",
        ends, name, most, fit, sum->members, 100 * fit * each / (double)sum->capacity);
}

static void find_memory_limit(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (!trace)
        return;
    const struct lull_memory_sum sum = lull_memory_sum_of(trace);
    if (!lull_memory_is_full(&sum))
        return;
    const bool knows_node = sum.node < trace->n_nodes;
    const double share = (double)sum.together / (double)sum.capacity;
    const char *node = knows_node ? trace->nodes[sum.node].name : "a node";
    struct lull_finding *finding = lull_case_add(c, 0);
    if (knows_node) {
        finding->place.node = sum.node;
        finding->place.node_name = node;
    }
    lull_finding_add_fact(finding, "memory", "memory that they had", LULL_FACT_BYTES,
                          (double)sum.together);
    lull_finding_add_fact(finding, "capacity", "memory that they may have", LULL_FACT_BYTES,
                          (double)sum.capacity);
    lull_finding_add_fact(finding, "share", "of what they may have", LULL_FACT_SHARE, share);
    lull_finding_add_fact(finding, "processes", "processes", LULL_FACT_COUNT, sum.members);
    lull_finding_add_fact(finding, "largest", "of the largest", LULL_FACT_BYTES,
                          (double)sum.largest_member);
    finding->sentence = lull_arena_printf(
        c->arena, "%s on %s had up to %s of the %s that %s (%.0f %%).",
        sum.members > 1 ? lull_arena_printf(c->arena, "%u processes", sum.members) : "A process",
        node, lull_case_size(c, (double)sum.together), lull_case_size(c, (double)sum.capacity),
        !sum.is_limit     ? "the node has"
        : sum.members > 1 ? "their control group may have"
                          : "its control group may have",
        100 * share);
    finding->cause = advice_on_limit(c, &sum);
    finding->gain.absent = "It costs no time as long as the memory suffices.";
    finding->next = lull_arena_printf(c->arena, "lull metrics --by process %s",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_memory_limit = {
    "memory_limit", "memory nearly used up",
    "processes have nearly all of the memory that they may have", find_memory_limit};
