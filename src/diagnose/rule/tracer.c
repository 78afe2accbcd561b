/* SPDX-License-Identifier: BSD-3-Clause */
/* The tracer took time itself.
 * Evidence: time in which it wrote its buffer, which traces tell as an activity of its own; waits
 * that are charged to a process in a region in which it computed nothing. Formula: the sum over
 * threads, and these waits of processes that flushed, no more than all others together can wait
 * for that. Silent: below 1 % of the core time. Waits need events. */
#include "diagnose/rules.h"

/* What the CPU threads of a process flushed. */
static int64_t flushed_by(const struct lull_evidence *evidence, uint32_t process)
{
    const struct lull_process_breakdown *of = lull_evidence_breakdown(evidence, process);
    int64_t ns = 0;
    for (uint32_t t = 0; of && t < of->n_cpu_threads; t++) {
        const struct lull_thread_breakdown *thread =
            &evidence->breakdown->threads[of->first_thread + t];
        ns += thread->times.ns[LULL_FLUSH][0] + thread->times.ns[LULL_FLUSH][1];
    }
    return ns;
}

static bool waits_for_tracer(const struct lull_case *c, const struct lull_suspect *suspect)
{
    const struct lull_evidence *evidence = c->evidence;
    return suspect->ns > 0 && evidence->work &&
           lull_work_of(evidence->work, suspect->process, suspect->region, suspect->inside) == 0 &&
           suspect->ns <= flushed_by(evidence, suspect->process) * (c->processes - 1);
}

/* What others waited for processes that flushed. *ret_longest: the suspect with the longest of
 * these waits; NULL: nobody waited. */
static int64_t find_waits(const struct lull_case *c, const struct lull_suspect **ret_longest)
{
    int64_t ns = 0;
    *ret_longest = NULL;
    for (uint32_t s = 0; s < c->n_suspicions; s++)
        for (uint32_t i = 0; i < c->suspicions[s].count; i++) {
            const struct lull_suspect *suspect = &c->suspects[c->suspicions[s].first + i];
            if (!waits_for_tracer(c, suspect))
                continue;
            ns += suspect->ns;
            if (!*ret_longest || suspect->longest->longest.ns > (*ret_longest)->longest->longest.ns)
                *ret_longest = suspect;
        }
    return ns;
}

/* Explains these waits, so that no other rule tells them again. */
static void explain_waits(struct lull_case *c)
{
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        for (uint32_t i = 0; i < suspicion->count; i++)
            if (waits_for_tracer(c, &c->suspects[suspicion->first + i]))
                lull_suspect_explain(suspicion, &c->suspects[suspicion->first + i]);
        lull_suspicion_divide(c, suspicion);
    }
}

static void tell_waits(struct lull_case *c, struct lull_finding *finding, int64_t waited,
                       const struct lull_suspect *longest)
{
    finding->sentence = lull_arena_printf(c->arena, "%s; others wait %s for that.",
                                          finding->sentence, lull_case_time(c, waited));
    lull_finding_add_fact(finding, "waited", "others waited", LULL_FACT_TIME, (double)waited);
    finding->place.instance = longest->process;
    finding->place.begin = longest->longest->longest.begin;
    finding->place.end = finding->place.begin + longest->longest->longest.ns;
}

static void find_tracer(struct lull_case *c)
{
    const struct lull_suspect *longest;
    const int64_t flushed = lull_evidence_activity_ns(c->evidence, LULL_FLUSH);
    const int64_t waited = find_waits(c, &longest);
    if (flushed + waited < c->least_ns)
        return;
    struct lull_finding *finding = lull_case_add(c, flushed + waited);
    finding->sentence =
        lull_arena_printf(c->arena, "The tracer wrote its buffer for %s of the threads' time",
                          lull_case_time(c, flushed));
    lull_finding_add_fact(finding, "flushed", "it wrote", LULL_FACT_TIME, (double)flushed);
    if (longest)
        tell_waits(c, finding, waited, longest);
    else
        finding->sentence = lull_arena_printf(c->arena, "%s.", finding->sentence);
    explain_waits(c);
    finding->cause = "It is not the program: with a larger buffer, or with less to record, the "
                     "tracer does not write while the program runs.";
}

const struct lull_rule lull_rule_tracer = {"tracer", "tracer", "the tracer took time itself",
                                           find_tracer};
