/* All processes of one node are long in all regions, those elsewhere are not.
 * Evidence: useful time by process and region, the node of each process, charges of waits. Formula:
 * the mean of the node beside the median elsewhere; what others wait for its processes. Silent:
 * below three nodes, where one of its processes is not long, and where it is not in all regions. */
#include "diagnose/rule/rules.h"
#include "stats/quantile.h"

enum { NODES_LEAST = 3 }; /* of two it is not known which one is usual */
/* By which the node as a whole must be longer than the median of the others; every process of it by
 * that share of as much, and also each region with REGION_LEAST of the work. */
#define LONGER_NODE   1.05
#define EACH_LEAST    0.75
#define LONGER_REGION 1.02
#define REGION_LEAST  0.05

struct node {
    uint32_t members;
    int64_t charged_ns;
};

/* Of each process of the application: its node, and its useful time in a region, or in all. */
static double work_in(const struct lull_case *c, uint32_t process, uint32_t region, bool all)
{
    const struct lull_work *work = c->evidence->work;
    if (!all)
        return (double)lull_work_of(work, process, region);
    double ns = 0;
    for (uint32_t i = lull_work_first(work, process);
         i < work->n_places && work->places[i].process == process; i++)
        ns += (double)work->places[i].ns;
    return ns;
}

/* Mean and least of the node's processes, each as a ratio to the median of all others. */
static bool compare_node(const struct lull_case *c, uint32_t node, uint32_t region, bool all,
                         double *ret_mean, double *ret_least)
{
    const struct lull_trace *trace = c->evidence->trace;
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *others = lull_arena_zero(scratch, trace->n_processes + (size_t)1, sizeof *others);
    double sum = 0, least = INFINITY;
    uint32_t ours = 0, n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != c->evidence->application)
            continue;
        const double ns = work_in(c, p, region, all);
        if (trace->processes[p].node != node) {
            others[n++] = ns;
            continue;
        }
        sum += ns;
        least = fmin(least, ns);
        ours++;
    }
    lull_sort(others, n);
    const double median = n ? lull_median(others, n) : 0;
    lull_arena_destroy(scratch);
    if (ours == 0 || median <= 0)
        return false;
    *ret_mean = sum / ours / median;
    *ret_least = least / median;
    return true;
}

/* Whether it is longer in every region in which there is much work; *ret_regions: how many. */
static bool is_long_everywhere(const struct lull_case *c, uint32_t node, uint32_t *ret_regions)
{
    const struct lull_work *work = c->evidence->work;
    double total = 0, mean, least;
    *ret_regions = 0;
    for (uint32_t i = 0; i < work->n_places; i++)
        total += (double)work->places[i].ns;
    for (uint32_t i = 0; i < work->n_places; i++) {
        const struct lull_work_place *place = &work->places[i];
        if (place->process != work->places[0].process)
            break;
        double ns = 0;
        for (uint32_t p = 0; p < c->evidence->trace->n_processes; p++)
            ns += (double)lull_work_of(work, p, place->region);
        if (ns < REGION_LEAST * total)
            continue;
        ++*ret_regions;
        if (!compare_node(c, node, place->region, false, &mean, &least) || mean < LONGER_REGION)
            return false;
    }
    return true;
}

static void explain(struct lull_case *c, uint32_t node)
{
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        for (uint32_t i = suspicion->first; i < suspicion->first + suspicion->count; i++)
            if (c->evidence->trace->processes[c->suspects[i].process].node == node)
                lull_suspect_explain(c, suspicion, &c->suspects[i]);
        lull_suspicion_divide(c, suspicion);
    }
}

static void tell(struct lull_case *c, uint32_t node, const struct node *about, double ratio)
{
    struct lull_finding *finding = lull_case_add(c, about->charged_ns);
    finding->place.node = node;
    finding->place.node_name = c->evidence->trace->nodes[node].name;
    lull_finding_add_fact(finding, "ratio", "its work beside the median elsewhere", LULL_FACT_RATIO,
                          ratio);
    lull_finding_add_fact(finding, "processes", "its processes", LULL_FACT_COUNT, about->members);
    finding->sentence = lull_arena_printf(
        c->arena,
        "%s is a slow node: its %u processes compute %.0f %% longer than the others in every "
        "region, which others wait %s for.",
        finding->place.node_name, about->members, 100 * (ratio - 1),
        lull_case_time(c, about->charged_ns));
    const struct lull_evidence_speed speed = lull_evidence_speed(c->evidence, LULL_NONE, node);
    finding->cause = lull_evidence_cause(&speed, c->arena);
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->n_cuts = 1;
    fix->cuts[0] = (struct lull_what_if_cut){LULL_NONE, finding->place.node_name, NULL};
    finding->next = lull_arena_printf(
        c->arena, "lull replay %s --median %s", lull_case_word(c, c->evidence->path),
        lull_case_word(c, lull_arena_printf(c->arena, "node=%s", finding->place.node_name)));
}

static bool is_slow(const struct lull_case *c, uint32_t node, const struct node *about,
                    double *ret_ratio)
{
    double mean, least;
    uint32_t regions;
    if (about->charged_ns < c->least_ns || !compare_node(c, node, 0, true, &mean, &least) ||
        mean < LONGER_NODE || least - 1 < EACH_LEAST * (mean - 1) ||
        !is_long_everywhere(c, node, &regions))
        return false;
    *ret_ratio = mean;
    return about->members > 1 || regions > 1; /* one process in one region is a process */
}

static void find(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    const struct lull_work *work = c->evidence->work;
    if (!trace || !work || c->n_suspicions == 0 || trace->n_nodes < NODES_LEAST)
        return;
    struct node *nodes = lull_arena_zero(c->arena, trace->n_nodes, sizeof *nodes);
    uint32_t used = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (trace->processes[p].application == c->evidence->application &&
            trace->processes[p].node < trace->n_nodes)
            used += nodes[trace->processes[p].node].members++ == 0;
    if (used < NODES_LEAST)
        return;
    for (uint32_t s = 0; s < c->n_suspicions; s++)
        for (uint32_t i = 0; i < c->suspicions[s].count; i++) {
            const struct lull_suspect *suspect = &c->suspects[c->suspicions[s].first + i];
            const uint32_t node = trace->processes[suspect->process].node;
            if (node < trace->n_nodes)
                nodes[node].charged_ns += suspect->ns;
        }
    for (uint32_t node = 0; node < trace->n_nodes; node++) {
        double ratio;
        if (nodes[node].members == 0 || !is_slow(c, node, &nodes[node], &ratio))
            continue;
        tell(c, node, &nodes[node], ratio);
        explain(c, node);
    }
}

const struct lull_rule lull_rule_slow_node = {
    "slow_node", "slow node", "all processes of one node are long in all regions", find};
