/* The product of a sparse matrix on parts against one that is written plainly with OpenMP: the same
 * result, and, where all rows are equally long, the rows that a static schedule gives each thread.
 */
#include "bench/sparse.h"
#include "model/spmv/generate.h"
#include "model/spmv/spmv.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef _OPENMP
/* owner[row] becomes the thread that computed the row. */
static void multiply_openmp(const struct lull_matrix *matrix, int threads, const double *x,
                            double *y, int *owner)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (uint32_t row = 0; row < matrix->rows; row++) {
        double sum = 0;
        for (uint32_t i = matrix->starts[row]; i < matrix->starts[row + 1]; i++)
            sum += matrix->values[i] * x[matrix->column[i]];
        y[row] = sum;
        owner[row] = omp_get_thread_num();
    }
}

static void check(const char *spec, unsigned threads, bool equal_rows)
{
    struct lull_matrix matrix;
    struct lull_error err;
    fail_if(lull_generate(spec, &matrix, &err) != LULL_OK, "%s", err.text);
    const struct lull_sparse sparse = {.rows = matrix.rows,
                                       .columns = matrix.columns,
                                       .starts = matrix.starts,
                                       .column = matrix.column,
                                       .values = matrix.values};
    double *x = calloc(matrix.columns, sizeof *x), *y = calloc(matrix.rows, sizeof *y);
    double *expected = calloc(matrix.rows, sizeof *expected);
    int *owner = calloc(matrix.rows, sizeof *owner);
    assert_true(x && y && expected && owner);
    for (uint32_t i = 0; i < matrix.columns; i++)
        x[i] = 1 + 0.25 * (i % 7);
    omp_set_dynamic(0);
    multiply_openmp(&matrix, (int)threads, x, expected, owner);
    uint32_t next = 0;
    for (unsigned t = 0; t < threads; t++) {
        struct lull_sparse_part part;
        lull_spmv_split(&matrix, NULL, threads, t, &part.first, &part.last);
        assert_int_equal(part.first, next); /* no row twice, none left out */
        next = part.last;
        lull_sparse_multiply(&sparse, part, x, y);
        for (uint32_t row = part.first; equal_rows && row < part.last; row++)
            assert_int_equal(owner[row], t);
    }
    assert_int_equal(next, matrix.rows);
    for (uint32_t row = 0; row < matrix.rows; row++)
        assert_true(fabs(y[row] - expected[row]) <= 1e-12 * fabs(expected[row]) + 1e-14);
    free(x);
    free(y);
    free(expected);
    free(owner);
    lull_matrix_free(&matrix);
}

static void test_openmp(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        check("dense:n=64", threads, true);
        check("stencil5:nx=40,ny=30", threads, false);
        check("random:n=1000,row=9", threads, false);
    }
    check("dense:n=60", 3, true);
}
#else
static void test_openmp(void **state)
{
    (void)state;
    printf("skipped: this compiler has no OpenMP\n");
    skip();
}
#endif

/* A copy in a region is the matrix, array by array, each on a cache line of its own. */
static void check_copy(const struct lull_sparse *sparse, size_t stored, size_t chunks)
{
    struct lull_sparse_region region;
    size_t bytes = lull_sparse_bytes(sparse) + lull_sparse_lines(9 * sizeof(double));
    assert_int_equal(lull_sparse_region_open(&region, bytes, NULL), LULL_OK);
    struct lull_sparse copy = lull_sparse_copy(&region, sparse);
    double *vector = lull_sparse_vector(&region, 9, 2.5);
    const struct {
        const void *from, *to;
        size_t bytes;
    } arrays[] = {
        {sparse->column, copy.column, stored * sizeof *copy.column},
        {sparse->values, copy.values, stored * sizeof *copy.values},
        {sparse->starts, copy.starts, ((size_t)sparse->rows + 1) * sizeof *copy.starts},
        {sparse->chunk_starts, copy.chunk_starts, (chunks + 1) * sizeof *copy.chunk_starts},
        {sparse->row, copy.row, sparse->rows * sizeof *copy.row},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (!arrays[i].from) {
            assert_null(arrays[i].to);
            continue;
        }
        assert_ptr_not_equal(arrays[i].to, arrays[i].from);
        assert_int_equal((uintptr_t)arrays[i].to % 64, 0);
        assert_memory_equal(arrays[i].to, arrays[i].from, arrays[i].bytes);
    }
    for (size_t i = 0; i < 9; i++)
        assert_true(vector[i] == 2.5);
    assert_int_equal(copy.rows, sparse->rows);
    assert_int_equal(copy.chunk, sparse->chunk);
    lull_sparse_region_close(&region);
}

static void test_copy(void **state)
{
    (void)state;
    struct lull_matrix matrix;
    struct lull_sell sell;
    assert_int_equal(lull_generate("random:n=1001,row=9", &matrix, NULL), LULL_OK);
    assert_int_equal(lull_sell_build(&matrix, 32, 64, &sell, NULL), LULL_OK);
    const struct lull_sparse crs = {.rows = matrix.rows,
                                    .columns = matrix.columns,
                                    .starts = matrix.starts,
                                    .column = matrix.column,
                                    .values = matrix.values};
    const struct lull_sparse chunks = {.rows = matrix.rows,
                                       .columns = matrix.columns,
                                       .column = sell.column,
                                       .values = sell.values,
                                       .chunk = sell.chunk,
                                       .chunk_starts = sell.starts,
                                       .row = sell.row};
    check_copy(&crs, matrix.starts[matrix.rows], 0);
    check_copy(&chunks, sell.stored, sell.n_chunks);
    lull_sell_free(&sell);
    lull_matrix_free(&matrix);
}

TEST_GROUP(test_sparse)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_openmp), cmocka_unit_test(test_copy)};
    return run_cases(tests, NULL, NULL);
}
