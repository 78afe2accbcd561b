/* SPDX-License-Identifier: BSD-3-Clause */
/* All processes of one node are long in all regions, those elsewhere are not.
 * Evidence: useful time by process and region, the node of each process, charges of waits. Formula:
 * the mean of the node beside the median elsewhere; what others wait for its processes. Silent:
 * below three nodes, where one of its processes is not long, and where it is not in all regions. */
#include "diagnose/rules.h"
#include "stats/quantile.h"

enum { NODES_LEAST = 3 }; /* of two it is not known which one is usual */

/* The node as a whole must be longer than the median of the others by LONGER_NODE. Each of its
 * processes must be so by the share EACH_LEAST of that, and so must the node be in each region with
 * REGION_LEAST of the work. */
#define LONGER_NODE   1.05
#define EACH_LEAST    0.75
#define LONGER_REGION 1.02
#define REGION_LEAST  0.05

enum { REGIONS_MOST = 20 }; /* regions that can have as much */

struct node {
    uint32_t members;
    int64_t charged_ns;
};

/* Useful time by process, [n_processes] of the trace: of all regions, and of each that has much. */
struct work_of_nodes {
    double *all;
    uint32_t regions[REGIONS_MOST];
    uint32_t n_regions;
};

static bool is_ours(const struct lull_case *c, uint32_t process)
{
    return lull_evidence_has(c->evidence, process);
}

/* Goes once over all places: how much work each process and each region have. */
static struct work_of_nodes add_up(struct lull_case *c)
{
    const struct lull_work *work = c->evidence->work;
    const struct lull_trace *trace = c->evidence->trace;
    struct work_of_nodes nodes = {
        .all = lull_arena_zero(c->arena, trace->n_processes + (size_t)1, sizeof *nodes.all)};
    struct lull_arena *scratch = lull_arena_create(NULL);
    /* The last one is outside of any region. */
    double *regions = lull_arena_zero(scratch, trace->n_regions + (size_t)1, sizeof *regions);
    double total = 0;
    for (uint32_t i = 0; i < work->n_places; i++) {
        const struct lull_work_place *place = &work->places[i];
        if (!is_ours(c, place->process))
            continue;
        nodes.all[place->process] += (double)place->ns;
        regions[place->region < trace->n_regions ? place->region : trace->n_regions] +=
            (double)place->ns;
        total += (double)place->ns;
    }
    for (uint32_t r = 0; r <= trace->n_regions && nodes.n_regions < REGIONS_MOST; r++)
        if (regions[r] > 0 && regions[r] >= REGION_LEAST * total)
            nodes.regions[nodes.n_regions++] = r < trace->n_regions ? r : LULL_NONE;
    lull_arena_destroy(scratch);
    return nodes;
}

/* Mean and least of the node's processes, each as a ratio to the median of all others: in a region,
 * or with `all` by the times of all regions. */
static bool compare_node(const struct lull_case *c, uint32_t node, uint32_t region,
                         const double *all, double *ret_mean, double *ret_least)
{
    const struct lull_trace *trace = c->evidence->trace;
    struct lull_arena *scratch = lull_arena_create(NULL);
    double *others = lull_arena_zero(scratch, trace->n_processes + (size_t)1, sizeof *others);
    double sum = 0, least = INFINITY;
    uint32_t ours = 0, n = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (!is_ours(c, p))
            continue;
        const double ns = all ? all[p] : (double)lull_work_of(c->evidence->work, p, region, false);
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

/* Whether it is longer in every region in which there is much work. */
static bool is_long_everywhere(const struct lull_case *c, uint32_t node,
                               const struct work_of_nodes *work)
{
    double mean, least;
    for (uint32_t i = 0; i < work->n_regions; i++)
        if (!compare_node(c, node, work->regions[i], NULL, &mean, &least) || mean < LONGER_REGION)
            return false;
    return true;
}

static void explain(struct lull_case *c, uint32_t node)
{
    for (uint32_t s = 0; s < c->n_suspicions; s++) {
        struct lull_suspicion *suspicion = &c->suspicions[s];
        for (uint32_t i = suspicion->first; i < suspicion->first + suspicion->count; i++)
            if (c->evidence->trace->processes[c->suspects[i].process].node == node)
                lull_suspect_explain(suspicion, &c->suspects[i]);
        lull_suspicion_divide(c, suspicion);
    }
}

static void tell_slow_node(struct lull_case *c, uint32_t node, const struct node *about,
                           double ratio)
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
    fix->cuts[0] = (struct lull_what_if_cut){.rank = LULL_NONE, .node = finding->place.node_name};
}

static bool is_slow(const struct lull_case *c, uint32_t node, const struct node *about,
                    const struct work_of_nodes *work, double *ret_ratio)
{
    double mean, least;
    if (about->charged_ns < c->least_ns || !compare_node(c, node, 0, work->all, &mean, &least) ||
        mean < LONGER_NODE || least - 1 < EACH_LEAST * (mean - 1) ||
        !is_long_everywhere(c, node, work))
        return false;
    *ret_ratio = mean;
    return about->members > 1 || work->n_regions > 1; /* a single process in a single region is no
                                                         node */
}

static void find_slow_node(struct lull_case *c)
{
    const struct lull_trace *trace = c->evidence->trace;
    if (!trace || !c->evidence->work || c->n_suspicions == 0 || trace->n_nodes < NODES_LEAST)
        return;
    struct node *nodes = lull_arena_zero(c->arena, trace->n_nodes, sizeof *nodes);
    uint32_t used = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (lull_evidence_has(c->evidence, p) && trace->processes[p].node < trace->n_nodes)
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
    const struct work_of_nodes in_all = add_up(c);
    for (uint32_t node = 0; node < trace->n_nodes; node++) {
        double ratio;
        if (nodes[node].members == 0 || !is_slow(c, node, &nodes[node], &in_all, &ratio))
            continue;
        tell_slow_node(c, node, &nodes[node], ratio);
        explain(c, node);
    }
}

const struct lull_rule lull_rule_slow_node = {
    "slow_node", "slow node", "all processes of one node are long in all regions", find_slow_node};
