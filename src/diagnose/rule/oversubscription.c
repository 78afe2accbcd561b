/* Threads could have run and had no core.
 * Evidence: what the system tells of each thread: ns on a core, ns ready and without one, and how
 * often the core was taken away. Formula: the share of the time without a core in both, of the
 * core time, and no more than what was measured. Silent: below 1 %, and without the recorder's
 * numbers of the system. */
#include "diagnose/rules.h"

static void find_oversubscription(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    uint64_t on = 0, off = 0, preempted = 0;
    uint32_t without = 0, known = 0;
    for (uint32_t l = 0; trace && l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        if (trace->processes[location->process].application != c->evidence->application ||
            location->kind != LULL_LOCATION_THREAD || location->cores.on == 0)
            continue;
        known++;
        on += location->cores.on;
        off += location->cores.off;
        preempted += location->cores.preempted;
        without += location->cores.off > location->cores.on / 100;
    }
    if (known == 0)
        return;
    const double share = (double)off / (double)(on + off); /* of the threads' lives, also outside of
                                                              windows */
    const int64_t lost = (int64_t)fmin(share * (double)c->core_ns, (double)off);
    if (lost < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, lost);
    lull_finding_add_fact(finding, "share", "of the time in which they could run", LULL_FACT_SHARE,
                          share);
    lull_finding_add_fact(finding, "preempted", "times that a core was taken away", LULL_FACT_COUNT,
                          (double)preempted);
    lull_finding_add_fact(finding, "threads", "threads of which that is known", LULL_FACT_COUNT,
                          known);
    finding->sentence = lull_arena_printf(
        c->arena, "%u of %u threads had no core for %.0f %% of the time in which they could run.",
        without, known, 100 * share);
    finding->cause = "There were more threads than cores, or other programs ran there.";
    finding->next =
        lull_arena_printf(c->arena, "lull info %s", lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_oversubscription = {"oversubscription", "too few cores",
                                                     "threads could have run and had no core",
                                                     find_oversubscription};
