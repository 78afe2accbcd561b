/* SPDX-License-Identifier: BSD-3-Clause */
/* The same work takes longer on more cores than in another run.
 *
 * Evidence: useful time of both runs, and metrics of scaling where counters were read. Formula: the
 * useful time now less that of the other run, the latter times the growth of the cores where the
 * work grows with them; frequency x IPC x instructions scaling = computation scaling. Silent: with
 * one run, below 1 %; the cause without counters. */
#include "diagnose/rules.h"
#include "diagnose/where.h"

/* Functions that are told. */
enum { FUNCTIONS_GROWN = 3 };

static double useful_of(const struct lull_breakdown *breakdown)
{
    double ns = 0;
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].kind == LULL_LOCATION_THREAD)
            ns += (double)(breakdown->threads[t].times.ns[LULL_USEFUL][0] +
                           breakdown->threads[t].times.ns[LULL_USEFUL][1]);
    return ns;
}

static uint32_t threads_of(const struct lull_breakdown *breakdown)
{
    uint32_t threads = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        threads += breakdown->processes[p].n_cpu_threads;
    return threads;
}

/* How long all threads of a run had no core in their useful time, ns. */
static double useful_without_core(const struct lull_trace *trace,
                                  const struct lull_breakdown *breakdown,
                                  const struct lull_sampled *sampled, uint32_t application)
{
    double ns = 0;
    for (uint32_t l = 0; trace && l < trace->n_locations; l++)
        if (trace->processes[trace->locations[l].process].application == application)
            ns += (1 - lull_evidence_core_part(trace, breakdown, sampled, l)) *
                  lull_evidence_useful_ns(trace, breakdown, l);
    return ns;
}

/* "Of it 5.6 s are time in which threads had no core. ", or "" where that is less than a hundredth. */
static const char *grown_without_core(struct lull_case *c, double grows, double excess)
{
    const struct lull_evidence *evidence = c->evidence;
    const struct lull_work *work = evidence->work, *before = evidence->reference_work;
    if (!work || !before || !work->sampled || !before->sampled)
        return "";
    const double ns =
        useful_without_core(evidence->trace, evidence->breakdown, work->sampled,
                            lull_evidence_application(evidence)) -
        grows * useful_without_core(before->sampled->trace, evidence->reference, before->sampled,
                                    lull_evidence_application(evidence));
    if (ns < excess / 100)
        return "";
    return lull_arena_printf(c->arena, "Of it %s are time in which threads had no core. ",
                             lull_case_time(c, (int64_t)ns));
}

struct part {
    const char *id, *name;
    double value;
};

/* The smallest first. */
static void sort(struct part *parts, int count)
{
    for (int i = 1; i < count; i++)
        for (int at = i; at > 0 && parts[at].value < parts[at - 1].value; at--) {
            const struct part part = parts[at];
            parts[at] = parts[at - 1];
            parts[at - 1] = part;
        }
}

static const char *cause_of(struct lull_case *c, struct lull_finding *finding)
{
    struct part parts[] = {{"frequency_scaling", "frequency", 0},
                           {"ipc_scaling", "instructions per cycle", 0},
                           {"instruction_scaling", "instructions", 0}};
    enum { PARTS = sizeof parts / sizeof *parts };
    for (int i = 0; i < PARTS; i++) {
        parts[i].value = lull_evidence_value(c->evidence, parts[i].id);
        if (!isfinite(parts[i].value))
            return "Why is not known: instructions or cycles were not counted.";
    }
    sort(parts, PARTS);
    for (int i = 0; i < PARTS; i++)
        lull_finding_add_fact(finding, parts[i].id, parts[i].name, LULL_FACT_RATIO, parts[i].value);
    return lull_arena_printf(c->arena,
                             "Most by %s (%.3f), then %s (%.3f) and %s (%.3f); 1 is as in %s.",
                             parts[0].name, parts[0].value, parts[1].name, parts[1].value,
                             parts[2].name, parts[2].value, c->evidence->reference_name);
}

static void find_computation_scaling(struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown,
                                *reference = c->evidence->reference;
    if (!reference)
        return;
    const uint32_t threads = threads_of(breakdown), before = threads_of(reference);
    const double grows =
        c->evidence->scaling == LULL_SCALING_WEAK && before ? (double)threads / before : 1;
    const double now = useful_of(breakdown), then = grows * useful_of(reference);
    if (now - then < (double)c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, (int64_t)(now - then));
    finding->bound_ns = (int64_t)((now - then) / (threads ? threads : 1));
    lull_finding_add_fact(finding, "useful", "useful time", LULL_FACT_TIME, now);
    lull_finding_add_fact(finding, "reference", "that of the reference", LULL_FACT_TIME, then);
    lull_finding_add_fact(finding, "computation_scaling", "their ratio", LULL_FACT_RATIO,
                          then / now);
    struct lull_where where[FUNCTIONS_GROWN];
    const uint32_t n = lull_where_grown(c, grows, FUNCTIONS_GROWN, where);
    if (n > 0)
        lull_where_set(c, finding, &where[0]);
    finding->sentence = lull_arena_printf(
        c->arena, "The computation takes %s of core time more than in %s%s%s: %s instead of %s.",
        lull_case_time(c, (int64_t)(now - then)), c->evidence->reference_name, n > 0 ? ", " : "",
        lull_where_text(c, where, n, " of what had a core"), lull_case_time(c, (int64_t)now),
        lull_case_time(c, (int64_t)then));
    finding->cause = lull_arena_printf(c->arena, "%s%s", grown_without_core(c, grows, now - then),
                                       cause_of(c, finding));
    lull_where_explain(c, finding, where, n);
    finding->gain.absent = "No replay tells: it is not known how long the computation of each "
                           "moment would take.";
}

const struct lull_rule lull_rule_computation_scaling = {
    "computation_scaling", "computation scaling",
    "the computation takes longer than in another run", find_computation_scaling};
