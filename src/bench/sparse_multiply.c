/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of the product of a sparse matrix and a vector (bench/sparse.h). They are in a file of
 * their own because it is compiled with -O2 whatever the build type is. */
#include "bench/sparse.h"

/* Four partial sums: additions that wait for each other would take longer than the loads. */
static double multiply_row(const uint32_t *column, const double *values, uint32_t count,
                           const double *x)
{
    double a = 0, b = 0, c = 0, d = 0;
    uint32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a += values[i] * x[column[i]];
        b += values[i + 1] * x[column[i + 1]];
        c += values[i + 2] * x[column[i + 2]];
        d += values[i + 3] * x[column[i + 3]];
    }
    for (; i < count; i++)
        a += values[i] * x[column[i]];
    return (a + b) + (c + d);
}

/* Rows of a chunk that exist, from the i-th on, eight at most. */
static uint32_t rows_left(const struct lull_sparse *sparse, uint32_t place)
{
    uint32_t left = sparse->rows > place ? sparse->rows - place : 0;
    return left < 8 ? left : 8;
}

/* Eight rows of a chunk side by side. */
static void multiply_eight(const struct lull_sparse *sparse, uint32_t chunk, uint32_t i,
                           const double *x, double *y)
{
    double sum[8] = {0};
    uint32_t place = chunk * sparse->chunk + i;
    for (uint64_t k = sparse->chunk_starts[chunk] + i; k < sparse->chunk_starts[chunk + 1];
         k += sparse->chunk)
        for (uint32_t r = 0; r < 8; r++)
            sum[r] += sparse->values[k + r] * x[sparse->column[k + r]];
    for (uint32_t r = 0; r < rows_left(sparse, place); r++)
        y[sparse->row[place + r]] = sum[r];
}

static void multiply_one(const struct lull_sparse *sparse, uint32_t chunk, uint32_t i,
                         const double *x, double *y)
{
    double sum = 0;
    for (uint64_t k = sparse->chunk_starts[chunk] + i; k < sparse->chunk_starts[chunk + 1];
         k += sparse->chunk)
        sum += sparse->values[k] * x[sparse->column[k]];
    if (chunk * sparse->chunk + i < sparse->rows)
        y[sparse->row[chunk * sparse->chunk + i]] = sum;
}

static void multiply_chunk(const struct lull_sparse *sparse, uint32_t chunk, const double *x,
                           double *y)
{
    uint32_t i = 0;
    for (; i + 8 <= sparse->chunk; i += 8)
        multiply_eight(sparse, chunk, i, x, y);
    for (; i < sparse->chunk; i++)
        multiply_one(sparse, chunk, i, x, y);
}

void lull_sparse_multiply(const struct lull_sparse *sparse, struct lull_sparse_part part,
                          const double *x, double *y)
{
    if (!sparse->starts) {
        for (uint32_t chunk = part.first; chunk < part.last; chunk++)
            multiply_chunk(sparse, chunk, x, y);
        return;
    }
    for (uint32_t row = part.first; row < part.last; row++) {
        uint32_t start = sparse->starts[row];
        y[row] = multiply_row(sparse->column + start, sparse->values + start,
                              sparse->starts[row + 1] - start, x);
    }
}

void lull_sparse_multiply_transposed(const struct lull_sparse *sparse, struct lull_sparse_part part,
                                     const double *x, double *y)
{
    for (uint32_t row = part.first; row < part.last; row++) {
        double factor = x[row];
        for (uint32_t i = sparse->starts[row]; i < sparse->starts[row + 1]; i++)
            y[sparse->column[i]] += sparse->values[i] * factor;
    }
}
