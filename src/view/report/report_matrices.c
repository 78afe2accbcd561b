/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the document of `lull report` that are matrices or histograms: who sent messages to whom
 * and of which size, the iterations of ranks, and how even the work is over rows and time. */
#include "stats/histogram.h"
#include "view/document_parts.h"
#include "view/report/report_parts.h"

#include <math.h>
#include <string.h>

/* ==== communication =========================================================================== */

/* Which processes sent to which, and messages of which size. */

/* Rows and columns of a matrix: the parties of the timeline, or the nodes that they are on. */
struct sides {
    const char **names;
    uint32_t *of; /* [n_parties]: the number of the side that a party is, or is on */
    uint32_t count;
};

static const char *party_name(const struct lull_timeline *timeline, uint32_t party,
                              struct lull_arena *arena)
{
    const struct lull_timeline_party *at = &timeline->parties[party];
    const struct lull_trace *trace = timeline->trace;
    const uint32_t rank = trace->processes[at->process].rank;
    if (at->node != LULL_NONE && *trace->nodes[at->node].name)
        return trace->nodes[at->node].name;
    return at->n_processes == 1
               ? lull_arena_printf(arena, "%u", rank)
               : lull_arena_printf(arena, "%u-%u", rank, rank + at->n_processes - 1);
}

static struct sides no_sides(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const size_t most = timeline->n_parties + (size_t)1;
    return (struct sides){.names = lull_arena_zero(arena, most, sizeof(char *)),
                          .of = lull_arena_zero(arena, most, sizeof(uint32_t))};
}

static struct sides list_parties(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    struct sides sides = no_sides(timeline, arena);
    for (; sides.count < timeline->n_parties; sides.count++) {
        sides.names[sides.count] = party_name(timeline, sides.count, arena);
        sides.of[sides.count] = sides.count;
    }
    return sides;
}

/* Lists the nodes, in the order in which parties are first on them. None if a party is more than
 * one process, or its node is not known. */
static struct sides list_nodes(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const struct lull_trace *trace = timeline->trace;
    struct sides sides = no_sides(timeline, arena);
    uint32_t *numbers = lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *numbers);
    for (uint32_t p = 0; p < timeline->n_parties; p++) {
        const uint32_t node = trace->processes[timeline->parties[p].process].node;
        if (timeline->parties[p].n_processes > 1 || node == LULL_NONE)
            return (struct sides){0};
        if (numbers[node] == 0) {
            sides.names[sides.count++] = *trace->nodes[node].name
                                             ? trace->nodes[node].name
                                             : lull_arena_printf(arena, "node %u", node);
            numbers[node] = sides.count;
        }
        sides.of[p] = numbers[node] - 1;
    }
    return sides;
}

static double *no_values(size_t count, struct lull_arena *arena)
{
    double *values = lull_arena_alloc(arena, (count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

enum { TRAFFIC_BYTES, TRAFFIC_COUNT, TRAFFIC_WAIT, TRAFFIC_LAYERS };

static void add_to(double *value, double amount)
{
    *value = isnan(*value) ? amount : *value + amount;
}

static void fill_matrix(const struct lull_timeline *timeline, const struct sides *sides,
                        struct lull_picture_matrix *matrix, struct lull_arena *arena)
{
    static const struct lull_picture_layer about[TRAFFIC_LAYERS] = {
        [TRAFFIC_BYTES] = {"bytes", "Bytes sent", "B", NULL},
        [TRAFFIC_COUNT] = {"messages", "Messages sent", "count", NULL},
        [TRAFFIC_WAIT] = {"wait", "Time the receiver was in MPI until they were there", "s", NULL}};
    struct lull_picture_layer *layers = lull_arena_zero(arena, TRAFFIC_LAYERS, sizeof *layers);
    const size_t n = sides->count;
    double *values[TRAFFIC_LAYERS];
    for (int l = 0; l < TRAFFIC_LAYERS; l++) {
        values[l] = no_values(n * n, arena);
        layers[l] = about[l];
        layers[l].values = values[l];
    }
    for (size_t i = 0; i < timeline->n_traffic; i++) {
        const struct lull_timeline_traffic *traffic = &timeline->traffic[i];
        const size_t at = sides->of[traffic->source] * n + sides->of[traffic->target];
        add_to(&values[TRAFFIC_BYTES][at], (double)traffic->sent_bytes);
        add_to(&values[TRAFFIC_COUNT][at], (double)traffic->sent);
        add_to(&values[TRAFFIC_WAIT][at], 1e-9 * (double)traffic->wait_ns);
    }
    matrix->row_names = matrix->column_names = sides->names;
    matrix->n_rows = matrix->n_columns = sides->count;
    matrix->layers = layers;
    matrix->n_layers = TRAFFIC_LAYERS;
}

static struct lull_picture_matrix *create_matrix(struct lull_document *document, const char *id,
                                                 const char *title, const char *about,
                                                 struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    matrix->id = id;
    matrix->title = title;
    matrix->about = about;
    matrix->row_axis = "sender";
    matrix->column_axis = "receiver";
    lull_document_matrix(document, matrix);
    return matrix;
}

static void add_matrices(struct lull_document *document, const struct lull_run *run,
                         const struct lull_timeline *timeline, struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix =
        create_matrix(document, lull_arena_printf(arena, "communication:%s", run->name),
                      lull_arena_printf(arena, "Communication of %s", run->name),
                      "What each process, or group of processes, sent to each other one.", arena);
    if (timeline->n_traffic == 0) {
        matrix->absent = timeline->sent + timeline->received
                             ? "The run has messages with other programs only."
                             : "The run has no messages between processes.";
        return;
    }
    const struct sides parties = list_parties(timeline, arena);
    const struct sides nodes = list_nodes(timeline, arena);
    fill_matrix(timeline, &parties, matrix, arena);
    if (nodes.count < 2 || nodes.count == parties.count)
        return;
    matrix = create_matrix(document, lull_arena_printf(arena, "node_communication:%s", run->name),
                           lull_arena_printf(arena, "Communication of the nodes of %s", run->name),
                           "What the processes of each node sent to those of each other one, and "
                           "to each other.",
                           arena);
    fill_matrix(timeline, &nodes, matrix, arena);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *size_label(unsigned size, struct lull_arena *arena)
{
    if (size == 0)
        return "0 B";
    const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const unsigned low = size - 1;
    return lull_arena_printf(arena, "from %u %s", 1u << low % 10, units[low / 10]);
}

static void add_sizes(struct lull_document *document, const struct lull_run *run,
                      const struct lull_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->sent == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "message_sizes:%s", run->name),
        lull_arena_printf(arena, "Messages of %s by size, below twice that", run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Size");
    lull_table_column(table, "count", "messages");
    lull_table_column(table, "share", "share");
    for (unsigned size = 0; size < LULL_TIMELINE_SIZES; size++) {
        if (timeline->sizes[size] == 0)
            continue;
        const char *id =
            size == 0 ? "0" : lull_arena_printf(arena, "%.0f", ldexp(1, (int)size - 1));
        uint32_t row = lull_table_row(table, id, size_label(size, arena), LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(timeline->sizes[size]));
        lull_table_set(table, row, 1,
                       lull_cell_share((double)timeline->sizes[size] / (double)timeline->sent));
    }
}

static void add_totals(struct lull_document *document, const struct lull_run *run,
                       const struct lull_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->sent + timeline->received == 0)
        return;
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "messages:%s", run->name),
                            lull_arena_printf(arena, "Messages of %s", run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "Messages");
    lull_table_column(table, "count", "count");
    lull_table_column(table, "bytes", "bytes");
    uint32_t sent = lull_table_row(table, "sent", "sent", LULL_NO_ROW);
    uint32_t received = lull_table_row(table, "received", "received", LULL_NO_ROW);
    lull_table_set(table, sent, 0, lull_cell_count(timeline->sent));
    lull_table_set(table, sent, 1, lull_cell_bytes(timeline->sent_bytes));
    lull_table_set(table, received, 0, lull_cell_count(timeline->received));
    lull_table_set(table, received, 1, lull_received_cell(timeline->received_bytes));
}

void lull_report_add_traffic(struct lull_document *document, const struct lull_run *run,
                             const struct lull_report_run *of, struct lull_arena *arena)
{
    if (!of->timeline)
        return;
    add_matrices(document, run, of->timeline, arena);
    add_totals(document, run, of->timeline, arena);
    add_sizes(document, run, of->timeline, arena);
}

/* ==== iterations ============================================================================== */

/* A matrix of ranks and iterations: how long each iteration took, computed and waited, and what was
 * counted in it. */

/* The most rows or columns, and the most cells, of a matrix. If there would be more, neighbours are
 * joined to their mean. So many cells of a noisy run fit into that part of a page of the usual size
 * that one layer of a matrix may take. */
enum { MOST_MATRIX_ROWS = 1024, MOST_CELLS = 1 << 18 };

enum {
    ITERATION_TIME,
    ITERATION_WORK,
    ITERATION_WAIT,
    ITERATION_TIMES,
    ITERATION_INSTRUCTIONS = ITERATION_TIMES,
    ITERATION_IPC,
    ITERATION_FREQUENCY,
    ITERATION_LAYERS
};

/* The leaves of a process, which stand together in the timeline. */
struct leaves {
    uint32_t first, count;
};

struct shape {
    const struct lull_wave_field *field;
    uint32_t n_rows, n_columns;
    const struct lull_timeline *timeline;
    const struct leaves *leaves; /* [n_ranks]; NULL: nothing was counted */
};

/* The first of `all` things that belongs to part `part` of `parts`. */
static uint32_t first_of(uint32_t part, uint32_t parts, uint32_t all)
{
    return (uint32_t)((uint64_t)part * all / parts);
}

static const char *const *names_of(uint32_t parts, uint32_t all, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, parts + (size_t)1, sizeof *names);
    for (uint32_t p = 0; p < parts; p++) {
        const uint32_t first = first_of(p, parts, all), last = first_of(p + 1, parts, all) - 1;
        names[p] = first == last ? lull_arena_printf(arena, "%u", first)
                                 : lull_arena_printf(arena, "%u-%u", first, last);
    }
    return names;
}

static int64_t begin_of(const struct lull_wave_row *row, uint32_t iteration)
{
    return iteration > 0 ? row->cells[iteration - 1].end : row->begin;
}

static double time_of_iteration(const struct lull_wave_row *row, uint32_t iteration, int layer)
{
    const struct lull_wave_cell *cell = &row->cells[iteration];
    return 1e-9 * (double)(layer == ITERATION_TIME   ? cell->end - begin_of(row, iteration)
                           : layer == ITERATION_WORK ? lull_wave_work(row, iteration)
                                                     : cell->wait);
}

/* Adds what the threads of a rank counted in an iteration. */
static void add_counted(const struct shape *shape, uint32_t rank, uint32_t iteration,
                        struct lull_timeline_counted *counted)
{
    const struct lull_wave_row *row = &shape->field->rows[rank];
    const struct leaves *leaves = &shape->leaves[rank];
    for (uint32_t l = leaves->first; l < leaves->first + leaves->count; l++)
        lull_timeline_counted_between(shape->timeline, l, begin_of(row, iteration),
                                      row->cells[iteration].end, counted);
}

static double ratio(double above, double below)
{
    return below > 0 ? above / below : NAN;
}

/* Fills a cell with the mean over all ranks and iterations that it stands for. */
static void fill_cell(const struct shape *shape, uint32_t row, uint32_t column,
                      double ret_values[ITERATION_LAYERS])
{
    const struct lull_wave_field *field = shape->field;
    const uint32_t rank_end = first_of(row + 1, shape->n_rows, field->n_ranks);
    const uint32_t end = first_of(column + 1, shape->n_columns, field->n_iterations);
    struct lull_timeline_counted counted = {0};
    double sums[ITERATION_TIMES] = {0}, count = 0;
    for (uint32_t rank = first_of(row, shape->n_rows, field->n_ranks); rank < rank_end; rank++)
        for (uint32_t i = first_of(column, shape->n_columns, field->n_iterations); i < end; i++) {
            for (int layer = 0; layer < ITERATION_TIMES; layer++)
                sums[layer] += time_of_iteration(&field->rows[rank], i, layer);
            if (shape->leaves)
                add_counted(shape, rank, i, &counted);
            count++;
        }
    for (int layer = 0; layer < ITERATION_TIMES; layer++)
        ret_values[layer] = ratio(sums[layer], count);
    const double *counts = counted.counts;
    ret_values[ITERATION_INSTRUCTIONS] = ratio(counts[LULL_TIMELINE_INSTRUCTIONS], count);
    ret_values[ITERATION_IPC] =
        ratio(counts[LULL_TIMELINE_INSTRUCTIONS], counts[LULL_TIMELINE_CYCLES]);
    ret_values[ITERATION_FREQUENCY] = ratio(counts[LULL_TIMELINE_CYCLES], counted.useful_ns);
}

/* Finds the leaves of each rank; ranks are the processes of the application, in order. NULL:
 * nothing was counted. */
static struct leaves *find_leaves(const struct lull_timeline *timeline, uint32_t n_ranks,
                                  struct lull_arena *arena)
{
    struct lull_timeline_counted nothing = {0};
    if (!timeline || !lull_timeline_counted_between(timeline, 0, 0, 0, &nothing))
        return NULL;
    const struct lull_location *locations = timeline->trace->locations;
    struct leaves *leaves = lull_arena_zero(arena, n_ranks + (size_t)1, sizeof *leaves);
    uint32_t first_process = LULL_NONE;
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        const uint32_t process = locations[timeline->leaves[l].location].process;
        first_process = process < first_process ? process : first_process;
    }
    for (uint32_t l = 0; l < timeline->n_leaves; l++) {
        const uint32_t rank = locations[timeline->leaves[l].location].process - first_process;
        if (rank < n_ranks && leaves[rank].count++ == 0)
            leaves[rank].first = l;
    }
    return leaves;
}

static struct shape shape_of(const struct lull_report_run *of, struct lull_arena *arena)
{
    const struct lull_wave_field *field = of->field;
    const uint32_t n_rows = field->n_ranks < MOST_MATRIX_ROWS ? field->n_ranks : MOST_MATRIX_ROWS;
    const uint32_t room = n_rows ? MOST_CELLS / n_rows : MOST_MATRIX_ROWS,
                   most = room < MOST_MATRIX_ROWS ? room : MOST_MATRIX_ROWS;
    return (struct shape){field, n_rows, field->n_iterations < most ? field->n_iterations : most,
                          of->timeline, find_leaves(of->timeline, field->n_ranks, arena)};
}

static bool has_iteration_layer(const struct shape *shape, int layer)
{
    if (layer < ITERATION_TIMES || !shape->leaves)
        return layer < ITERATION_TIMES;
    const bool *counts = shape->timeline->has_counts;
    return (layer == ITERATION_FREQUENCY || counts[LULL_TIMELINE_INSTRUCTIONS]) &&
           (layer == ITERATION_INSTRUCTIONS || counts[LULL_TIMELINE_CYCLES]);
}

static void fill(const struct lull_report_run *of, struct lull_picture_matrix *matrix,
                 struct lull_arena *arena)
{
    static const struct lull_picture_layer about[ITERATION_LAYERS] = {
        [ITERATION_TIME] = {"time", "Time of the iteration", "s", NULL},
        [ITERATION_WORK] = {"work", "Time outside of its waits", "s", NULL},
        [ITERATION_WAIT] = {"wait", "Time in calls that wait for messages", "s", NULL},
        [ITERATION_INSTRUCTIONS] = {"instructions", "Instructions in useful time", "count", NULL},
        [ITERATION_IPC] = {"ipc", "Instructions per cycle", "", NULL},
        [ITERATION_FREQUENCY] = {"frequency", "Cycles per useful nanosecond", "GHz", NULL}};
    const struct shape shape = shape_of(of, arena);
    const size_t n_cells = (size_t)shape.n_rows * shape.n_columns;
    struct lull_picture_layer *layers = lull_arena_zero(arena, ITERATION_LAYERS, sizeof *layers);
    double *values[ITERATION_LAYERS], cell[ITERATION_LAYERS];
    for (int l = 0; l < ITERATION_LAYERS; l++) {
        if (!has_iteration_layer(&shape, l))
            continue;
        values[l] = lull_arena_alloc(arena, (n_cells + 1) * sizeof *values[l]);
        layers[matrix->n_layers] = about[l];
        layers[matrix->n_layers++].values = values[l];
    }
    for (size_t i = 0; i < n_cells; i++) {
        fill_cell(&shape, (uint32_t)(i / shape.n_columns), (uint32_t)(i % shape.n_columns), cell);
        for (int l = 0; l < ITERATION_LAYERS; l++)
            if (has_iteration_layer(&shape, l))
                values[l][i] = cell[l];
    }
    matrix->layers = layers;
    matrix->n_rows = shape.n_rows;
    matrix->n_columns = shape.n_columns;
    matrix->row_names = names_of(shape.n_rows, of->field->n_ranks, arena);
    matrix->column_names = names_of(shape.n_columns, of->field->n_iterations, arena);
}

void lull_report_add_iterations(struct lull_document *document, const struct lull_run *run,
                                const struct lull_report_run *of, struct lull_arena *arena)
{
    if (!of->field && !of->no_field)
        return; /* no events were read */
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    matrix->absent = of->field ? NULL : of->no_field;
    matrix->id = lull_arena_printf(arena, "iterations:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Iterations of %s", run->name);
    matrix->about = "Iterations are found in the messages of each rank, as lull wave does.";
    matrix->row_axis = "rank";
    matrix->column_axis = "iteration";
    if (of->field)
        fill(of, matrix, arena);
    lull_document_matrix(document, matrix);
}

/* ==== how even the work is ==================================================================== */

enum { LOAD_BINS = 1 << LULL_TIMELINE_COARSE, MOST_ROWS = 1024, CLASSES = 10 };

enum { LOAD_USEFUL, LOAD_INSTRUCTIONS, LOAD_IPC, LOAD_FREQUENCY, LOAD_LAYERS };

/* ---- rows over time -------------------------------------------------------------------------- */

/* Whether a row is shown: all of one kind, or, if these are too many, the rows at the top, nodes or
 * bands. */
static bool is_shown(const struct lull_timeline *timeline, uint32_t row, uint8_t kind)
{
    if (kind != LULL_TIMELINE_ROW_KINDS)
        return timeline->rows[row].kind == kind;
    const uint32_t parent = timeline->rows[row].parent;
    return parent == LULL_NONE;
}

static uint8_t shown_kind(const struct lull_timeline *timeline)
{
    uint32_t of_kind[LULL_TIMELINE_ROW_KINDS] = {0};
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        of_kind[timeline->rows[r].kind]++;
    const uint8_t kind =
        of_kind[LULL_TIMELINE_PROCESS] > 1 ? LULL_TIMELINE_PROCESS : LULL_TIMELINE_THREAD;
    if (of_kind[kind] == 0)
        return LULL_TIMELINE_PROCESS;
    return of_kind[kind] <= MOST_ROWS ? kind : LULL_TIMELINE_ROW_KINDS;
}

static void fill_row(const struct lull_timeline *timeline, uint32_t row,
                     double *values[LOAD_LAYERS])
{
    int64_t ns[LOAD_BINS * LULL_STEP_ACTIVITIES];
    uint64_t counts[LULL_TIMELINE_COUNTS][LOAD_BINS];
    lull_timeline_cells(timeline, row, LULL_TIMELINE_COARSE, 0, LOAD_BINS, ns);
    for (int which = 0; which < LULL_TIMELINE_COUNTS; which++) {
        memset(counts[which], 0, sizeof counts[which]);
        lull_timeline_counts(timeline, row, which, counts[which]);
    }
    for (uint32_t bin = 0; bin < LOAD_BINS; bin++) {
        const double useful = (double)ns[bin * LULL_STEP_ACTIVITIES + LULL_USEFUL];
        const double all = (double)timeline->rows[row].n_leaves *
                           (double)(lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin + 1) -
                                    lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin));
        const double instructions = (double)(int64_t)counts[LULL_TIMELINE_INSTRUCTIONS][bin];
        const double cycles = (double)(int64_t)counts[LULL_TIMELINE_CYCLES][bin];
        values[LOAD_USEFUL][bin] = ratio(useful, all);
        values[LOAD_INSTRUCTIONS][bin] = instructions;
        values[LOAD_IPC][bin] = ratio(instructions, cycles);
        values[LOAD_FREQUENCY][bin] = ratio(cycles, useful);
    }
}

static const char *const *bin_names(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, LOAD_BINS, sizeof *names);
    for (uint32_t bin = 0; bin < LOAD_BINS; bin++)
        names[bin] = lull_arena_printf(
            arena, "%.4g s",
            1e-9 * (double)lull_timeline_edge(timeline, LULL_TIMELINE_COARSE, bin));
    return names;
}

static bool has_load_layer(const struct lull_timeline *timeline, int layer)
{
    const bool instructions = timeline->has_counts[LULL_TIMELINE_INSTRUCTIONS];
    const bool cycles = timeline->has_counts[LULL_TIMELINE_CYCLES];
    return layer == LOAD_USEFUL || (layer == LOAD_INSTRUCTIONS && instructions) ||
           (layer == LOAD_IPC && instructions && cycles) || (layer == LOAD_FREQUENCY && cycles);
}

static void add_map(struct lull_document *document, const struct lull_run *run,
                    const struct lull_timeline *timeline, struct lull_arena *arena)
{
    static const struct lull_picture_layer about[LOAD_LAYERS] = {
        [LOAD_USEFUL] = {"useful", "Share of the time that is useful", "ratio", NULL},
        [LOAD_INSTRUCTIONS] = {"instructions", "Instructions in useful time", "count", NULL},
        [LOAD_IPC] = {"ipc", "Instructions per cycle", "", NULL},
        [LOAD_FREQUENCY] = {"frequency", "Cycles per useful nanosecond", "GHz", NULL}};
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    struct lull_picture_layer *layers = lull_arena_zero(arena, LOAD_LAYERS, sizeof *layers);
    const char **names = lull_arena_zero(arena, timeline->n_rows, sizeof *names);
    const uint8_t kind = shown_kind(timeline);
    double *values[LOAD_LAYERS], *at[LOAD_LAYERS];
    for (uint32_t r = 0; r < timeline->n_rows; r++)
        if (is_shown(timeline, r, kind))
            names[matrix->n_rows++] = lull_report_row_name(timeline, r, arena);
    for (int l = 0; l < LOAD_LAYERS; l++)
        at[l] = values[l] =
            lull_arena_zero(arena, (size_t)matrix->n_rows * LOAD_BINS, sizeof *values[l]);
    for (uint32_t r = 0; r < timeline->n_rows; r++) {
        if (!is_shown(timeline, r, kind))
            continue;
        fill_row(timeline, r, at);
        for (int l = 0; l < LOAD_LAYERS; l++)
            at[l] += LOAD_BINS;
    }
    for (int l = 0; l < LOAD_LAYERS; l++) {
        if (!has_load_layer(timeline, l))
            continue;
        layers[matrix->n_layers] = about[l];
        layers[matrix->n_layers++].values = values[l];
    }
    matrix->id = lull_arena_printf(arena, "load:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Work of %s over time", run->name);
    matrix->about = "Each column is 1/64 of the time; counters are spread evenly between readings.";
    matrix->row_axis = kind == LULL_TIMELINE_PROCESS  ? "process"
                       : kind == LULL_TIMELINE_THREAD ? "thread"
                                                      : "group";
    matrix->column_axis = "time";
    matrix->row_names = names;
    matrix->column_names = bin_names(timeline, arena);
    matrix->n_columns = LOAD_BINS;
    matrix->layers = layers;
    lull_document_matrix(document, matrix);
}

/* ---- histogram ------------------------------------------------------------------------------- */

static double useful_share(const struct lull_breakdown *breakdown,
                           const struct lull_thread_breakdown *thread)
{
    const int64_t window = breakdown->processes[thread->process].window_ns;
    const int64_t useful = thread->times.ns[LULL_USEFUL][0] + thread->times.ns[LULL_USEFUL][1];
    return window > 0 ? (double)useful / (double)window : 0;
}

/* Adds a histogram of the CPU threads by their share of useful time, in classes of a tenth; a share
 * of 1 belongs to the last class. */
static void add_histogram(struct lull_document *document, const struct lull_run *run,
                          struct lull_arena *arena)
{
    const struct lull_breakdown *breakdown = run->breakdown;
    struct lull_histogram histogram = lull_histogram_create(arena, 0, 1, false, CLASSES);
    for (uint32_t t = 0; t < breakdown->n_threads; t++)
        if (breakdown->threads[t].kind == LULL_LOCATION_THREAD)
            lull_histogram_add(&histogram, useful_share(breakdown, &breakdown->threads[t]));
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "load_balance:%s", run->name),
        lull_arena_printf(arena, "Threads of %s by their useful share", run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "Useful share");
    lull_table_column(table, "threads", "threads");
    for (int i = CLASSES - 1; i >= 0; i--) {
        const uint64_t count = histogram.bins[i] + (i == CLASSES - 1 ? histogram.above : 0);
        uint32_t row = lull_table_row(table, lull_arena_printf(arena, "0.%d", i),
                                      lull_arena_printf(arena, "%d to %d %%", 10 * i, 10 * i + 10),
                                      LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(count));
    }
}

void lull_report_add_load(struct lull_document *document, const struct lull_run *run,
                          const struct lull_report_run *of, struct lull_arena *arena)
{
    add_histogram(document, run, arena);
    if (of->timeline && of->timeline->begin < of->timeline->end)
        add_map(document, run, of->timeline, arena);
}
