#include "bench/sparse/region.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGION_LINE_BYTES = 64, REGION_HUGE_BYTES = 2 << 20 };

lull_status lull_sparse_region_open(struct lull_sparse_region *region, size_t bytes,
                                    struct lull_error *err)
{
    size_t pages = (bytes / REGION_HUGE_BYTES + 1) * REGION_HUGE_BYTES;
    *region = (struct lull_sparse_region){.bytes = pages};
    region->memory = aligned_alloc(REGION_HUGE_BYTES, pages);
    if (!region->memory)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for matrix and vectors");
    madvise(region->memory, pages, MADV_HUGEPAGE); /* where refused, small pages do as well */
    return LULL_OK;
}

void lull_sparse_region_close(struct lull_sparse_region *region)
{
    free(region->memory);
    *region = (struct lull_sparse_region){0};
}

size_t lull_sparse_lines(size_t bytes)
{
    return (bytes + REGION_LINE_BYTES - 1) / REGION_LINE_BYTES * REGION_LINE_BYTES;
}

static void *take(struct lull_sparse_region *region, size_t bytes)
{
    void *memory = region->memory + region->used;
    region->used += lull_sparse_lines(bytes);
    assert(region->used <= region->bytes);
    return memory;
}

double *lull_sparse_vector(struct lull_sparse_region *region, size_t count, double value)
{
    double *vector = take(region, count * sizeof *vector);
    for (size_t i = 0; i < count; i++)
        vector[i] = value;
    return vector;
}

/* ---- the matrix ----------------------------------------------------------------------------- */

/* How many elements its arrays have. */
struct extent {
    size_t stored;                   /* columns and values */
    size_t starts;                   /* CRS */
    size_t chunk_starts, row_places; /* SELL */
};

static struct extent extent_of(const struct lull_sparse *sparse)
{
    size_t rows = sparse->rows;
    if (sparse->starts)
        return (struct extent){.stored = sparse->starts[rows], .starts = rows + 1};
    size_t chunks = (rows + sparse->chunk - 1) / sparse->chunk;
    return (struct extent){
        .stored = sparse->chunk_starts[chunks], .chunk_starts = chunks + 1, .row_places = rows};
}

size_t lull_sparse_bytes(const struct lull_sparse *sparse)
{
    struct extent extent = extent_of(sparse);
    return lull_sparse_lines(extent.stored * sizeof *sparse->column) +
           lull_sparse_lines(extent.stored * sizeof *sparse->values) +
           lull_sparse_lines(extent.starts * sizeof *sparse->starts) +
           lull_sparse_lines(extent.chunk_starts * sizeof *sparse->chunk_starts) +
           lull_sparse_lines(extent.row_places * sizeof *sparse->row);
}

static const void *copy_array(struct lull_sparse_region *region, const void *array, size_t bytes)
{
    return array ? memcpy(take(region, bytes), array, bytes) : NULL;
}

struct lull_sparse lull_sparse_copy(struct lull_sparse_region *region,
                                    const struct lull_sparse *sparse)
{
    struct extent extent = extent_of(sparse);
    struct lull_sparse copy = *sparse;
    copy.column = copy_array(region, sparse->column, extent.stored * sizeof *copy.column);
    copy.values = copy_array(region, sparse->values, extent.stored * sizeof *copy.values);
    copy.starts = copy_array(region, sparse->starts, extent.starts * sizeof *copy.starts);
    copy.chunk_starts =
        copy_array(region, sparse->chunk_starts, extent.chunk_starts * sizeof *copy.chunk_starts);
    copy.row = copy_array(region, sparse->row, extent.row_places * sizeof *copy.row);
    return copy;
}
