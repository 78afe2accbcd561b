/* SPDX-License-Identifier: BSD-3-Clause */
#include "diagnose/rule/imbalance.h"

#include "diagnose/rules.h"
#include "diagnose/where.h"

/* ==== uneven ================================================================================== */

/* The share of the waits that must follow from uneven work. */
#define UNEVEN_EXPLAINS_LEAST 0.5

bool lull_uneven_explains(const struct lull_case *c, const struct lull_uneven *uneven,
                          const struct lull_suspicion *suspicion)
{
    return (uneven->most - uneven->mean) * c->processes >=
           UNEVEN_EXPLAINS_LEAST * (double)suspicion->ns;
}

bool lull_uneven_is_late(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const struct lull_uneven peers = lull_peers_of(c, suspect);
    const double own = lull_suspect_work(c, suspect);
    return (own - peers.median) * (c->processes - 1) >= UNEVEN_EXPLAINS_LEAST * (double)suspect->ns;
}

/* ==== imbalance =============================================================================== */

/* The same processes are long in a region each time, and many: the work is divided unevenly. Told is how
 * long they are without the time in which they had no core.
 * Evidence: charges of waits and useful time, by process and region; counters for why. Formula: the
 * sum of the charges, of which (most - mean) x processes must explain half. Silent: where few
 * processes are to blame, where the culprits change, and below 1 % of the core time. */

static void tell_imbalance(struct lull_case *c, const struct lull_suspicion *suspicion,
                           const struct lull_uneven *uneven)
{
    const struct lull_suspect *first = &c->suspects[suspicion->first];
    const uint32_t call = first->most->place.call;
    struct lull_uneven with_core = lull_uneven_with_core(c, suspicion, LULL_NONE);
    const double without = uneven->most - with_core.most;
    const bool corrected = without >= LULL_CORRECTED_LEAST * uneven->most;
    if (!corrected)
        with_core = *uneven;
    struct lull_finding *finding = lull_case_add(c, suspicion->ns);
    lull_finding_set_region(c, finding, suspicion->region, call);
    finding->place.instance = first->process;
    finding->place.begin = first->longest->longest.begin;
    finding->place.end = finding->place.begin + first->longest->longest.ns;
    finding->bound_ns = (int64_t)(with_core.most - with_core.mean);
    lull_finding_add_fact(finding, "mean", "mean useful time there", LULL_FACT_TIME,
                          with_core.mean);
    lull_finding_add_fact(finding, "longest", "of the longest process", LULL_FACT_TIME,
                          with_core.most);
    if (corrected)
        lull_finding_add_fact(finding, "without_core", "that the longest takes less without a core",
                              LULL_FACT_TIME, without);
    lull_finding_add_fact(finding, "processes", "processes that others wait for", LULL_FACT_COUNT,
                          suspicion->principal);
    finding->sentence = lull_arena_printf(
        c->arena,
        "The work %s is uneven: the longest process takes %s, the mean %s; others wait %s for %u "
        "processes.",
        lull_case_where(c, suspicion->region, call), lull_case_time(c, (int64_t)with_core.most),
        lull_case_time(c, (int64_t)with_core.mean), lull_case_time(c, suspicion->ns),
        suspicion->principal);
    const struct lull_evidence_speed speed =
        lull_evidence_speed(c->evidence, first->process, LULL_NONE);
    finding->cause = lull_evidence_cause(&speed, c->arena);
    struct lull_where where;
    const bool known = lull_where_late(c, first, &where);
    if (known) {
        lull_where_set(c, finding, &where);
        finding->cause =
            lull_arena_printf(c->arena, "Of what rank %u has more than the median, %s. %s",
                              c->evidence->trace->processes[first->process].rank,
                              lull_where_text(c, &where, 1, " is"), finding->cause);
    }
    if (corrected)
        finding->cause = lull_arena_printf(
            c->arena, "%s Time in which they had no core, %s of the longest, is not counted.",
            finding->cause, lull_case_time(c, (int64_t)without));
    lull_where_explain(c, finding, known ? &where : NULL, known ? 1 : 0);
    const double share =
        uneven->most > uneven->mean
            ? fmin(1, (with_core.most - with_core.mean) / (uneven->most - uneven->mean))
            : 1;
    if (lull_fix_share(share) <= 0) {
        finding->gain.absent = "All that they are uneven by is time in which they had no core.";
        return;
    }
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->balance = true;
    fix->balanced = finding->place.region;
    fix->balance_share = lull_fix_share(share);
}

static void find_imbalance(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    for (uint32_t s = 0; s < c->n_suspicions && work; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        if (suspicion->few || suspicion->at_end || suspicion->ns < c->least_ns)
            continue;
        const struct lull_uneven uneven = lull_uneven_of(c, suspicion, LULL_NONE);
        if (!lull_uneven_explains(c, &uneven, suspicion))
            continue;
        tell_imbalance(c, suspicion, &uneven);
        suspicion->ns = 0;
    }
}

const struct lull_rule lull_rule_imbalance = {
    "imbalance", "uneven work", "the same processes are long in a region, and many are",
    find_imbalance};

/* ==== a process as long as its peers ========================================================== */

void lull_finding_cut(struct lull_case *c, struct lull_finding *finding,
                      const struct lull_suspect *suspect, double share)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    const char *region = finding->place.region;
    if (region && c->evidence->work && lull_peers_of(c, suspect).median <= 0) {
        fix->n_regions = 1;
        fix->regions[0] = region;
        fix->factors[0] = fmax(LULL_CASE_NOTHING, 1 - share);
        return;
    }
    fix->n_cuts = 1;
    fix->cuts[0] =
        (struct lull_what_if_cut){.rank = finding->place.rank, .region = region, .share = share};
}
