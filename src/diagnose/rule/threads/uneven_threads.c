/* Threads of a parallel region wait for the longest.
 * Evidence: useful time of each execution's threads, time at barriers and for locks. Formula: the
 * sum of what threads have less than the longest of their execution, no more than they wait at
 * barriers. Silent: below 1 % of the core time, and where threads wait longer for locks there: then
 * these are why they come at different times. Sums suffice; with events the thread is named for
 * which others wait four fifths of the time at barriers there. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/threads/late_thread.h"
#include "diagnose/rule/threads/parallels.h"

static void tell_uneven(struct lull_case *c, const struct lull_parallels *of)
{
    struct lull_finding *finding = lull_case_add(c, of->imbalance_ns);
    finding->place.region = of->name;
    lull_parallels_set_process(c, finding, of);
    lull_finding_add_fact(finding, "executions", "executions", LULL_FACT_COUNT,
                          (double)of->executions);
    lull_finding_add_fact(finding, "useful", "computation of all threads there", LULL_FACT_TIME,
                          (double)of->useful_ns);
    finding->sentence = lull_arena_printf(
        c->arena,
        "Threads work unevenly in %s: while the longest still computes, the others lose %s in %.0f "
        "execution%s.",
        of->name, lull_case_time(c, of->imbalance_ns), (double)of->executions,
        of->executions == 1 ? "" : "s");
    const struct lull_late_thread late = lull_late_thread_of(c, LULL_WAIT_THREAD_BARRIER, of->name);
    lull_late_thread_tell(c, finding, &late,
                          "Iterations or tasks are not divided evenly among the threads");
    lull_threads_fix(c, finding, LULL_THREADS_BALANCED, of->name);
}

static void find_uneven_threads(struct lull_case *c)
{
    struct lull_parallels *all;
    const uint32_t n = lull_parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].imbalance_ns >= c->least_ns && all[i].imbalance_ns > all[i].lock_ns)
            tell_uneven(c, &all[i]); /* who waits for a lock is late for the barrier, too */
}

const struct lull_rule lull_rule_thread_imbalance = {
    "imbalance", "uneven threads", "threads of a parallel region wait for the longest",
    find_uneven_threads};
