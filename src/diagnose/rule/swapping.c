/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of processes is swapped out, and they need it again.
 * Evidence: how much of each process was swapped out at most when the recorder looked, and page
 * faults of the threads for which a disk was read. Formula: the sum over processes of the first,
 * beside that of their peaks. Silent: below 1 % of the peaks, because the system also swaps what
 * nobody uses; without such page faults, because nobody needed it then; and where the recorder did
 * not learn it. Limit: how long threads waited for the disk is not known, and some of the page faults
 * may be of files. */
#include "diagnose/rules.h"
#include "trace/memory.h"
#include "trace/usage.h"

#define SWAPPED_LEAST 0.01

static void tell_swapping(struct lull_case *c, uint64_t swapped, uint32_t members, uint32_t most,
                          double faults)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_process *process = &trace->processes[most];
    struct lull_finding *finding = lull_case_add(c, 0);
    lull_finding_set_process(c, finding, most);
    lull_finding_add_fact(finding, "swapped", "swapped out", LULL_FACT_BYTES, (double)swapped);
    lull_finding_add_fact(finding, "processes", "processes of which something was", LULL_FACT_COUNT,
                          members);
    lull_finding_add_fact(finding, "largest", "of the process with most", LULL_FACT_BYTES,
                          (double)process->memory.swapped);
    lull_finding_add_fact(finding, "disk", "page faults that read a disk", LULL_FACT_COUNT, faults);
    const char *whose =
        members > 1
            ? lull_arena_printf(c->arena, "%u processes were swapped out, most of %s (%s)", members,
                                process->name, lull_case_size(c, (double)process->memory.swapped))
            : lull_arena_printf(c->arena, "%s were swapped out", process->name);
    finding->sentence = lull_arena_printf(c->arena, "%s of the memory of %s.",
                                          lull_case_size(c, (double)swapped), whose);
    finding->cause = lull_arena_printf(
        c->arena,
        "%.0f times a thread waited until a disk had been read, for a page that had been swapped "
        "out or for one of a file. The node has too little memory for what runs there: use fewer "
        "processes on a node, or more nodes.",
        faults);
    finding->gain.absent = "How long threads waited for the disk is not known.";
    finding->next = lull_arena_printf(c->arena, "lull metrics --by process %s",
                                      lull_case_word(c, c->evidence->path));
}

static void find_swapping(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    const uint32_t application = lull_evidence_application(c->evidence);
    uint64_t swapped = 0, peaks = 0;
    uint32_t members = 0, most = LULL_NONE;
    for (uint32_t p = 0; trace && p < trace->n_processes; p++) {
        const struct lull_process_memory *memory = &trace->processes[p].memory;
        if (trace->processes[p].application != application || memory->swapped == 0)
            continue;
        swapped += memory->swapped;
        peaks += memory->peak;
        members++;
        if (most == LULL_NONE || memory->swapped > trace->processes[most].memory.swapped)
            most = p;
    }
    if (members == 0 || (double)swapped < SWAPPED_LEAST * (double)peaks)
        return;
    const struct lull_usage_sum usage = lull_usage_of(trace, application);
    if (usage.known > 0 && usage.major > 0)
        tell_swapping(c, swapped, members, most, usage.major);
}

const struct lull_rule lull_rule_swapping = {"swapping", "swapping",
                                             "memory of processes is swapped out, and they need it "
                                             "again",
                                             find_swapping};
