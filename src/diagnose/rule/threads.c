/* Threads that do not compute: outside parallel regions, or unevenly inside them. Both are in the
 * breakdown, so that sums suffice. */
#include "diagnose/rule/rules.h"

#include "diagnose/rule/parallels.h"

static struct lull_what_if_threads *change(struct lull_case *c, struct lull_finding *finding,
                                           uint8_t what, const char *region)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->n_threads = 1;
    fix->threads[0] = (struct lull_what_if_threads){what, region};
    return &fix->threads[0];
}

/* ---- serial -------------------------------------------------------------------------------- */

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

static void serial(struct lull_case *c)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t longest;
    uint32_t at;
    const int64_t lost = find_serial(breakdown, &at, &longest);
    if (lost < c->least_ns)
        return;
    const struct lull_process_breakdown *process = &breakdown->processes[at];
    const uint32_t of = lull_evidence_process_of_rank(c->evidence, process->rank);
    struct lull_finding *finding = lull_case_add(c, lost);
    const double limit = (double)breakdown->runtime_ns / (double)longest;
    if (of != LULL_NONE && breakdown->n_processes == 1)
        lull_finding_set_process(c, finding, of);
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
    change(c, finding, LULL_THREADS_NO_SERIAL, NULL);
    finding->next = lull_arena_printf(c->arena, "lull replay %s --no-serial",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_serial = {
    "serial", "serial part", "one thread computes outside of parallel regions", serial};

/* ---- imbalance ----------------------------------------------------------------------------- */

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
    finding->cause = "Iterations or tasks are not divided evenly among the threads.";
    change(c, finding, LULL_THREADS_BALANCED, of->name);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s --balance-threads=%s",
                          lull_case_word(c, c->evidence->path), lull_case_word(c, of->name));
}

static void uneven_threads(struct lull_case *c)
{
    struct lull_parallels *all;
    const uint32_t n = lull_parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].imbalance_ns >= c->least_ns && all[i].imbalance_ns > all[i].lock_ns)
            tell_uneven(c, &all[i]); /* who waits for a lock is late for the barrier, too */
}

const struct lull_rule lull_rule_thread_imbalance = {
    "imbalance", "uneven threads", "threads of a parallel region wait for the longest",
    uneven_threads};

/* ---- locks --------------------------------------------------------------------------------- */

static void lock(struct lull_case *c)
{
    const int64_t lost = lull_case_activity_ns(c, LULL_OMP_LOCK);
    struct lull_parallels *all;
    if (lost < c->least_ns)
        return;
    const uint32_t n = lull_parallels_of(c, &all);
    const struct lull_parallels *most = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (all[i].lock_ns > 0 && (!most || all[i].lock_ns > most->lock_ns))
            most = &all[i];
    const struct lull_region_breakdown *region = lull_case_region_of(c, LULL_OMP_LOCK);
    struct lull_finding *finding = lull_case_add(c, lost);
    if (most) {
        finding->place.region = most->name;
        lull_parallels_set_process(c, finding, most);
    }
    if (region) {
        finding->place.site = *region->site ? region->site : region->name;
        lull_finding_add_fact(finding, "waits", "times that a lock was asked for", LULL_FACT_COUNT,
                              (double)region->visits);
    }
    finding->sentence = lull_arena_printf(
        c->arena, "Threads wait %s for locks, critical sections or their turn%s%s%s.",
        lull_case_time(c, lost), most ? ", most in " : "", most ? most->name : "",
        region ? lull_arena_printf(c->arena, " (%s)", region->name) : "");
    finding->cause = "One thread at a time goes on there.";
    change(c, finding, LULL_THREADS_NO_LOCKS, NULL);
    finding->next = lull_arena_printf(c->arena, "lull replay %s --no-locks",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_lock = {
    "lock", "locks", "threads wait for locks, critical sections and ordered", lock};

/* ---- fork, join, chunks -------------------------------------------------------------------- */

/* To divide the iterations: the regions of scheduling that are entered more often than threads
 * enter and leave parallel regions. */
enum { ENTERED_MORE = 4 };

static int64_t chunk_ns(const struct lull_case *c, uint64_t forks, uint64_t *ret_chunks)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    int64_t ns = 0;
    *ret_chunks = 0;
    for (uint32_t r = 0; r < breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &breakdown->regions[r];
        if (region->activity != LULL_OMP_SCHEDULE || region->visits <= ENTERED_MORE * forks)
            continue;
        ns += region->exclusive_ns;
        *ret_chunks += region->visits;
    }
    return ns;
}

struct scheduling {
    int64_t fork_ns, chunk_ns;
    uint64_t executions, forks, chunks;
    const struct lull_parallels *most; /* with most time of it */
};

static struct scheduling find_scheduling(struct lull_case *c)
{
    struct scheduling of = {0};
    struct lull_parallels *all;
    const uint32_t n = lull_parallels_of(c, &all);
    for (uint32_t i = 0; i < n; i++) {
        of.executions += all[i].executions;
        of.forks += all[i].executions * all[i].threads;
        if (!of.most || all[i].schedule_ns > of.most->schedule_ns)
            of.most = &all[i];
    }
    of.chunk_ns = chunk_ns(c, of.forks, &of.chunks);
    of.fork_ns = lull_case_activity_ns(c, LULL_OMP_SCHEDULE) - of.chunk_ns;
    return of;
}

static void fork_join(struct lull_case *c)
{
    const struct scheduling of = find_scheduling(c);
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
    change(c, finding, LULL_THREADS_NO_SCHEDULING, NULL);
    finding->next = lull_arena_printf(c->arena, "lull replay %s --no-scheduling",
                                      lull_case_word(c, c->evidence->path));
}

const struct lull_rule lull_rule_fork_join = {
    "fork_join", "fork and join", "parallel regions take long to begin and end", fork_join};

static void chunk(struct lull_case *c)
{
    const struct scheduling of = find_scheduling(c);
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
    change(c, finding, LULL_THREADS_NO_SCHEDULING, of.most->name);
    finding->next =
        lull_arena_printf(c->arena, "lull replay %s --no-scheduling=%s",
                          lull_case_word(c, c->evidence->path), lull_case_word(c, of.most->name));
}

const struct lull_rule lull_rule_chunk = {"chunk", "small chunks",
                                          "threads ask for iterations too often", chunk};
