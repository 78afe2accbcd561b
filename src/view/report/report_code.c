/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in the code of its program a run computed: functions, source, and heat maps of functions over
 * ranks and over time. */
#include "study/call_paths.h"
#include "study/run_code.h"
#include "view/report/report_document.h"
#include "view/report/report_parts.h"

#include <math.h>

enum { MOST_FUNCTIONS = 24, MOST_RANK_COLUMNS = 1024 };
#define PICTURED_LEAST 0.0005 /* of the useful time, or of the time in calls */

/* ---- call paths ------------------------------------------------------------------------------ */

#define FRAME_LEAST 0.001 /* of the useful time: a frame that is a point wide */
enum { DEEPEST_FRAME = 40 };

static void add_call_paths(struct lull_picture_code *code, const struct lull_path_tree *tree,
                           struct lull_arena *arena)
{
    struct lull_picture_frame *frames =
        lull_arena_zero(arena, tree->n_nodes + (size_t)1, sizeof *frames);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct lull_path_node *node = &tree->nodes[i];
        const double share = (double)node->weight / (double)tree->weight;
        if (share >= FRAME_LEAST && node->depth <= DEEPEST_FRAME)
            frames[n++] =
                (struct lull_picture_frame){.name = node->name,
                                            .place = lull_code_base_name(node->file),
                                            .depth = node->depth,
                                            .begin = (double)node->begin / (double)tree->weight,
                                            .share = share};
    }
    code->frames = frames;
    code->n_frames = n;
}

/* ---- functions and source -------------------------------------------------------------------- */

static struct lull_picture_code_time time_of_row(const struct lull_run *run,
                                                 const struct lull_code_row *row)
{
    const struct lull_process *processes = run->trace->processes;
    const bool any = row->max_ns > 0;
    return (struct lull_picture_code_time){
        .useful_ns = row->useful_ns,
        .mpi_ns = row->mpi_ns,
        .openmp_ns = row->openmp_ns,
        .idle_ns = row->idle_ns,
        .waited_ns = row->waited_ns + row->openmp_waited_ns,
        .min_ns = row->min_ns,
        .median_ns = row->median_ns,
        .max_ns = row->max_ns,
        .min_rank = any ? (int64_t)processes[row->min_process].rank : -1,
        .max_rank = any ? (int64_t)processes[row->max_process].rank : -1};
}

static const struct lull_listed_function *listed_of(const struct lull_code_listing *listing,
                                                    const struct lull_code_row *row)
{
    for (uint32_t i = 0; i < listing->n_listed; i++)
        if (listing->listed[i].row == row)
            return &listing->listed[i];
    return NULL;
}

static void show_lines(const struct lull_run *run, const struct lull_listed_function *listed,
                       struct lull_picture_function *function, struct lull_arena *arena)
{
    static const struct lull_code_row nothing;
    struct lull_picture_code_line *lines = lull_arena_zero(arena, listed->n_lines, sizeof *lines);
    for (uint32_t i = 0; i < listed->n_lines; i++) {
        const struct lull_listed_line *line = &listed->lines[i];
        lines[i] = (struct lull_picture_code_line){
            line->number, line->text, time_of_row(run, line->row ? line->row : &nothing)};
    }
    function->lines = lines;
    function->n_lines = listed->n_lines;
    if (listed->absent)
        function->note = lull_arena_printf(arena, "Without its source: %s.", listed->absent);
    else if (listed->newer)
        function->note = "The source is newer than the program: its lines may be others now.";
}

/* How many rows are shown: of functions with little time none but the first ones. */
static uint32_t count_shown(const struct lull_code_table *table)
{
    uint32_t n = 0;
    while (n < table->n_rows && n < MOST_FUNCTIONS && table->rows[n].share >= PICTURED_LEAST)
        n++;
    return n;
}

/* [n_rows]: of each function the part of the time with most of its useful samples, on the row of the rank
 * that has most. */
static struct lull_picture_spot *find_spots(const struct lull_report *report, uint32_t number,
                                            const struct lull_code_times *code,
                                            const struct lull_code_table *table,
                                            struct lull_arena *arena)
{
    const struct lull_timeline *timeline = report->of[number].timeline;
    struct lull_picture_spot *spots =
        lull_arena_zero(arena, table->n_rows + (size_t)1, sizeof *spots);
    uint64_t *sums = lull_arena_zero(arena, (size_t)table->n_rows * code->bins + 1, sizeof *sums);
    const double width =
        code->bins > 0 ? (double)(code->end - code->begin) / (double)code->bins : 0;
    for (uint32_t i = 0; i < code->n_places; i++)
        for (uint32_t b = 0; b < code->bins && table->row_of[i] < table->n_rows; b++)
            sums[(size_t)table->row_of[i] * code->bins + b] +=
                code->weights[(size_t)i * code->bins + b];
    for (uint32_t r = 0; r < table->n_rows; r++) {
        const uint64_t *of = &sums[(size_t)r * code->bins];
        uint32_t most = 0;
        spots[r].timeline = SIZE_MAX;
        for (uint32_t b = 1; b < code->bins; b++)
            most = of[b] > of[most] ? b : most;
        if (code->bins == 0 || of[most] == 0)
            continue;
        spots[r].begin = code->begin + (int64_t)(width * most);
        spots[r].end = code->begin + (int64_t)(width * (most + 1));
        if (!timeline || timeline->begin >= timeline->end)
            continue;
        spots[r].timeline = number;
        spots[r].row =
            lull_report_row_of(timeline, LULL_NONE, LULL_NONE, table->rows[r].max_process);
    }
    return spots;
}

static void add_functions(struct lull_document *document, const struct lull_run *run,
                          const struct lull_code_listing *listing,
                          const struct lull_picture_spot *spots, struct lull_arena *arena)
{
    const struct lull_code_table *table = &listing->functions;
    struct lull_picture_code *code = lull_arena_zero(arena, 1, sizeof *code);
    struct lull_picture_function *functions =
        lull_arena_zero(arena, table->n_rows + (size_t)1, sizeof *functions);
    const uint32_t shown = count_shown(table);
    uint32_t n = 0;
    for (uint32_t i = 0; i < table->n_rows; i++) {
        const struct lull_code_row *row = &table->rows[i];
        const struct lull_listed_function *listed = listed_of(listing, row);
        const bool calls =
            (double)(row->mpi_ns + row->openmp_ns) >= LULL_LISTED_LEAST * (double)table->useful_ns;
        if (i >= shown && !calls)
            continue;
        functions[n] = (struct lull_picture_function){
            .name = row->label,
            .place = row->line > 0 ? lull_arena_printf(arena, "%s:%u",
                                                       lull_code_base_name(row->file), row->line)
                                   : lull_code_base_name(row->file),
            .time = time_of_row(run, row),
            .share = row->share,
            .low = row->low,
            .high = row->high,
            .most = spots[i]};
        if (listed)
            show_lines(run, listed, &functions[n], arena);
        n++;
    }
    *code = (struct lull_picture_code){
        .title = run->name,
        .about = "Useful time by samples, and time in calls of MPI and OpenMP from there; idle are "
                 "other threads while the first computes there alone; of lines the share in "
                 "their function.",
        .has_calls = table->has_calls,
        .has_waits = table->has_calls && run->waits && !run->waits->absent,
        .has_ranks = run->processes > 1,
        .has_idle = table->has_idle,
        .functions = functions,
        .n_functions = n};
    const struct lull_path_state *paths = lull_run_state(run, &lull_path_analysis);
    if (paths && paths->tree && paths->tree->weight > 0)
        add_call_paths(code, paths->tree, arena);
    lull_document_code(document, code);
}

/* ---- heat maps ------------------------------------------------------------------------------- */

static struct lull_picture_matrix *map_of_functions(struct lull_document *document,
                                                    const struct lull_code_table *table,
                                                    uint32_t columns, const char *label,
                                                    const char *unit, double **ret_values,
                                                    struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    struct lull_picture_layer *layer = lull_arena_zero(arena, 1, sizeof *layer);
    const uint32_t n = count_shown(table);
    const char **names = lull_arena_zero(arena, n + (size_t)1, sizeof *names);
    double *values = lull_arena_alloc(arena, ((size_t)n * columns + 1) * sizeof *values);
    for (uint32_t i = 0; i < n; i++)
        names[i] = table->rows[i].label;
    for (size_t i = 0; i < (size_t)n * columns; i++)
        values[i] = NAN;
    *layer = (struct lull_picture_layer){"useful", label, unit, values};
    matrix->row_axis = "function";
    matrix->row_names = names;
    matrix->n_rows = n;
    matrix->n_columns = columns;
    matrix->layers = layer;
    matrix->n_layers = 1;
    *ret_values = values;
    lull_document_matrix(document, matrix);
    return matrix;
}

/* Ranks are in groups of neighbours where there are very many: a column is the mean of its group. */
static void add_rank_map(struct lull_document *document, const struct lull_run *run,
                         const struct lull_code_table *table, struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const uint32_t all = trace->n_processes;
    const uint32_t columns = all < MOST_RANK_COLUMNS ? all : MOST_RANK_COLUMNS;
    const char **names = lull_arena_zero(arena, columns + (size_t)1, sizeof *names);
    double *values;
    if (run->processes < 2)
        return;
    struct lull_picture_matrix *matrix =
        map_of_functions(document, table, columns, "Useful time of a rank", "s", &values, arena);
    matrix->id = lull_arena_printf(arena, "code_ranks:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Functions of %s by rank", run->name);
    matrix->about = "How long each rank computed in each function.";
    matrix->column_axis = "rank";
    matrix->column_names = names;
    for (uint32_t c = 0; c < columns; c++) {
        const uint32_t first = (uint32_t)((uint64_t)c * all / columns);
        const uint32_t last = (uint32_t)((uint64_t)(c + 1) * all / columns) - 1;
        names[c] = first == last ? lull_arena_printf(arena, "%u", trace->processes[first].rank)
                                 : lull_arena_printf(arena, "%u-%u", trace->processes[first].rank,
                                                     trace->processes[last].rank);
    }
    for (uint32_t r = 0; r < matrix->n_rows; r++)
        for (uint32_t i = 0; i < table->rows[r].n_times; i++) {
            const struct lull_code_time *time = &table->rows[r].times[i];
            const uint32_t column = (uint32_t)((((uint64_t)time->process + 1) * columns - 1) / all);
            const uint32_t group = (uint32_t)((uint64_t)(column + 1) * all / columns) -
                                   (uint32_t)((uint64_t)column * all / columns);
            double *value = &values[(size_t)r * columns + column];
            *value = (isnan(*value) ? 0 : *value) + 1e-9 * (double)time->ns / group;
        }
}

static void add_time_map(struct lull_document *document, const struct lull_run *run,
                         const struct lull_code_times *code, const struct lull_code_table *table,
                         struct lull_arena *arena)
{
    const char **names = lull_arena_zero(arena, code->bins + (size_t)1, sizeof *names);
    double *sums = lull_arena_zero(arena, code->bins + (size_t)1, sizeof *sums), *values;
    struct lull_picture_matrix *matrix =
        map_of_functions(document, table, code->bins, "Share of the useful samples of that time",
                         "ratio", &values, arena);
    matrix->id = lull_arena_printf(arena, "code_time:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Functions of %s over time", run->name);
    matrix->about = "In which functions all threads together computed when.";
    matrix->column_axis = "time";
    matrix->column_names = names;
    for (uint32_t b = 0; b < code->bins; b++)
        names[b] = lull_arena_printf(
            arena, "%.3g s",
            1e-9 * ((double)code->begin + (double)(code->end - code->begin) * b / code->bins));
    for (uint32_t i = 0; i < code->n_places; i++)
        for (uint32_t b = 0; b < code->bins; b++) {
            const double weight = (double)code->weights[(size_t)i * code->bins + b];
            const uint32_t row = table->row_of[i];
            sums[b] += weight;
            if (row >= matrix->n_rows || weight <= 0)
                continue;
            double *value = &values[(size_t)row * code->bins + b];
            *value = (isnan(*value) ? 0 : *value) + weight;
        }
    for (uint32_t r = 0; r < matrix->n_rows; r++)
        for (uint32_t b = 0; b < code->bins; b++)
            values[(size_t)r * code->bins + b] /= sums[b] > 0 ? sums[b] : 1;
}

void lull_report_add_code(struct lull_document *document, const struct lull_report *report,
                          uint32_t number, const struct lull_report_wish *wish,
                          struct lull_arena *arena)
{
    const struct lull_run *run = &report->runs.runs[number];
    const char *absent;
    struct lull_code_listing *listing = lull_arena_zero(arena, 1, sizeof *listing);
    struct lull_error err;
    const struct lull_code_times *code = lull_run_code(run, arena, &absent);
    if (!code)
        return;
    if (lull_run_code_listing(run, !wish->no_source, arena, listing, &err) != LULL_OK) {
        lull_document_note(document, LULL_NOTE_INFO, "%s.", err.text);
        return;
    }
    add_functions(document, run, listing,
                  find_spots(report, number, code, &listing->functions, arena), arena);
    add_rank_map(document, run, &listing->functions, arena);
    add_time_map(document, run, code, &listing->functions, arena);
}
