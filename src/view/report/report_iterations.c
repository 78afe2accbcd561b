/* Ranks x iterations: how long each took, computed and waited. */
#include "view/report/report_parts.h"

#include <math.h>

/* Rows, and columns, and cells; neighbours are joined to their mean beyond that. So many cells of a
 * noisy run fit into the part of a page of the usual size that one layer of a matrix may take. */
enum { MOST = 1024, MOST_CELLS = 1 << 18 };

enum { TIME, WORK, WAIT, LAYERS };

struct shape {
    const struct lull_wave_field *field;
    uint32_t n_rows, n_columns;
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

static double value_of(const struct lull_wave_row *row, uint32_t iteration, int layer)
{
    const struct lull_wave_cell *cell = &row->cells[iteration];
    const int64_t begin = iteration > 0 ? cell[-1].end : row->begin;
    return 1e-9 * (double)(layer == TIME   ? cell->end - begin
                           : layer == WORK ? lull_wave_work(row, iteration)
                                           : cell->wait);
}

static double mean_of(const struct shape *shape, uint32_t row, uint32_t column, int layer)
{
    const struct lull_wave_field *field = shape->field;
    const uint32_t rank_end = first_of(row + 1, shape->n_rows, field->n_ranks);
    const uint32_t end = first_of(column + 1, shape->n_columns, field->n_iterations);
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t rank = first_of(row, shape->n_rows, field->n_ranks); rank < rank_end; rank++)
        for (uint32_t i = first_of(column, shape->n_columns, field->n_iterations); i < end; i++) {
            sum += value_of(&field->rows[rank], i, layer);
            count++;
        }
    return count ? sum / count : NAN;
}

static struct shape shape_of(const struct lull_wave_field *field)
{
    const uint32_t n_rows = field->n_ranks < MOST ? field->n_ranks : MOST;
    const uint32_t room = n_rows ? MOST_CELLS / n_rows : MOST, most = room < MOST ? room : MOST;
    return (struct shape){field, n_rows, field->n_iterations < most ? field->n_iterations : most};
}

static void fill(const struct lull_wave_field *field, struct lull_picture_matrix *matrix,
                 struct lull_arena *arena)
{
    static const struct lull_picture_layer about[LAYERS] = {
        [TIME] = {"time", "Time of the iteration", "s", NULL},
        [WORK] = {"work", "Time outside of its waits", "s", NULL},
        [WAIT] = {"wait", "Time in calls that wait for messages", "s", NULL}};
    const struct shape shape = shape_of(field);
    struct lull_picture_layer *layers = lull_arena_zero(arena, LAYERS, sizeof *layers);
    for (int l = 0; l < LAYERS; l++) {
        double *values =
            lull_arena_alloc(arena, ((size_t)shape.n_rows * shape.n_columns + 1) * sizeof *values);
        for (uint32_t row = 0; row < shape.n_rows; row++)
            for (uint32_t column = 0; column < shape.n_columns; column++)
                values[(size_t)row * shape.n_columns + column] = mean_of(&shape, row, column, l);
        layers[l] = about[l];
        layers[l].values = values;
    }
    matrix->layers = layers;
    matrix->n_layers = LAYERS;
    matrix->n_rows = shape.n_rows;
    matrix->n_columns = shape.n_columns;
    matrix->row_names = names_of(shape.n_rows, field->n_ranks, arena);
    matrix->column_names = names_of(shape.n_columns, field->n_iterations, arena);
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
        fill(of->field, matrix, arena);
    lull_document_matrix(document, matrix);
}
