/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/spmv/matrix.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* ==== SELL-C-sigma ============================================================================ */

void lull_sell_free(struct lull_sell *sell)
{
    free(sell->starts);
    free(sell->row);
    free(sell->column);
    free(sell->values);
    *sell = (struct lull_sell){0};
}

static uint32_t row_length(const struct lull_matrix *matrix, uint32_t row)
{
    return matrix->starts[row + 1] - matrix->starts[row];
}

struct sorted_row {
    uint32_t length, row;
};

/* The longest first; rows of one length stay in their order. */
static int compare_lengths(const void *a, const void *b)
{
    const struct sorted_row *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool sort_windows(const struct lull_matrix *matrix, uint32_t sigma, uint32_t *row)
{
    uint32_t widest = sigma < matrix->rows ? sigma : matrix->rows;
    struct sorted_row *window = malloc(((size_t)widest + 1) * sizeof *window);
    if (!window)
        return false;
    for (uint32_t first = 0; first < matrix->rows;) {
        uint32_t count = matrix->rows - first < sigma ? matrix->rows - first : sigma;
        for (uint32_t i = 0; i < count; i++)
            window[i] = (struct sorted_row){row_length(matrix, first + i), first + i};
        qsort(window, count, sizeof *window, compare_lengths);
        for (uint32_t i = 0; i < count; i++)
            row[first + i] = window[i].row;
        first += count;
    }
    free(window);
    return true;
}

/* How many rows a chunk has; the last one may have fewer than C. */
static uint32_t rows_of(const struct lull_sell *sell, uint32_t chunk)
{
    uint32_t left = sell->rows - chunk * sell->chunk;
    return left < sell->chunk ? left : sell->chunk;
}

static void find_starts(const struct lull_matrix *matrix, struct lull_sell *sell)
{
    for (uint32_t c = 0; c < sell->n_chunks; c++) {
        uint32_t longest = 0;
        for (uint32_t i = 0; i < rows_of(sell, c); i++) {
            uint32_t length = row_length(matrix, sell->row[c * sell->chunk + i]);
            longest = length > longest ? length : longest;
        }
        sell->starts[c + 1] = sell->starts[c] + (uint64_t)longest * sell->chunk;
    }
    sell->stored = sell->starts[sell->n_chunks];
}

static void fill_chunk(const struct lull_matrix *matrix, struct lull_sell *sell, uint32_t c)
{
    uint64_t length = (sell->starts[c + 1] - sell->starts[c]) / sell->chunk;
    for (uint32_t i = 0; i < sell->chunk; i++) {
        uint32_t place = c * sell->chunk + i, padding = 0;
        uint32_t row = i < rows_of(sell, c) ? sell->row[place] : 0;
        uint32_t count = i < rows_of(sell, c) ? row_length(matrix, row) : 0;
        for (uint32_t j = 0; j < length; j++) {
            uint64_t to = sell->starts[c] + (uint64_t)j * sell->chunk + i;
            if (j < count)
                padding = matrix->column[matrix->starts[row] + j];
            sell->column[to] = padding;
            sell->values[to] = j < count ? matrix->values[matrix->starts[row] + j] : 0;
        }
    }
}

lull_status lull_sell_build(const struct lull_matrix *matrix, uint32_t chunk, uint32_t sigma,
                            struct lull_sell *ret_sell, struct lull_error *err)
{
    struct lull_sell sell = {.rows = matrix->rows,
                             .chunk = chunk,
                             .n_chunks = (uint32_t)(((uint64_t)matrix->rows + chunk - 1) / chunk)};
    sell.starts = calloc((size_t)sell.n_chunks + 1, sizeof *sell.starts);
    sell.row = malloc(((size_t)matrix->rows + 1) * sizeof *sell.row);
    bool enough = sell.starts && sell.row && sort_windows(matrix, sigma, sell.row);
    if (enough) {
        find_starts(matrix, &sell);
        sell.column = malloc((sell.stored + 1) * sizeof *sell.column);
        sell.values = malloc((sell.stored + 1) * sizeof *sell.values);
        enough = sell.column && sell.values;
    }
    if (!enough) {
        lull_sell_free(&sell);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the matrix in SELL");
    }
    for (uint32_t c = 0; c < sell.n_chunks; c++)
        fill_chunk(matrix, &sell, c);
    *ret_sell = sell;
    return LULL_OK;
}

/* ==== reverse Cuthill-McKee =================================================================== */

/* The pattern of A + A^T without its diagonal, and the state of a breadth-first search. */
struct graph {
    uint32_t nodes;
    uint64_t *starts; /* [nodes + 1]: where the neighbours of each node begin */
    uint32_t *neighbours;
    uint32_t *mark;  /* [nodes]: number of the last search that reached the node; 0: none */
    uint32_t search; /* number of the present search */
    bool *done;      /* [nodes]: the node is in the order */
};

static uint32_t degree_of_node(const struct graph *graph, uint32_t node)
{
    return (uint32_t)(graph->starts[node + 1] - graph->starts[node]);
}

static void free_graph(struct graph *graph)
{
    free(graph->starts);
    free(graph->neighbours);
    free(graph->mark);
    free(graph->done);
}

/* Makes row and column of each nonzero neighbours. Two nodes that are linked by two nonzeros are
 * neighbours twice, which does no harm. */
static void link_nodes(struct graph *graph, const struct lull_matrix *matrix)
{
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++) {
            uint32_t c = matrix->column[i];
            if (c == r)
                continue;
            graph->neighbours[graph->starts[r]++] = c;
            graph->neighbours[graph->starts[c]++] = r;
        }
    memmove(graph->starts + 1, graph->starts, graph->nodes * sizeof *graph->starts);
    graph->starts[0] = 0;
}

static bool make_graph(struct graph *graph, const struct lull_matrix *matrix)
{
    *graph = (struct graph){.nodes = matrix->rows};
    graph->starts = calloc((size_t)matrix->rows + 2, sizeof *graph->starts);
    graph->mark = calloc((size_t)matrix->rows + 1, sizeof *graph->mark);
    graph->done = calloc((size_t)matrix->rows + 1, sizeof *graph->done);
    graph->neighbours = malloc((2 * lull_matrix_nonzeros(matrix) + 1) * sizeof *graph->neighbours);
    if (!graph->starts || !graph->mark || !graph->done || !graph->neighbours)
        return false;
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++)
            if (matrix->column[i] != r) {
                graph->starts[r + 1]++;
                graph->starts[matrix->column[i] + 1]++;
            }
    for (uint32_t r = 0; r < matrix->rows; r++)
        graph->starts[r + 1] += graph->starts[r];
    link_nodes(graph, matrix);
    return true;
}

struct node_degree {
    uint32_t degree, node;
};

static int compare_degrees(const void *a, const void *b)
{
    const struct node_degree *x = a, *y = b;
    if (x->degree != y->degree)
        return x->degree < y->degree ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Searches breadth first from a node, and puts the nodes that it reaches into order[], the new
 * neighbours of one node by their degree. `fresh` is scratch. Returns how many nodes it reaches;
 * *ret_last is where the last level begins in order[], *ret_levels how many levels there are. */
static uint32_t search_from(struct graph *graph, uint32_t node, uint32_t *order,
                            struct node_degree *fresh, uint32_t *ret_last, uint32_t *ret_levels)
{
    uint32_t count = 1, level_end = 1;
    graph->search++;
    graph->mark[node] = graph->search;
    order[0] = node;
    *ret_last = 0;
    *ret_levels = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (i == level_end) {
            *ret_last = i;
            ++*ret_levels;
            level_end = count;
        }
        uint32_t n_fresh = 0;
        for (uint64_t k = graph->starts[order[i]]; k < graph->starts[order[i] + 1]; k++) {
            uint32_t other = graph->neighbours[k];
            if (graph->mark[other] == graph->search)
                continue;
            graph->mark[other] = graph->search;
            fresh[n_fresh++] = (struct node_degree){degree_of_node(graph, other), other};
        }
        qsort(fresh, n_fresh, sizeof *fresh, compare_degrees);
        for (uint32_t k = 0; k < n_fresh; k++)
            order[count++] = fresh[k].node;
    }
    return count;
}

/* Puts a component into the order of Cuthill and McKee. It begins at a node that is as far from the
 * others as a few searches find: each search begins at the node of the least degree in the last
 * level of the search before. Returns how many nodes the component has. */
static uint32_t order_component(struct graph *graph, uint32_t node, uint32_t *order,
                                struct node_degree *fresh)
{
    enum { MOST_SEARCHES = 8 };
    uint32_t last, levels, before = 0;
    uint32_t count = search_from(graph, node, order, fresh, &last, &levels);
    for (int i = 0; i < MOST_SEARCHES && levels > before; i++) {
        before = levels;
        node = order[last];
        for (uint32_t k = last; k < count; k++)
            if (degree_of_node(graph, order[k]) < degree_of_node(graph, node))
                node = order[k];
        count = search_from(graph, node, order, fresh, &last, &levels);
    }
    return count;
}

lull_status lull_matrix_rcm(const struct lull_matrix *matrix, uint32_t *order,
                            struct lull_error *err)
{
    struct graph graph;
    struct node_degree *fresh = malloc(((size_t)matrix->rows + 1) * sizeof *fresh);
    if (!make_graph(&graph, matrix) || !fresh) {
        free_graph(&graph);
        free(fresh);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to reorder the matrix");
    }
    uint32_t count = 0;
    for (uint32_t node = 0; node < graph.nodes; node++) {
        if (graph.done[node])
            continue;
        uint32_t reached = order_component(&graph, node, order + count, fresh);
        for (uint32_t i = 0; i < reached; i++)
            graph.done[order[count + i]] = true;
        count += reached;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t node = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = node;
    }
    free_graph(&graph);
    free(fresh);
    return LULL_OK;
}

/* ==== the matrix ============================================================================== */

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

/* ---- rows in order --------------------------------------------------------------------------- */

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
        if (count == 0) /* a matrix of zeros has no arrays */
            continue;
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

/* ---- from entries ---------------------------------------------------------------------------- */

static bool has_image(const struct lull_matrix_entry *entry, enum lull_matrix_symmetry symmetry)
{
    return symmetry != LULL_MATRIX_GENERAL && entry->row != entry->column;
}

/* Counts the nonzeros of each row in starts[row + 1]; returns their sum. */
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
    /* Each start has moved to where the next row begins. */
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

/* ---- row by row ------------------------------------------------------------------------------ */

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

/* ---- order ----------------------------------------------------------------------------------- */

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
