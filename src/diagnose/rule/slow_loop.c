/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop takes more than twice as long as a model of the machine says.
 * Evidence: hot loops whose iterations are counted, with what ECM predicts of them on the machine of a
 * machine file. Formula: lost is what the loop took, without the share of it that the model allows. Silent:
 * without a machine file or samples; for loops that are not understood, or whose iterations are
 * not known; where the loop takes no more than SLOW_LOOP_LEAST of the useful time, or may run at half of what the
 * model allows: samples leave an interval for its time. Limit: the model knows no start of short loops, and no conflicts in caches. */
#include "diagnose/rules.h"

#define SLOW_LOOP_LEAST 0.05
#define SLOW_BELOW      0.5

static void tell_slow_loop(struct lull_case *c, const struct lull_evidence_loop *loop)
{
    const int64_t lost = (int64_t)((double)loop->useful_ns * (1 - loop->of_limit));
    if (lost < c->least_ns)
        return;
    const int64_t threads = c->core_ns / c->evidence->breakdown->runtime_ns;
    struct lull_finding *finding = lull_case_add(c, lost);
    finding->bound_ns = lost / (threads > 0 ? threads : 1);
    finding->place.site = lull_arena_printf(c->arena, "%s (%s)", loop->function, loop->name);
    lull_finding_add_fact(finding, "of_useful", "of the useful time", LULL_FACT_SHARE,
                          loop->of_useful);
    lull_finding_add_fact(finding, "of_limit", "of what the model allows", LULL_FACT_SHARE,
                          loop->of_limit);
    finding->sentence = lull_arena_printf(
        c->arena,
        "The loop %s in %s takes %.0f %% of the useful time, and runs at %.0f %% of what the model "
        "allows%s.",
        loop->name, loop->function, 100 * loop->of_useful, 100 * loop->of_limit,
        loop->other_machine ? " (on another machine)" : "");
    finding->cause = lull_arena_printf(
        c->arena, "An iteration takes %.3g ns, where its limit, %s, allows %.3g ns. %s",
        1e9 * loop->measured, loop->limit, 1e9 * loop->allowed,
        loop->compilation
            ? loop->compilation
            : "What the model does not know may be in the way: addresses that are powers of two "
              "apart, short loops, or others that use the memory.");
    finding->gain.absent = "No replay tells: what the loop would take by the model is no trace.";
    finding->next = lull_arena_printf(c->arena, "lull model kernel --of %s --machine FILE",
                                      lull_case_word(c, c->evidence->path));
}

static void find_slow_loops(struct lull_case *c)
{
    const struct lull_evidence *evidence = c->evidence;
    if (evidence->breakdown->runtime_ns <= 0)
        return;
    for (uint32_t i = 0; i < evidence->n_loops; i++) {
        const struct lull_evidence_loop *loop = &evidence->loops[i];
        if (loop->of_useful > SLOW_LOOP_LEAST && loop->of_limit_most < SLOW_BELOW)
            tell_slow_loop(c, loop);
    }
}

const struct lull_rule lull_rule_slow_loop = {
    "slow_loop", "slow loop", "a loop takes more than twice as long as the machine allows",
    find_slow_loops};
