#include "model/spmv/matrix.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void lull_matrix_free(struct lull_matrix *matrix)
{
    free(matrix->starts);
    free(matrix->column);
    free(matrix->values);
    *matrix = (struct lull_matrix){0};
}

static lull_status no_memory(struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the matrix");
}

/* ---- rows in order -------------------------------------------------------------------------- */

struct element {
    uint32_t column;
    double value;
};

static int compare_elements(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    return x->column < y->column ? -1 : x->column > y->column;
}

static bool is_sorted(const uint32_t *column, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (column[i] < column[i - 1])
            return false;
    return true;
}

static uint32_t longest_row(const struct lull_matrix *matrix)
{
    uint32_t longest = 0;
    for (uint32_t r = 0; r < matrix->rows; r++)
        if (matrix->starts[r + 1] - matrix->starts[r] > longest)
            longest = matrix->starts[r + 1] - matrix->starts[r];
    return longest;
}

static bool sort_rows(struct lull_matrix *matrix)
{
    struct element *elements = NULL;
    for (uint32_t r = 0; r < matrix->rows; r++) {
        uint32_t count = matrix->starts[r + 1] - matrix->starts[r];
        uint32_t *column = matrix->column + matrix->starts[r];
        double *values = matrix->values + matrix->starts[r];
        if (is_sorted(column, count))
            continue;
        if (!elements && !(elements = malloc(longest_row(matrix) * sizeof *elements)))
            return false;
        for (uint32_t i = 0; i < count; i++)
            elements[i] = (struct element){column[i], values[i]};
        qsort(elements, count, sizeof *elements, compare_elements);
        for (uint32_t i = 0; i < count; i++) {
            column[i] = elements[i].column;
            values[i] = elements[i].value;
        }
    }
    free(elements);
    return true;
}

/* ---- from entries --------------------------------------------------------------------------- */

static bool has_image(const struct lull_matrix_entry *entry, enum lull_matrix_symmetry symmetry)
{
    return symmetry != LULL_MATRIX_GENERAL && entry->row != entry->column;
}

/* Nonzeros by row into starts[row + 1]; returns their sum. */
static uint64_t count_rows(const struct lull_matrix_part *parts, size_t n_parts,
                           enum lull_matrix_symmetry symmetry, uint32_t *starts)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < n_parts; p++)
        for (size_t i = 0; i < parts[p].count; i++) {
            const struct lull_matrix_entry *entry = &parts[p].entries[i];
            bool image = has_image(entry, symmetry);
            starts[entry->row + 1]++;
            if (image)
                starts[entry->column + 1]++;
            sum += 1 + image;
        }
    return sum;
}

static void place_entry(struct lull_matrix *matrix, uint32_t row, uint32_t column, double value)
{
    uint32_t at = matrix->starts[row]++;
    matrix->column[at] = column;
    matrix->values[at] = value;
}

static void fill_rows(struct lull_matrix *matrix, const struct lull_matrix_part *parts,
                      size_t n_parts, enum lull_matrix_symmetry symmetry)
{
    for (uint32_t r = 0; r < matrix->rows; r++)
        matrix->starts[r + 1] += matrix->starts[r];
    for (size_t p = 0; p < n_parts; p++)
        for (size_t i = 0; i < parts[p].count; i++) {
            const struct lull_matrix_entry *entry = &parts[p].entries[i];
            place_entry(matrix, entry->row, entry->column, entry->value);
            if (has_image(entry, symmetry))
                place_entry(matrix, entry->column, entry->row,
                            symmetry == LULL_MATRIX_SKEW ? -entry->value : entry->value);
        }
    /* Each start has moved to the next one's place. */
    memmove(matrix->starts + 1, matrix->starts, matrix->rows * sizeof *matrix->starts);
    matrix->starts[0] = 0;
}

lull_status lull_matrix_build(uint32_t rows, uint32_t columns, const struct lull_matrix_part *parts,
                              size_t n_parts, enum lull_matrix_symmetry symmetry,
                              struct lull_matrix *ret_matrix, struct lull_error *err)
{
    struct lull_matrix matrix = {.rows = rows, .columns = columns};
    matrix.starts = calloc((size_t)rows + 1, sizeof *matrix.starts);
    if (!matrix.starts)
        return no_memory(err);
    uint64_t nonzeros = count_rows(parts, n_parts, symmetry, matrix.starts);
    if (nonzeros > UINT32_MAX) {
        lull_matrix_free(&matrix);
        return lull_fail(err, LULL_ERR_RANGE, "%llu nonzeros, expected at most %u",
                         (unsigned long long)nonzeros, UINT32_MAX);
    }
    matrix.column = malloc((nonzeros + 1) * sizeof *matrix.column);
    matrix.values = malloc((nonzeros + 1) * sizeof *matrix.values);
    bool enough = matrix.column && matrix.values;
    if (enough) {
        fill_rows(&matrix, parts, n_parts, symmetry);
        enough = sort_rows(&matrix);
    }
    if (!enough) {
        lull_matrix_free(&matrix);
        return no_memory(err);
    }
    *ret_matrix = matrix;
    return LULL_OK;
}

/* ---- row by row ----------------------------------------------------------------------------- */

void lull_matrix_begin(struct lull_matrix_rows *rows, uint32_t n_rows, uint32_t n_columns)
{
    *rows = (struct lull_matrix_rows){.matrix = {.rows = n_rows, .columns = n_columns}};
    rows->matrix.starts = calloc((size_t)n_rows + 1, sizeof *rows->matrix.starts);
    rows->failed = !rows->matrix.starts;
}

void lull_matrix_add(struct lull_matrix_rows *rows, uint32_t column, double value)
{
    size_t need = rows->count + 1;
    rows->failed = rows->failed || need > UINT32_MAX ||
                   !lull_array_reserve(&rows->matrix.column, &rows->column_capacity, need,
                                       sizeof *rows->matrix.column) ||
                   !lull_array_reserve(&rows->matrix.values, &rows->value_capacity, need,
                                       sizeof *rows->matrix.values);
    if (rows->failed)
        return;
    rows->matrix.column[rows->count] = column;
    rows->matrix.values[rows->count++] = value;
}

void lull_matrix_end_row(struct lull_matrix_rows *rows)
{
    if (!rows->failed)
        rows->matrix.starts[++rows->row] = (uint32_t)rows->count;
}

lull_status lull_matrix_finish(struct lull_matrix_rows *rows, struct lull_matrix *ret_matrix,
                               struct lull_error *err)
{
    bool whole = !rows->failed && sort_rows(&rows->matrix);
    if (!whole) {
        bool many = rows->count + 1 > UINT32_MAX;
        lull_matrix_free(&rows->matrix);
        return many ? lull_fail(err, LULL_ERR_RANGE, "more than %u nonzeros", UINT32_MAX)
                    : no_memory(err);
    }
    *ret_matrix = rows->matrix;
    return LULL_OK;
}

/* ---- order ---------------------------------------------------------------------------------- */

uint32_t lull_matrix_bandwidth(const struct lull_matrix *matrix)
{
    uint32_t widest = 0;
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++) {
            uint32_t column = matrix->column[i];
            uint32_t distance = column > r ? column - r : r - column;
            if (distance > widest)
                widest = distance;
        }
    return widest;
}

lull_status lull_matrix_permute(const struct lull_matrix *matrix, const uint32_t *order,
                                struct lull_matrix *ret_matrix, struct lull_error *err)
{
    uint32_t *place_of = malloc(((size_t)matrix->rows + 1) * sizeof *place_of);
    struct lull_matrix_rows rows;
    if (!place_of)
        return no_memory(err);
    for (uint32_t i = 0; i < matrix->rows; i++)
        place_of[order[i]] = i;
    lull_matrix_begin(&rows, matrix->rows, matrix->columns);
    rows.matrix.complex = matrix->complex;
    for (uint32_t i = 0; i < matrix->rows; i++) {
        for (uint32_t k = matrix->starts[order[i]]; k < matrix->starts[order[i] + 1]; k++)
            lull_matrix_add(&rows, place_of[matrix->column[k]], matrix->values[k]);
        lull_matrix_end_row(&rows);
    }
    free(place_of);
    return lull_matrix_finish(&rows, ret_matrix, err);
}
