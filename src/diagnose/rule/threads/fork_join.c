/* Parallel regions take long to begin and end.
 * Evidence: time in scheduling (from the fork until a thread computes, and its like at the end),
 * less what it takes to get chunks. Formula: the sum over threads, beside what one execution
 * computes. Silent: below 1 % of the core time, and where nothing says which regions there are. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/threads/scheduling.h"

static void find_fork_join(struct lull_case *c)
{
    const struct lull_scheduling of = lull_scheduling_of(c);
    if (of.fork_ns < c->least_ns || !of.most || of.executions == 0)
        return;
    struct lull_finding *finding = lull_case_add(c, of.fork_ns);
    const int64_t each = of.fork_ns / (int64_t)of.executions;
    const int64_t work = of.most->useful_ns / (int64_t)of.most->executions;
    finding->place.region = of.most->name;
    lull_parallels_set_process(c, finding, of.most);
    lull_finding_add_fact(finding, "executions", "executions of parallel regions", LULL_FACT_COUNT,
                          (double)of.executions);
    lull_finding_add_fact(finding, "each", "fork and join of one, over its threads", LULL_FACT_TIME,
                          (double)each);
    lull_finding_add_fact(finding, "work", "computation of one, likewise", LULL_FACT_TIME,
                          (double)work);
    finding->sentence = lull_arena_printf(
        c->arena,
        "To begin and end %.0f executions of parallel regions takes %s of the threads' time, most "
        "in %s, where one computes for %s.",
        (double)of.executions, lull_case_time(c, of.fork_ns), of.most->name,
        lull_case_time(c, work));
    finding->cause = "Parallel regions that are short, or threads that have to be woken up.";
    lull_threads_fix(c, finding, LULL_THREADS_NO_SCHEDULING, NULL);
}

const struct lull_rule lull_rule_fork_join = {
    "fork_join", "fork and join", "parallel regions take long to begin and end", find_fork_join};
