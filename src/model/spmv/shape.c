#include "model/spmv/spmv.h"

#include <math.h>

enum { COLUMN_INDEX_BYTES = 4, CHUNK_START_BYTES = 8 };

struct lull_spmv_shape lull_spmv_shape(const struct lull_matrix *matrix, bool transposed,
                                       const struct lull_sell *sell)
{
    double nonzeros = (double)lull_matrix_nonzeros(matrix);
    return (struct lull_spmv_shape){.rows = matrix->rows,
                                    .columns = matrix->columns,
                                    .nonzeros = nonzeros,
                                    .value_bytes = matrix->complex ? 16 : 8,
                                    .flops = matrix->complex ? 8 : 2,
                                    .transposed = transposed,
                                    .chunk = sell ? sell->chunk : 0,
                                    .stored = sell ? (double)sell->stored : nonzeros};
}

/* Bytes per nonzero and unit of alpha: loads, and of a result that is updated stores as well. */
static double alpha_bytes(const struct lull_spmv_shape *shape)
{
    return shape->transposed ? 2 * shape->value_bytes : shape->value_bytes;
}

/* Bytes per nonzero without the vector that is accessed through indices. */
static double fixed_bytes(const struct lull_spmv_shape *shape)
{
    double per_row = COLUMN_INDEX_BYTES;
    per_row += shape->transposed ? shape->value_bytes : 2 * shape->value_bytes;
    if (shape->chunk > 0)
        per_row += CHUNK_START_BYTES / shape->chunk;
    return (shape->value_bytes + COLUMN_INDEX_BYTES) * shape->stored / shape->nonzeros +
           per_row * shape->rows / shape->nonzeros;
}

double lull_spmv_bytes(const struct lull_spmv_shape *shape, double alpha)
{
    return fixed_bytes(shape) + alpha * alpha_bytes(shape);
}

double lull_spmv_intensity(const struct lull_spmv_shape *shape, double alpha)
{
    return shape->flops / lull_spmv_bytes(shape, alpha);
}

double lull_spmv_alpha(const struct lull_spmv_shape *shape, double bytes)
{
    return (bytes / shape->nonzeros - fixed_bytes(shape)) / alpha_bytes(shape);
}

double lull_spmv_alpha_once(const struct lull_spmv_shape *shape)
{
    return shape->columns / shape->nonzeros;
}
