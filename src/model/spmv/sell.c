#include "model/spmv/matrix.h"

#include <stdlib.h>

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

/* The longest first; rows of one length as they come. */
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

/* Places of a chunk's rows that exist: the last chunk may have fewer. */
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
