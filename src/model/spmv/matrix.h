/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse matrices in compressed rows (CRS), as the models of their product with a vector need them;
 * how they are built, reordered, and stored as SELL-C-sigma.
 *
 * Indices have 4 bytes and values 8, as in the product whose traffic is predicted. A matrix lives
 * in memory of malloc and ends with lull_matrix_free. */
#ifndef LULL_MODEL_SPMV_MATRIX_H
#define LULL_MODEL_SPMV_MATRIX_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_matrix {
    uint32_t rows, columns;
    uint32_t *starts; /* [rows + 1]: where each row begins in `column` and `values` */
    uint32_t *column; /* ascending within a row */
    double *values;   /* real parts only, if the matrix is complex */
    bool complex;     /* values travel with 16 bytes and cost 8 flops instead of 2 */
};

static inline uint64_t lull_matrix_nonzeros(const struct lull_matrix *matrix)
{
    return matrix->starts[matrix->rows];
}

void lull_matrix_free(struct lull_matrix *matrix); /* a zeroed matrix is allowed */

/* ---- from entries in any order -------------------------------------------------------------- */

struct lull_matrix_entry {
    uint32_t row, column;
    double value;
};

enum lull_matrix_symmetry {
    LULL_MATRIX_GENERAL,
    LULL_MATRIX_SYMMETRIC, /* an entry off the diagonal stands for its mirror image, too */
    LULL_MATRIX_SKEW       /* the same, but the mirror image has the opposite sign */
};

struct lull_matrix_part {
    struct lull_matrix_entry *entries;
    size_t count, capacity;
};

/* Makes a matrix of the entries of all parts, whose indices must be within the matrix. `complex` is
 * left for the caller to set. Fails with LULL_ERR_MEMORY, and with LULL_ERR_RANGE if there are more
 * than 2^32 - 1 nonzeros. */
lull_status lull_matrix_build(uint32_t rows, uint32_t columns, const struct lull_matrix_part *parts,
                              size_t n_parts, enum lull_matrix_symmetry symmetry,
                              struct lull_matrix *ret_matrix, struct lull_error *err);

/* ---- row by row ----------------------------------------------------------------------------- */

struct lull_matrix_rows {
    struct lull_matrix matrix;
    uint32_t row; /* the current one */
    size_t count, column_capacity, value_capacity;
    bool failed; /* no memory, or too many nonzeros */
};

/* Begins a matrix whose rows are written in order: for each row lull_matrix_add is called for its
 * nonzeros, then lull_matrix_end_row. */
void lull_matrix_begin(struct lull_matrix_rows *rows, uint32_t n_rows, uint32_t n_columns);
void lull_matrix_add(struct lull_matrix_rows *rows, uint32_t column, double value);
void lull_matrix_end_row(struct lull_matrix_rows *rows);
/* Ends the matrix and sorts rows that need it. Fails with LULL_ERR_MEMORY, and with LULL_ERR_RANGE
 * if there are too many nonzeros; the rows are freed then. */
lull_status lull_matrix_finish(struct lull_matrix_rows *rows, struct lull_matrix *ret_matrix,
                               struct lull_error *err);

/* ---- what can be made of one ---------------------------------------------------------------- */

/* The largest distance of a nonzero from the diagonal. */
uint32_t lull_matrix_bandwidth(const struct lull_matrix *matrix);

/* Finds the reverse Cuthill-McKee order: order[new] = old, with room for all rows. It uses the
 * pattern of A + A^T, and begins each connected component at a node that is far from its others.
 * The matrix must be square. Fails with LULL_ERR_MEMORY. Sources: E. Cuthill and J. McKee, Reducing
 * the bandwidth of sparse symmetric matrices (1969); for the first node A. George and J. Liu. */
lull_status lull_matrix_rcm(const struct lull_matrix *matrix, uint32_t *order,
                            struct lull_error *err);
/* Puts rows and columns of a square matrix into a new order, order[new] = old. */
lull_status lull_matrix_permute(const struct lull_matrix *matrix, const uint32_t *order,
                                struct lull_matrix *ret_matrix, struct lull_error *err);

/* SELL-C-sigma: a matrix in chunks of C rows, each padded to the longest row of its chunk; a chunk
 * is stored column by column. Within windows of sigma rows the longest rows come first. Padding has
 * the value 0 and the column of the last nonzero before it. Source: M. Kreutzer et al., SIAM J.
 * Sci. Comput. 36 (2014) C401. */
struct lull_sell {
    uint32_t rows, chunk, n_chunks; /* chunk: C */
    uint64_t stored;                /* elements, with padding */
    uint64_t *starts; /* [n_chunks + 1]: where each chunk begins in `column` and `values` */
    uint32_t *row;    /* [rows]: which row of the matrix is at each place */
    uint32_t *column;
    double *values;
};
/* Stores a matrix as SELL-C-sigma; `chunk` and `sigma` are at least 1. Fails with LULL_ERR_MEMORY.
 */
lull_status lull_sell_build(const struct lull_matrix *matrix, uint32_t chunk, uint32_t sigma,
                            struct lull_sell *ret_sell, struct lull_error *err);
void lull_sell_free(struct lull_sell *sell);

#endif
