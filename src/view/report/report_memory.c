/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory a run had over time, by node: a chart of the page, a table, and all values in JSON. */
#include "base/text.h"
#include "metrics/windows.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <stdlib.h>

/* Of the moments the table shows the first one, and every TABLE_STEP-th one behind it. */
enum { MOMENTS = 101, NODES_SHOWN = 5, TABLE_STEP = 25 };

/* A line for what there is, dashed, stands in the picture where they had this share of it. */
#define SHOWS_CAPACITY 0.5

/* What the processes of a node had together, at MOMENTS moments of equal distance. */
struct memory_of_node {
    double bytes[MOMENTS];
    double most, capacity; /* capacity 0: not known */
    uint32_t node, processes;
};

/* The time of moment `m`, in ns. */
static double time_of_moment(int64_t begin, int64_t end, int m)
{
    return (double)begin + (double)(end - begin) * ((double)m / (double)(MOMENTS - 1));
}

/* From one reading to the next a process has what it had at the first of them; before the first one as
 * much as there. */
static void add_process(struct memory_of_node *sum, const struct lull_memory_reading *readings,
                        uint32_t count, int64_t begin, int64_t end)
{
    uint32_t at = 0;
    for (int m = 0; m < MOMENTS; m++) {
        const double time = time_of_moment(begin, end, m);
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

/* The memory of a run in the part of it that a report shows. */
struct memory_of_run {
    const struct lull_trace *trace;
    int64_t begin, end;                 /* the axis of the timeline, or all of the run */
    const struct memory_of_node *nodes; /* those with most memory first */
    uint32_t count;                     /* 0: nothing is known, and all else is 0, too */
};

static struct memory_of_run find_memory(const struct lull_run *run,
                                        const struct lull_report_run *of, struct lull_arena *arena)
{
    struct memory_of_run memory = {.trace = run->trace};
    if (!run->trace || run->trace->duration <= 0)
        return memory;
    const bool knows_axis = of->timeline && of->timeline->begin < of->timeline->end;
    memory.begin = knows_axis ? of->timeline->begin : 0;
    memory.end = knows_axis ? of->timeline->end : run->trace->duration;
    memory.nodes = add_nodes(run, memory.begin, memory.end, arena, &memory.count);
    return memory;
}

static void add_line_of_node(struct lull_chart *chart, const struct memory_of_run *memory,
                             const struct memory_of_node *node, struct lull_arena *arena)
{
    const struct lull_trace *trace = memory->trace;
    struct lull_chart_point points[MOMENTS];
    for (int m = 0; m < MOMENTS; m++)
        points[m] = (struct lull_chart_point){1e-9 * time_of_moment(memory->begin, memory->end, m),
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
    const struct memory_of_run memory = find_memory(run, of, arena);
    if (memory.count == 0)
        return;
    struct lull_chart *chart =
        lull_chart_create(arena, lull_arena_printf(arena, "Memory of %s", run->name));
    lull_chart_x_axis(chart, "time from the begin of the run", "s", LULL_CHART_LINEAR);
    lull_chart_y_axis(chart, "resident or swapped out", "B", LULL_CHART_LINEAR);
    for (uint32_t i = 0; i < memory.count && i < NODES_SHOWN; i++)
        add_line_of_node(chart, &memory, &memory.nodes[i], arena);
    lull_document_chart_of_time(document, lull_arena_printf(arena, "memory:%s", run->name), chart);
}

/* ---- text and JSON --------------------------------------------------------------------------- */

static void add_row_of_node(struct lull_table *table, const struct lull_trace *trace,
                            const struct memory_of_node *node)
{
    const char *name = node->node < trace->n_nodes ? trace->nodes[node->node].name : "a node";
    const uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
    uint32_t column = 0;
    lull_table_set(table, row, column++, lull_cell_count(node->processes));
    lull_table_set(table, row, column++, lull_cell_bytes((uint64_t)node->most));
    if (node->capacity > 0)
        lull_table_set(table, row, column, lull_cell_share(node->most / node->capacity));
    column++;
    for (int m = 0; m < MOMENTS; m += TABLE_STEP)
        lull_table_set(table, row, column++, lull_cell_bytes((uint64_t)node->bytes[m]));
}

void lull_report_add_memory_table(struct lull_document *document, const struct lull_run *run,
                                  const struct lull_report_run *of, struct lull_arena *arena)
{
    const struct memory_of_run memory = find_memory(run, of, arena);
    if (memory.count == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "memory:%s", run->name),
        lull_arena_printf(arena, "Memory of %s, resident or swapped out", run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Node");
    lull_table_column(table, "processes", "processes");
    lull_table_column(table, "most", "most\nread");
    lull_table_column(table, "share", "of what\nit has");
    for (int m = 0; m < MOMENTS; m += TABLE_STEP) {
        char text[32];
        const int64_t time = (int64_t)time_of_moment(memory.begin, memory.end, m);
        lull_table_column(
            table, lull_arena_printf(arena, "at_%d", 100 * m / (MOMENTS - 1)),
            lull_arena_printf(arena, "at\n%s", lull_format_time(time, text, sizeof text)));
    }
    for (uint32_t i = 0; i < memory.count && i < NODES_SHOWN; i++)
        add_row_of_node(table, run->trace, &memory.nodes[i]);
    if (memory.count > NODES_SHOWN)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Memory: the %d nodes with most of %u; JSON has all of them.",
                           NODES_SHOWN, memory.count);
}

/* What is written of the memory of all runs. */
struct memory_of_runs {
    const struct lull_report *report;
    struct lull_arena *arena;
};

static void write_node(struct lull_json *json, const struct lull_trace *trace,
                       const struct memory_of_node *node)
{
    lull_json_object_begin(json);
    lull_json_key(json, "node");
    lull_json_string(json, node->node < trace->n_nodes ? trace->nodes[node->node].name : NULL);
    lull_json_key(json, "processes");
    lull_json_uint(json, node->processes);
    lull_json_key(json, "capacity");
    if (node->capacity > 0)
        lull_json_uint(json, (uint64_t)node->capacity);
    else
        lull_json_null(json);
    lull_json_key(json, "bytes");
    lull_json_array_begin(json);
    for (int m = 0; m < MOMENTS; m++)
        lull_json_uint(json, (uint64_t)node->bytes[m]);
    lull_json_array_end(json);
    lull_json_object_end(json);
}

static void write_memory_of_run(struct lull_json *json, const char *name,
                                const struct memory_of_run *memory)
{
    lull_json_object_begin(json);
    lull_json_key(json, "run");
    lull_json_string(json, name);
    lull_json_key(json, "time");
    lull_json_array_begin(json);
    for (int m = 0; m < MOMENTS; m++)
        lull_json_number(json, 1e-9 * time_of_moment(memory->begin, memory->end, m));
    lull_json_array_end(json);
    lull_json_key(json, "nodes");
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < memory->count; i++)
        write_node(json, memory->trace, &memory->nodes[i]);
    lull_json_array_end(json);
    lull_json_object_end(json);
}

static void write_memory(struct lull_json *json, const void *data)
{
    const struct memory_of_runs *of = data;
    lull_json_array_begin(json);
    for (uint32_t i = 0; i < of->report->runs.count; i++) {
        const struct lull_run *run = &of->report->runs.runs[i];
        const struct memory_of_run memory = find_memory(run, &of->report->of[i], of->arena);
        if (memory.count > 0)
            write_memory_of_run(json, run->name, &memory);
    }
    lull_json_array_end(json);
}

void lull_report_attach_memory(struct lull_document *document, const struct lull_report *report,
                               struct lull_arena *arena)
{
    struct memory_of_runs *of = lull_arena_zero(arena, 1, sizeof *of);
    *of = (struct memory_of_runs){report, arena};
    lull_document_attach(document, "memory", write_memory, of);
}
