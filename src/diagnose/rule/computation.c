/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on computation: processes compute more in all than in the reference run, or wait for memory, or a loop takes
 * longer than it has to. */
#include "diagnose/rules.h"
#include "diagnose/where.h"

/* ==== computation that grows with processes =================================================== */

/* The same work takes longer on more cores than in another run.
 *
 * Evidence: useful time of both runs, and metrics of scaling where counters were read. Formula: the
 * useful time now less that of the other run, the latter times the growth of the cores where the
 * work grows with them; frequency x IPC x instructions scaling = computation scaling. Silent: with
 * one run, below 1 %; the cause without counters. */

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

/* ==== memory bandwidth ======================================================================== */

/* More cores of a node share its memory than in another run, and execute fewer instructions per
 * cycle, as far as the memory explains that.
 * Evidence: IPC of both runs, how many threads compute on a node in each, and from a machine file
 * the bandwidth by cores. Formula: what each core gets falls from b(n0)/n0 to b(n)/n, which is the
 * most that a program loses whose every instruction waits for memory (the naive saturation of
 * H. Stengel et al., Quantifying Performance Bottlenecks of Stencil Computations Using the
 * Execution-Cache-Memory Model, ICS 2015, 10.1145/2751205.2751240); lost is the useful time x
 * (1 - IPC / IPC before). Silent: without counters, machine file, nodes, or another run on fewer
 * cores of a node; where IPC falls by more than memory explains; below 1 %. */

/* IPC, and the bandwidth that a core gets, must fall at least to FALLS_TO; IPC may fall by the
 * factor BEYOND more than memory explains. */
#define FALLS_TO 0.95
#define BEYOND   1.05

/* CPU threads of the node with most of them; 0: no process says where it is. */
static uint32_t cores_of_node(struct lull_case *c, const struct lull_breakdown *breakdown)
{
    uint32_t nodes = 0, most = 0;
    for (uint32_t p = 0; p < breakdown->n_processes; p++)
        if (breakdown->processes[p].node != LULL_NONE && breakdown->processes[p].node >= nodes)
            nodes = breakdown->processes[p].node + 1;
    uint32_t *threads = lull_arena_zero(c->arena, nodes + (size_t)1, sizeof *threads);
    for (uint32_t p = 0; p < breakdown->n_processes; p++) {
        const struct lull_process_breakdown *process = &breakdown->processes[p];
        if (process->node == LULL_NONE)
            continue;
        threads[process->node] += process->n_cpu_threads;
        most = threads[process->node] > most ? threads[process->node] : most;
    }
    return most;
}

static void tell_memory_bandwidth(struct lull_case *c, uint32_t before, uint32_t now, double ipc,
                                  double share)
{
    const int64_t useful = lull_evidence_activity_ns(c->evidence, LULL_USEFUL);
    const int64_t lost = (int64_t)((double)useful * (1 - ipc));
    if (lost < c->least_ns)
        return;
    const int64_t threads = c->core_ns / c->evidence->breakdown->runtime_ns;
    struct lull_finding *finding = lull_case_add(c, lost);
    finding->bound_ns = lost / (threads > 0 ? threads : 1);
    lull_finding_add_fact(finding, "ipc_scaling", "instructions per cycle beside the reference",
                          LULL_FACT_RATIO, ipc);
    lull_finding_add_fact(finding, "bandwidth", "bandwidth of a core, likewise", LULL_FACT_RATIO,
                          share);
    lull_finding_add_fact(finding, "cores", "cores that share a node's memory", LULL_FACT_COUNT,
                          now);
    finding->sentence = lull_arena_printf(
        c->arena,
        "%u cores share the memory of a node instead of %u in %s, and execute %.2f x its "
        "instructions per cycle: that takes %s of core time.",
        now, before, c->evidence->reference_name, ipc, lull_case_time(c, lost));
    finding->cause = lull_arena_printf(
        c->arena,
        "By the machine file each core then gets %.2f x the bandwidth of memory, which can explain "
        "it.",
        share);
    finding->gain.absent = "No replay tells: how much of the computation waits for memory is not "
                           "in the trace.";
    finding->next = "lull model kernel FILE.c --machine FILE --cores N";
}

static void find_memory_bandwidth(struct lull_case *c)
{
    const struct lull_evidence *evidence = c->evidence;
    if (!evidence->reference || !evidence->memory || evidence->breakdown->runtime_ns <= 0)
        return;
    const uint32_t before = cores_of_node(c, evidence->reference);
    const uint32_t now = cores_of_node(c, evidence->breakdown);
    const double ipc = lull_evidence_value(evidence, "ipc_scaling");
    const double share =
        lull_memory_of_core(evidence->memory, now) / lull_memory_of_core(evidence->memory, before);
    if (before > 0 && now > before && ipc <= FALLS_TO && share <= FALLS_TO && share <= ipc * BEYOND)
        tell_memory_bandwidth(c, before, now, ipc, share);
}

const struct lull_rule lull_rule_memory_bandwidth = {
    "memory_bandwidth", "memory bandwidth", "more cores share a node's memory, and wait for it",
    find_memory_bandwidth};

/* ==== slow loops ============================================================================== */

/* A loop takes more than twice as long as a model of the machine says.
 * Evidence: hot loops whose iterations are counted, with what ECM predicts of them on the machine of a
 * machine file. Formula: lost is what the loop took, without the share of it that the model allows. Silent:
 * without a machine file or samples; for loops that are not understood, or whose iterations are
 * not known; where the loop takes no more than SLOW_LOOP_LEAST of the useful time, or may run at half of what the
 * model allows: samples leave an interval for its time. Limit: the model knows no start of short loops, and no conflicts in caches. */

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
