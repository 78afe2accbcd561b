/* Memory of a product that is timed: its arrays one behind the other, on cache lines, in large
 * pages where the system has them. So lie the arrays of the benchmarks that it is compared with; in
 * small pages looking addresses up takes part of the time. */
#ifndef LULL_BENCH_SPARSE_REGION_H
#define LULL_BENCH_SPARSE_REGION_H

#include "bench/sparse/sparse.h"

struct lull_sparse_region {
    char *memory;
    size_t bytes, used;
};

/* For arrays that take so many bytes, each of which was counted with lull_sparse_lines. Fails with
 * LULL_ERR_MEMORY. The memory is freed by the next function. */
lull_status lull_sparse_region_open(struct lull_sparse_region *region, size_t bytes,
                                    struct lull_error *err);
void lull_sparse_region_close(struct lull_sparse_region *region);

/* Bytes of whole cache lines that hold so many. */
size_t lull_sparse_lines(size_t bytes);
/* What copying a matrix takes of a region. */
size_t lull_sparse_bytes(const struct lull_sparse *sparse);

/* The matrix with its arrays in the region, and a vector there whose elements are all `value`. The
 * region has to have room. */
struct lull_sparse lull_sparse_copy(struct lull_sparse_region *region,
                                    const struct lull_sparse *sparse);
double *lull_sparse_vector(struct lull_sparse_region *region, size_t count, double value);

#endif
