/* SPDX-License-Identifier: BSD-3-Clause */
/* More cores of a node share its memory than in another run, and execute fewer instructions per
 * cycle, as far as the memory explains that.
 * Evidence: IPC of both runs, how many threads compute on a node in each, and from a machine file
 * the bandwidth by cores. Formula: what each core gets falls from b(n0)/n0 to b(n)/n, which is the
 * most that a program loses whose every instruction waits for memory (the naive saturation of
 * H. Stengel et al., Quantifying Performance Bottlenecks of Stencil Computations Using the
 * Execution-Cache-Memory Model, ICS 2015, 10.1145/2751205.2751240); lost is the useful time x
 * (1 - IPC / IPC before). Silent: without counters, machine file, nodes, or another run on fewer
 * cores of a node; where IPC falls by more than memory explains; below 1 %. */
#include "diagnose/rules.h"

/* IPC, and the bandwidth that a core gets, must fall at least to FALLS_TO; IPC may fall by the
 * factor BEYOND more than memory explains. */
#define FALLS_TO 0.95
#define BEYOND   1.05

/* CPU threads of the node with most of them; 0: no process says where it is. */
static uint32_t cores_of_node(struct lull_case *c, const struct lull_breakdown *breakdown)
{
    uint32_t nodes = 0, most = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        if (breakdown->processes[p].node != LULL_NONE && breakdown->processes[p].node >= nodes)
            nodes = breakdown->processes[p].node + 1;
    uint32_t *threads = lull_arena_zero(c->arena, nodes + (size_t)1, sizeof *threads);
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        const struct lull_process_breakdown *process = &breakdown->processes[p];
        if (process->node == LULL_NONE)
            continue;
        threads[process->node] += process->n_cpu_threads;
        most = threads[process->node] > most ? threads[process->node] : most;
    }
    return most;
}

static void tell_memory_bandwidth(struct lull_case *c, uint32_t before, uint32_t now, double ipc,
                                  double share)
{
    const int64_t useful = lull_evidence_activity_ns(c->evidence, LULL_USEFUL);
    const int64_t lost = (int64_t)((double)useful * (1 - ipc));
    if (lost < c->least_ns)
        return;
    const int64_t threads = c->core_ns / c->evidence->breakdown->runtime_ns;
    struct lull_finding *finding = lull_case_add(c, lost);
    finding->bound_ns = lost / (threads > 0 ? threads : 1);
    lull_finding_add_fact(finding, "ipc_scaling", "instructions per cycle beside the reference",
                          LULL_FACT_RATIO, ipc);
    lull_finding_add_fact(finding, "bandwidth", "bandwidth of a core, likewise", LULL_FACT_RATIO,
                          share);
    lull_finding_add_fact(finding, "cores", "cores that share a node's memory", LULL_FACT_COUNT,
                          now);
    finding->sentence = lull_arena_printf(
        c->arena,
        "%u cores share the memory of a node instead of %u in %s, and execute %.2f x its "
        "instructions per cycle: that takes %s of core time.",
        now, before, c->evidence->reference_name, ipc, lull_case_time(c, lost));
    finding->cause = lull_arena_printf(
        c->arena,
        "By the machine file each core then gets %.2f x the bandwidth of memory, which can explain "
        "it.",
        share);
    finding->gain.absent = "No replay tells: how much of the computation waits for memory is not "
                           "in the trace.";
    finding->next = "lull model kernel FILE.c --machine FILE --cores N";
}

static void find_memory_bandwidth(struct lull_case *c)
{
    const struct lull_evidence *evidence = c->evidence;
    if (!evidence->reference || !evidence->memory || evidence->breakdown->runtime_ns <= 0)
        return;
    const uint32_t before = cores_of_node(c, evidence->reference);
    const uint32_t now = cores_of_node(c, evidence->breakdown);
    const double ipc = lull_evidence_value(evidence, "ipc_scaling");
    const double share =
        lull_memory_of_core(evidence->memory, now) / lull_memory_of_core(evidence->memory, before);
    if (before > 0 && now > before && ipc <= FALLS_TO && share <= FALLS_TO && share <= ipc * BEYOND)
        tell_memory_bandwidth(c, before, now, ipc, share);
}

const struct lull_rule lull_rule_memory_bandwidth = {
    "memory_bandwidth", "memory bandwidth", "more cores share a node's memory, and wait for it",
    find_memory_bandwidth};
