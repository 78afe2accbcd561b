/* The tracer took time itself.
 * Evidence: time in which it wrote its buffer, which traces tell as an activity of its own.
 * Formula: the sum over threads. Silent: below 1 % of the core time. */
#include "diagnose/rule/rules.h"

static void find(struct lull_case *c)
{
    const int64_t lost = lull_evidence_activity_ns(c->evidence, LULL_FLUSH);
    if (lost < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, lost);
    finding->sentence =
        lull_arena_printf(c->arena, "The tracer wrote its buffer for %s of the threads' time.",
                          lull_case_time(c, lost));
    finding->cause = "It is not the program: without the tracer it is faster, and others do not "
                     "wait for it.";
}

const struct lull_rule lull_rule_tracer = {"tracer", "tracer", "the tracer took time itself", find};
