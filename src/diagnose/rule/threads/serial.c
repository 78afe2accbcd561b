/* One thread computes outside of parallel regions.
 * Evidence: useful time of the first thread outside parallel regions. Formula: (threads - 1) x that
 * of core time; the runtime divided by the serial time limits the speedup: G. Amdahl, Validity of
 * the single processor approach, AFIPS 1967. Silent: below 1 % of the core time, and for processes
 * of one thread. Sums suffice. */
#include "diagnose/rule/rules.h"
#include "diagnose/rule/threads/parallels.h"

/* The process whose serial part is longest, and what all lose by theirs. */
static int64_t find_serial(const struct lull_breakdown *breakdown, uint32_t *ret_process,
                           int64_t *ret_longest)
{
    int64_t lost = 0;
    *ret_longest = 0;
    *ret_process = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        const struct lull_process_breakdown *process = &breakdown->processes[p];
        if (process->n_cpu_threads < 2)
            continue;
        const int64_t ns = breakdown->threads[process->first_thread].times.ns[LULL_USEFUL][0];
        lost += ns * (process->n_cpu_threads - 1);
        if (ns > *ret_longest) {
            *ret_longest = ns;
            *ret_process = p;
        }
    }
    return lost;
}

/* The region in which most of it is, if that is half of it. */
static uint32_t region_of_serial(const struct lull_case *c, uint32_t process, int64_t serial)
{
    const struct lull_work *work = c->evidence->work;
    uint32_t most = LULL_NONE;
    int64_t ns = 0;
    if (!work || !c->evidence->trace || process == LULL_NONE)
        return LULL_NONE;
    for (uint32_t i = lull_work_first(work, process);
         i < work->n_places && work->places[i].process == process; i++)
        if (work->places[i].serial_ns > ns) {
            ns = work->places[i].serial_ns;
            most = work->places[i].region;
        }
    return 2 * ns >= serial ? most : LULL_NONE;
}

static void find_serial_time(struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t longest;
    uint32_t at;
    const int64_t lost = find_serial(breakdown, &at, &longest);
    if (lost < c->least_ns || longest <= 0)
        return;
    const struct lull_process_breakdown *process = &breakdown->processes[at];
    const uint32_t of = lull_evidence_process_of_rank(c->evidence, process->rank);
    struct lull_finding *finding = lull_case_add(c, lost);
    const double limit = (double)breakdown->runtime_ns / (double)longest;
    if (of != LULL_NONE && breakdown->n_processes == 1) {
        lull_finding_set_process(c, finding, of);
        finding->place.location = c->evidence->trace->processes[of].first_location;
    }
    lull_finding_set_region(c, finding, region_of_serial(c, of, longest), LULL_NONE);
    finding->bound_ns = longest - longest / process->n_cpu_threads;
    lull_finding_add_fact(finding, "serial", "computation outside parallel regions", LULL_FACT_TIME,
                          (double)longest);
    lull_finding_add_fact(finding, "threads", "threads of the process", LULL_FACT_COUNT,
                          process->n_cpu_threads);
    lull_finding_add_fact(finding, "limit",
                          "limit of the speedup over this run with ever more "
                          "threads",
                          LULL_FACT_RATIO, limit);
    finding->sentence = lull_arena_printf(
        c->arena,
        "%s of %s are serial%s: the other threads are idle for %s, and more threads make it at "
        "most %.2fx as fast.",
        lull_case_time(c, longest), lull_case_time(c, breakdown->runtime_ns),
        breakdown->n_processes > 1 ? lull_arena_printf(c->arena, " on rank %u", process->rank) : "",
        lull_case_time(c, lost), limit);
    finding->cause = "One thread computes outside of parallel regions (Amdahl's law).";
    lull_threads_fix(c, finding, LULL_THREADS_NO_SERIAL, NULL);
    finding->fixed = "Divided among its threads";
}

const struct lull_rule lull_rule_serial = {
    "serial", "serial part", "one thread computes outside of parallel regions", find_serial_time};
