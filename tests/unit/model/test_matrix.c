/* Sparse matrices: generators against their definitions, reordering, SELL, and products that must
 * not depend on how a matrix is stored. */
#include "base/arena.h"
#include "bench/sparse.h"
#include "model/spmv/generate.h"
#include "model/spmv/market.h"
#include "model/spmv/spmv.h"
#include "stats/random.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lull_matrix make(const char *spec)
{
    struct lull_matrix matrix;
    struct lull_error err = {""};
    fail_if(lull_generate(spec, &matrix, &err) != LULL_OK, "%s: %s", spec, err.text);
    return matrix;
}

static double at(const struct lull_matrix *matrix, uint32_t row, uint32_t column)
{
    for (uint32_t i = matrix->starts[row]; i < matrix->starts[row + 1]; i++)
        if (matrix->column[i] == column)
            return matrix->values[i];
    return 0;
}

/* ---- generators ----------------------------------------------------------------------------- */

static void test_stencils(void **state)
{
    (void)state;
    struct lull_matrix matrix = make("stencil5:nx=4,ny=3");
    assert_int_equal(matrix.rows, 12);
    /* Points and twice the edges: 3 x 3 along x, 4 x 2 along y. */
    assert_int_equal(lull_matrix_nonzeros(&matrix), 12 + 2 * (9 + 8));
    assert_true(at(&matrix, 5, 5) == 4 && at(&matrix, 5, 4) == -1 && at(&matrix, 5, 1) == -1);
    assert_true(at(&matrix, 3, 4) ==
                0); /* the end of a row of points is no neighbour of the next */
    assert_int_equal(lull_matrix_bandwidth(&matrix), 4);
    lull_matrix_free(&matrix);
    matrix = make("stencil7:nx=3,ny=4,nz=5");
    assert_int_equal(lull_matrix_nonzeros(&matrix), 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12));
    lull_matrix_free(&matrix);
    matrix = make("stencil27:nx=3,ny=4,nz=5");
    assert_int_equal(lull_matrix_nonzeros(&matrix), (3 * 3 - 2) * (3 * 4 - 2) * (3 * 5 - 2));
    lull_matrix_free(&matrix);
    matrix = make("banded:n=10,half=2");
    assert_int_equal(lull_matrix_nonzeros(&matrix), 10 + 2 * (9 + 8));
    assert_int_equal(lull_matrix_bandwidth(&matrix), 2);
    lull_matrix_free(&matrix);
    matrix = make("dense:n=5,m=7");
    assert_int_equal(lull_matrix_nonzeros(&matrix), 35);
    lull_matrix_free(&matrix);
}

static void check_columns(const struct lull_matrix *matrix)
{
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++) {
            assert_true(matrix->column[i] < matrix->columns);
            assert_true(i == matrix->starts[r] || matrix->column[i - 1] < matrix->column[i]);
        }
}

static void test_random(void **state)
{
    (void)state;
    struct lull_matrix a = make("random:n=500,row=40,seed=3"),
                       b = make("random:n=500,row=40,seed=3");
    struct lull_matrix c = make("random:n=500,row=40,seed=4");
    assert_int_equal(lull_matrix_nonzeros(&a), 500 * 40);
    check_columns(&a);
    assert_memory_equal(a.column, b.column, 500 * 40 * sizeof *a.column);
    assert_memory_not_equal(a.column, c.column, 500 * 40 * sizeof *a.column);
    lull_matrix_free(&a);
    lull_matrix_free(&b);
    lull_matrix_free(&c);
    a = make("powerlaw:n=20000,row=8,exponent=2.5");
    check_columns(&a);
    double mean = (double)lull_matrix_nonzeros(&a) / 20000;
    fail_if(mean < 4 || mean > 12, "rows of %g nonzeros on average, expected about 8", mean);
    lull_matrix_free(&a);
}

static void test_bad_specs(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "stencil5:nx=0",          "stencil5:nz=3",      "stencil5:nx",
        "banded:n=1.5",           "banded:n=10,",       "random:n=3,row=4",
        "stencil5:nx=1e9,ny=1e9", "powerlaw:exponent=2"};
    struct lull_matrix matrix;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct lull_error err = {""};
        fail_if(lull_generate(specs[i], &matrix, &err) != LULL_ERR_RANGE || !*err.text,
                "%s is not refused", specs[i]);
    }
    assert_null(lull_generator_find("matrix.mtx"));
}

/* ---- reordering ----------------------------------------------------------------------------- */

/* A grid whose points were numbered at random: its bandwidth is known to be 20 at best. */
static void test_rcm(void **state)
{
    (void)state;
    enum { N = 20 * 50 };
    struct lull_matrix grid = make("stencil5:nx=20,ny=50"), shuffled, found;
    struct lull_random random;
    uint32_t order[N];
    bool seen[N] = {false};
    lull_random_seed(&random, 7);
    for (uint32_t i = 0; i < N; i++)
        order[i] = i;
    for (uint32_t i = N; i > 1; i--) {
        uint32_t other = (uint32_t)lull_random_below(&random, i), item = order[i - 1];
        order[i - 1] = order[other];
        order[other] = item;
    }
    assert_int_equal(lull_matrix_permute(&grid, order, &shuffled, NULL), LULL_OK);
    assert_true(at(&shuffled, 5, 5) == 4 && lull_matrix_bandwidth(&shuffled) > 500);
    assert_int_equal(lull_matrix_rcm(&shuffled, order, NULL), LULL_OK);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(order[i] < N && !seen[order[i]]);
        seen[order[i]] = true;
    }
    assert_int_equal(lull_matrix_permute(&shuffled, order, &found, NULL), LULL_OK);
    assert_int_equal(lull_matrix_nonzeros(&found), lull_matrix_nonzeros(&grid));
    fail_if(lull_matrix_bandwidth(&found) > 30, "bandwidth %u, expected about 20",
            lull_matrix_bandwidth(&found));
    lull_matrix_free(&grid);
    lull_matrix_free(&shuffled);
    lull_matrix_free(&found);
}

/* ---- products ------------------------------------------------------------------------------- */

enum { MOST = 700, THREADS = 3 };

/* By definition, and into the result whose rows the threads' parts must cover. */
static void check_products(const struct lull_matrix *matrix, const struct lull_sell *sell)
{
    double x[MOST], want[MOST] = {0}, transposed[MOST] = {0}, got[MOST], own[MOST] = {0};
    for (uint32_t i = 0; i < MOST; i++) {
        x[i] = (double)(i % 17) - 5;
        got[i] = NAN;
    }
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++) {
            want[r] += matrix->values[i] * x[matrix->column[i]];
            transposed[matrix->column[i]] += matrix->values[i] * x[r];
        }
    struct lull_sparse sparse = {.rows = matrix->rows,
                                 .columns = matrix->columns,
                                 .starts = sell ? NULL : matrix->starts,
                                 .column = sell ? sell->column : matrix->column,
                                 .values = sell ? sell->values : matrix->values,
                                 .chunk = sell ? sell->chunk : 0,
                                 .chunk_starts = sell ? sell->starts : NULL,
                                 .row = sell ? sell->row : NULL};
    for (unsigned t = 0; t < THREADS; t++) {
        struct lull_sparse_part part;
        lull_spmv_split(matrix, sell, THREADS, t, &part.first, &part.last);
        lull_sparse_multiply(&sparse, part, x, got);
        if (!sell)
            lull_sparse_multiply_transposed(&sparse, part, x, own);
    }
    for (uint32_t r = 0; r < matrix->rows; r++)
        fail_if(!(fabs(got[r] - want[r]) <= 1e-9), "row %u: %g, expected %g", r, got[r], want[r]);
    for (uint32_t c = 0; c < matrix->columns && !sell; c++)
        fail_if(!(fabs(own[c] - transposed[c]) <= 1e-9), "column %u: %g, expected %g", c, own[c],
                transposed[c]);
}

static void test_products(void **state)
{
    (void)state;
    static const char *const specs[] = {"stencil5:nx=20,ny=30", "powerlaw:n=501,row=6",
                                        "dense:n=3,m=600", "random:n=699,row=5"};
    static const struct {
        uint32_t chunk, sigma;
    } sells[] = {{1, 1}, {8, 1}, {32, 64}, {12, 1000}, {1024, 1}};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct lull_matrix matrix = make(specs[i]);
        check_products(&matrix, NULL);
        for (size_t s = 0; s < sizeof sells / sizeof *sells; s++) {
            struct lull_sell sell;
            assert_int_equal(lull_sell_build(&matrix, sells[s].chunk, sells[s].sigma, &sell, NULL),
                             LULL_OK);
            assert_true(sell.stored >= lull_matrix_nonzeros(&matrix));
            check_products(&matrix, &sell);
            lull_sell_free(&sell);
        }
        lull_matrix_free(&matrix);
    }
}

/* Rows of 3, 1, 2 and 1: chunks of two hold 2 x 3 + 2 x 2 as they are and 2 x 3 + 2 x 1 sorted. */
static void test_padding(void **state)
{
    (void)state;
    struct lull_matrix_rows rows;
    struct lull_matrix matrix;
    static const uint32_t lengths[] = {3, 1, 2, 1};
    lull_matrix_begin(&rows, 4, 4);
    for (uint32_t r = 0; r < 4; r++) {
        for (uint32_t i = 0; i < lengths[r]; i++)
            lull_matrix_add(&rows, i, 1);
        lull_matrix_end_row(&rows);
    }
    assert_int_equal(lull_matrix_finish(&rows, &matrix, NULL), LULL_OK);
    struct lull_sell sell;
    assert_int_equal(lull_sell_build(&matrix, 2, 1, &sell, NULL), LULL_OK);
    assert_int_equal(sell.stored, 10);
    lull_sell_free(&sell);
    assert_int_equal(lull_sell_build(&matrix, 2, 4, &sell, NULL), LULL_OK);
    assert_int_equal(sell.stored, 8);
    assert_int_equal(sell.row[0], 0);
    assert_int_equal(sell.row[1], 2);
    lull_sell_free(&sell);
    lull_matrix_free(&matrix);
}

/* More than the matrix has: all rows are sorted. */
static void test_a_window_of_all_rows(void **state)
{
    (void)state;
    struct lull_matrix_rows rows;
    struct lull_matrix matrix;
    struct lull_sell sell;
    lull_matrix_begin(&rows, 6, 6);
    for (uint32_t r = 0; r < 6; r++) {
        for (uint32_t i = 0; i <= r; i++)
            lull_matrix_add(&rows, i, 1);
        lull_matrix_end_row(&rows);
    }
    assert_int_equal(lull_matrix_finish(&rows, &matrix, NULL), LULL_OK);
    assert_int_equal(lull_sell_build(&matrix, 2, UINT32_MAX, &sell, NULL), LULL_OK);
    for (uint32_t r = 0; r < 6; r++)
        assert_int_equal(sell.row[r], 5 - r);
    assert_int_equal(sell.stored, 2 * 6 + 2 * 4 + 2 * 2);
    lull_sell_free(&sell);
    lull_matrix_free(&matrix);
}

/* Between entries of a file: lines of blanks, and comments that begin behind blanks. */
static void test_lines_without_an_entry(void **state)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n"
                               "2 2 2\n"
                               "1 1 3.5\n"
                               "  \t\n"
                               "  % 1 2 7\n"
                               "\n"
                               "  2 2 4.5\n";
    struct lull_matrix matrix;
    struct lull_error err = {""};
    (void)state;
    fail_if(lull_market_parse(text, strlen(text), "m.mtx", 1, &matrix, &err) != LULL_OK, "%s",
            err.text);
    assert_int_equal(matrix.rows, 2);
    assert_true(matrix.values[0] == 3.5 && matrix.values[1] == 4.5);
    lull_matrix_free(&matrix);
}

TEST_GROUP(test_matrix)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stencils),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_bad_specs),
        cmocka_unit_test(test_rcm),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_a_window_of_all_rows),
        cmocka_unit_test(test_lines_without_an_entry),
    };
    return run_cases(tests, NULL, NULL);
}
