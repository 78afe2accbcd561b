/* Threads ask for iterations too often.
 * Evidence: regions of scheduling that are entered several times as often as threads enter parallel
 * regions, which are those that hand out iterations. Formula: their time, beside the computation of
 * one chunk. Silent: below 1 % of the core time, and where the compiler's runtime tells no chunks.
 */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/threads/scheduling.h"

static void find_chunk(struct lull_case *c)
{
    const struct lull_scheduling of = lull_scheduling_of(c);
    if (of.chunk_ns < c->least_ns || !of.most)
        return;
    struct lull_finding *finding = lull_case_add(c, of.chunk_ns);
    const int64_t work = of.most->useful_ns / (int64_t)of.chunks;
    finding->place.region = of.most->name;
    lull_parallels_set_process(c, finding, of.most);
    lull_finding_add_fact(finding, "chunks", "chunks that were asked for", LULL_FACT_COUNT,
                          (double)of.chunks);
    lull_finding_add_fact(finding, "each", "to get one", LULL_FACT_TIME,
                          (double)of.chunk_ns / (double)of.chunks);
    lull_finding_add_fact(finding, "work", "computation of one", LULL_FACT_TIME, (double)work);
    finding->sentence =
        lull_arena_printf(c->arena, "To get %.0f chunks of iterations takes %s, most in %s.",
                          (double)of.chunks, lull_case_time(c, of.chunk_ns), of.most->name);
    finding->cause = "The chunks are small: larger ones are asked for less often.";
    lull_threads_fix(c, finding, LULL_THREADS_NO_SCHEDULING, of.most->name);
}

const struct lull_rule lull_rule_chunk = {"chunk", "small chunks",
                                          "threads ask for iterations too often", find_chunk};
