/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads could have run and had no core.
 * Evidence: what the system tells of each thread: ns on a core, ns ready and without one, and how
 * often the core was taken away. Formula: the mean share of the run in which they were without one
 * (trace/cores.h), of the core time. Silent: below 1 %, and without the recorder's numbers of the
 * system. */
#include "diagnose/rules.h"

/* Below that share of the time without a core it is one side's doing alone. */
#define SIDE_LEAST 0.1

/* Whose threads had the cores. */
static const char *who_had_them(const struct lull_case *c)
{
    const double own = c->shortage.own, others = c->shortage.others;
    if (own >= 1 - SIDE_LEAST)
        return "The run has more threads than cores.";
    if (others >= 1 - SIDE_LEAST)
        return "Other programs had the cores.";
    if (own <= SIDE_LEAST)
        return "Other programs had the cores, or the run has more threads than cores at times.";
    const bool certain = own + others >= 1 - SIDE_LEAST;
    return lull_arena_printf(
        c->arena,
        "%s%.0f %% of it is because the run has more threads than cores, the rest %sbecause other "
        "programs had the cores.",
        certain ? "" : "At least ", 100 * own, certain ? "" : "likewise or ");
}

static void find_oversubscription(struct lull_case *c)
{
    if (c->without_core_ns < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, c->without_core_ns);
    lull_finding_add_fact(finding, "share", "of the core time", LULL_FACT_SHARE, c->shortage.share);
    lull_finding_add_fact(finding, "own", "of it because of the run's own threads", LULL_FACT_SHARE,
                          c->shortage.own);
    lull_finding_add_fact(finding, "others", "of it because of other programs", LULL_FACT_SHARE,
                          c->shortage.others);
    lull_finding_add_fact(finding, "preempted", "times that a core was taken away", LULL_FACT_COUNT,
                          (double)c->shortage.preempted);
    lull_finding_add_fact(finding, "threads", "threads of which that is known", LULL_FACT_COUNT,
                          c->shortage.known);
    finding->sentence = lull_arena_printf(
        c->arena, "Threads could have run and had no core for %s of %s of core time (%.0f %%).",
        lull_case_time(c, c->without_core_ns), lull_case_time(c, c->core_ns),
        100 * (double)c->without_core_ns / (double)c->core_ns);
    finding->cause = who_had_them(c);
    if (c->hidden_network_ns > 0)
        finding->cause = lull_arena_printf(
            c->arena,
            "%s An ideal network would save %s of the runtime, and threads without a core explain "
            "as much: what the network costs is not known.",
            finding->cause, lull_case_time(c, c->hidden_network_ns));
    finding->next =
        lull_arena_printf(c->arena, "lull info %s", lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_oversubscription = {"oversubscription", "too few cores",
                                                     "threads could have run and had no core",
                                                     find_oversubscription};
