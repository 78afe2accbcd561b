/* SPDX-License-Identifier: BSD-3-Clause */
/* The product of a sparse matrix and a vector, timed on pinned threads. */
#ifndef LULL_BENCH_SPARSE_H
#define LULL_BENCH_SPARSE_H

#include "bench/timing.h"

/* ==== products ================================================================================ */

/* A sparse matrix with 4-byte indices; arrays are borrowed. In CRS starts[rows + 1] says where rows
 * begin. In SELL there are chunks of `chunk` rows, and chunk_starts[chunks + 1] says where they
 * begin: element j of row i of chunk c is at chunk_starts[c] + j * chunk + i. row[] says for each
 * place to which row of the result it belongs. */
struct lull_sparse {
    uint32_t rows, columns;
    const uint32_t *starts; /* NULL: SELL */
    const uint32_t *column;
    const double *values;
    uint32_t chunk; /* 1 .. LULL_SPARSE_MOST_CHUNK */
    const uint64_t *chunk_starts;
    const uint32_t *row;
};
enum { LULL_SPARSE_MOST_CHUNK = 1024 };

struct lull_sparse_part { /* rows or chunks first .. last - 1 */
    uint32_t first, last;
};

/* y = A x for a part's rows. */
void lull_sparse_multiply(const struct lull_sparse *sparse, struct lull_sparse_part part,
                          const double *x, double *y);
/* y += A^T x for a part's rows; CRS alone. */
void lull_sparse_multiply_transposed(const struct lull_sparse *sparse, struct lull_sparse_part part,
                                     const double *x, double *y);

struct lull_sparse_job {
    const struct lull_sparse *sparse;
    bool transposed; /* each thread has a result of its own, and all threads add these up */
    unsigned threads;
    const struct lull_sparse_part *parts; /* [threads] */
    double seconds;                       /* of wall time for all visits */
    bool mean;                            /* of the blocks of a visit the mean counts, not the 10 %
                                             quantile */
};

/* Writes to *ret_seconds the s of one product: the median, over a few visits, of the 10 % quantile
 * of the block times, or of their mean. *ret_lost is the largest share of a visit's time in which
 * threads did not have their cores. Everything lies in large pages while there is memory for a copy
 * of the matrix. Fails with LULL_ERR_MEMORY, or as lull_time_blocks does. */
lull_status lull_sparse_time(const struct lull_topology *topology,
                             const struct lull_sparse_job *job, double *ret_seconds,
                             double *ret_lost, struct lull_error *err);

/* ==== memory of a product ===================================================================== */

/* The arrays of a product that is timed lie one behind the other, on cache lines, in large pages
 * where the system has them, as do the arrays of the benchmarks with which it is compared. In small
 * pages, translating addresses would take part of the time. */

struct lull_sparse_region {
    char *memory;
    size_t bytes, used;
};

/* Makes a region for arrays that take so many bytes in all; each array was counted with
 * lull_sparse_lines. Fails with LULL_ERR_MEMORY. lull_sparse_region_close frees the memory. */
lull_status lull_sparse_region_open(struct lull_sparse_region *region, size_t bytes,
                                    struct lull_error *err);
void lull_sparse_region_close(struct lull_sparse_region *region);

/* `bytes`, rounded up to whole cache lines. */
size_t lull_sparse_lines(size_t bytes);
/* Bytes of a region that a copy of the matrix takes. */
size_t lull_sparse_bytes(const struct lull_sparse *sparse);

/* Copies a matrix with its arrays into the region, and makes a vector there whose elements are all
 * `value`. The region must have room. */
struct lull_sparse lull_sparse_copy(struct lull_sparse_region *region,
                                    const struct lull_sparse *sparse);
double *lull_sparse_vector(struct lull_sparse_region *region, size_t count, double value);

#endif
