/* Ranks x iterations: how long each took, computed and waited, and what was counted in it. */
#include "view/report/report_parts.h"

#include <math.h>

/* Rows, and columns, and cells; neighbours are joined to their mean beyond that. So many cells of a
 * noisy run fit into the part of a page of the usual size that one layer of a matrix may take. */
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

/* Those of a process, which stand together in the timeline. */
struct leaves {
    uint32_t first, count;
};

struct shape {
    const struct lull_wave_field *field;
    uint32_t n_rows, n_columns;
    const struct lull_timeline *timeline;
    const struct leaves *leaves; /* [n_ranks]; NULL: nothing was counted */
};

/* The first of `all` that belongs to part `part` of `parts`. */
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

/* What a rank counted in an iteration, in all of its threads. */
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

/* Of all ranks and iterations of a cell. */
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

/* Ranks are the processes of the application in order. NULL: nothing was counted. */
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
    if (!of->iterations)
        return;
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
