/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a run had over time, by node. */
#include "metrics/windows.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOMENTS = 100, NODES_SHOWN = 5 };

/* A line for what there is, dashed, stands in the picture where they had this share of it. */
#define SHOWS_CAPACITY 0.5

/* What the processes of a node had together, at MOMENTS moments of equal distance. */
struct memory_of_node {
    double bytes[MOMENTS];
    double most, capacity; /* capacity 0: not known */
    uint32_t node, processes;
};

/* From one reading to the next a process has what it had at the first of them; before the first one as
 * much as there. */
static void add_process(struct memory_of_node *sum, const struct lull_memory_reading *readings,
                        uint32_t count, int64_t begin, int64_t end)
{
    uint32_t at = 0;
    for (int m = 0; m < MOMENTS; m++) {
        const double time =
            (double)begin + (double)(end - begin) * ((double)m / (double)(MOMENTS - 1));
        while (at + 1 < count && (double)readings[at + 1].time <= time)
            at++;
        sum->bytes[m] += (double)readings[at].bytes;
    }
    sum->processes++;
}

static int compare_memory_of_nodes(const void *a, const void *b)
{
    const struct memory_of_node *x = a, *y = b;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Returns the nodes of which there are readings, with most memory first; the last of all nodes is no
 * node: processes of which that is not known. */
static struct memory_of_node *add_nodes(const struct lull_run *run, int64_t begin, int64_t end,
                                        struct lull_arena *arena, uint32_t *ret_count)
{
    const struct lull_trace *trace = run->trace;
    const struct lull_reading *reading = lull_reading_of(run->reading);
    const uint32_t n = trace->n_nodes + 1;
    struct memory_of_node *nodes = lull_arena_zero(arena, n, sizeof *nodes);
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        uint32_t count;
        const struct lull_memory_reading *readings =
            lull_windows_readings(reading->windows, trace, p, arena, &count);
        struct memory_of_node *node =
            &nodes[process->node < trace->n_nodes ? process->node : trace->n_nodes];
        if (count == 0 || process->application != reading->application)
            continue;
        add_process(node, readings, count, begin, end);
        node->capacity = fmax(node->capacity, (double)process->memory.node);
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i].processes == 0)
            continue;
        nodes[used] = nodes[i];
        nodes[used].node = i;
        for (int m = 0; m < MOMENTS; m++)
            nodes[used].most = fmax(nodes[used].most, nodes[used].bytes[m]);
        used++;
    }
    qsort(nodes, used, sizeof *nodes, compare_memory_of_nodes);
    *ret_count = used;
    return nodes;
}

static void add_line_of_node(struct lull_chart *chart, const struct lull_trace *trace,
                             const struct memory_of_node *node, int64_t begin, int64_t end,
                             struct lull_arena *arena)
{
    struct lull_chart_point points[MOMENTS];
    for (int m = 0; m < MOMENTS; m++)
        points[m] = (struct lull_chart_point){
            1e-9 * ((double)begin + (double)(end - begin) * ((double)m / (MOMENTS - 1))),
            node->bytes[m], NAN, NAN};
    const char *name = node->node < trace->n_nodes ? trace->nodes[node->node].name : "a node";
    const char *label = node->processes > 1
                            ? lull_arena_printf(arena, "%u processes on %s", node->processes, name)
                            : lull_arena_printf(arena, "a process on %s", name);
    lull_chart_series(chart, label, LULL_CHART_LINE, points, MOMENTS);
    if (node->most < SHOWS_CAPACITY * node->capacity || node->capacity <= 0)
        return;
    for (int m = 0; m < MOMENTS; m++)
        points[m].y = node->capacity;
    lull_chart_series(chart, lull_arena_printf(arena, "what %s has", name), LULL_CHART_CURVE,
                      points, MOMENTS);
}

void lull_report_add_memory(struct lull_document *document, const struct lull_run *run,
                            const struct lull_report_run *of, struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    uint32_t count;
    if (!trace || trace->duration <= 0)
        return;
    const bool knows_axis = of->timeline && of->timeline->begin < of->timeline->end;
    const int64_t begin = knows_axis ? of->timeline->begin : 0,
                  end = knows_axis ? of->timeline->end : trace->duration;
    const struct memory_of_node *nodes = add_nodes(run, begin, end, arena, &count);
    if (count == 0)
        return;
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "Memory of %s", run->name));
    lull_chart_x_axis(chart, "time from the begin of the run", "s", LULL_CHART_LINEAR);
    lull_chart_y_axis(chart, "resident or swapped out", "B", LULL_CHART_LINEAR);
    for (uint32_t i = 0; i < count && i < NODES_SHOWN; i++)
        add_line_of_node(chart, trace, &nodes[i], begin, end, arena);
    lull_document_chart_of_time(document, lull_arena_printf(arena, "memory:%s", run->name), chart);
}
