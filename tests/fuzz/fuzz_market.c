/* Matrix Market files of any content. What is accepted is a matrix whose indices are within it, and
 * can be stored in other ways. */
#include "model/spmv/market.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_matrix(const struct lull_matrix *matrix)
{
    must(matrix->starts[0] == 0);
    for (uint32_t row = 0; row < matrix->rows; row++) {
        must(matrix->starts[row] <= matrix->starts[row + 1]);
        for (uint32_t i = matrix->starts[row]; i < matrix->starts[row + 1]; i++)
            must(matrix->column[i] < matrix->columns &&
                 (i == matrix->starts[row] || matrix->column[i - 1] <= matrix->column[i]));
    }
}

static void store_otherwise(const struct lull_matrix *matrix)
{
    struct lull_sell sell;
    must(lull_sell_build(matrix, 4, 16, &sell, NULL) == LULL_OK);
    must(sell.stored >= lull_matrix_nonzeros(matrix));
    lull_sell_free(&sell);
    uint32_t *order = malloc((matrix->rows + (size_t)1) * sizeof *order);
    struct lull_matrix other;
    must(order != NULL);
    if (matrix->rows == matrix->columns && lull_matrix_rcm(matrix, order, NULL) == LULL_OK &&
        lull_matrix_permute(matrix, order, &other, NULL) == LULL_OK) {
        check_matrix(&other);
        must(lull_matrix_nonzeros(&other) == lull_matrix_nonzeros(matrix));
        lull_matrix_free(&other);
    }
    free(order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_ROWS = 100000 }; /* more are no different, only slower */
    struct lull_matrix matrix;
    struct lull_error err;
    if (lull_market_parse((const char *)data, size, "fuzz", 1, &matrix, &err) != LULL_OK)
        return 0;
    check_matrix(&matrix);
    if (matrix.rows < MOST_ROWS)
        store_otherwise(&matrix);
    lull_matrix_free(&matrix);
    return 0;
}
