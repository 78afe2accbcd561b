/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sparse.h"

#include "bench/memory/memory.h"
#include "stats/quantile.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ==== memory of a product ===================================================================== */

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

/* ---- the matrix ------------------------------------------------------------------------------ */

/* How many elements the arrays of a matrix have. */
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

/* ==== time ==================================================================================== */

enum { VISITS = 7, RESULT_LINE_BYTES = 64, SPINS = 4000 };

struct sparse_run {
    const struct lull_sparse_job *job;
    struct lull_sparse_region region;
    struct lull_sparse sparse; /* the job's, in the region if there is room */
    double *x, *y;       /* y of the transposed product: one per thread, one behind the other */
    size_t y_count;      /* elements of one y */
    double *sum;         /* of the transposed product on several threads */
    atomic_uint arrived; /* at the barrier, in all rounds together */
};

/* ---- bodies ---------------------------------------------------------------------------------- */

static void wait_for_all(struct sparse_run *run)
{
    unsigned threads = run->job->threads;
    unsigned mine = atomic_fetch_add(&run->arrived, 1), round = mine / threads;
    for (unsigned spins = 0; atomic_load(&run->arrived) / threads == round; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void multiply(void *context, unsigned thread, uint64_t repetitions)
{
    const struct sparse_run *run = context;
    for (uint64_t i = 0; i < repetitions; i++)
        lull_sparse_multiply(&run->sparse, run->job->parts[thread], run->x, run->y);
}

static void add_slice(const struct sparse_run *run, unsigned thread)
{
    unsigned threads = run->job->threads;
    size_t first = run->sparse.columns * (size_t)thread / threads;
    size_t last = run->sparse.columns * (size_t)(thread + 1) / threads;
    for (size_t i = first; i < last; i++) {
        double sum = 0;
        for (unsigned t = 0; t < threads; t++)
            sum += run->y[t * run->y_count + i];
        run->sum[i] = sum;
    }
}

static void multiply_transposed(void *context, unsigned thread, uint64_t repetitions)
{
    struct sparse_run *run = context;
    double *own = run->y + thread * run->y_count;
    for (uint64_t i = 0; i < repetitions; i++) {
        if (run->job->threads > 1) /* alone y = y + A^T x needs no clearing */
            memset(own, 0, run->sparse.columns * sizeof *own);
        lull_sparse_multiply_transposed(&run->sparse, run->job->parts[thread], run->x, own);
        if (run->job->threads == 1)
            continue;
        wait_for_all(run);
        add_slice(run, thread);
        wait_for_all(run);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The matrix stays where it is if a copy would take more than half of the memory that is free. */
static lull_status open_run(const struct lull_sparse_job *job, struct sparse_run *run,
                            struct lull_error *err)
{
    uint32_t rows = job->sparse->rows, columns = job->sparse->columns;
    size_t per_line = RESULT_LINE_BYTES / sizeof(double);
    *run = (struct sparse_run){.job = job, .sparse = *job->sparse};
    run->y_count = ((job->transposed ? columns : rows) + per_line) / per_line * per_line;
    size_t x_count = job->transposed ? rows : columns;
    size_t y_count = run->y_count * (job->transposed ? job->threads : 1);
    size_t sums = job->transposed ? columns : 0;
    size_t vectors = lull_sparse_lines(x_count * sizeof(double)) +
                     lull_sparse_lines(y_count * sizeof(double)) +
                     lull_sparse_lines(sums * sizeof(double));
    size_t matrix = lull_sparse_bytes(job->sparse);
    uint64_t had = lull_bench_memory_free();
    bool copies = had == 0 || vectors + matrix <= had / 2;
    lull_status status =
        lull_sparse_region_open(&run->region, vectors + (copies ? matrix : 0), err);
    if (status != LULL_OK)
        return status;
    if (copies)
        run->sparse = lull_sparse_copy(&run->region, job->sparse);
    run->x = lull_sparse_vector(&run->region, x_count, 1);
    run->y = lull_sparse_vector(&run->region, y_count, 0);
    run->sum = lull_sparse_vector(&run->region, sums, 0);
    return LULL_OK;
}

/* ---- visits ---------------------------------------------------------------------------------- */

static lull_status visit_product(const struct lull_topology *topology, struct sparse_run *run,
                                 double *ret_seconds, double *lost, struct lull_error *err)
{
    const struct lull_sparse_job *job = run->job;
    const struct lull_timing timing = {.body = job->transposed ? multiply_transposed : multiply,
                                       .context = run,
                                       .threads = job->threads,
                                       .seconds = job->seconds / VISITS,
                                       .quantile = LULL_BENCH_QUANTILE};
    struct lull_round round;
    lull_status status = lull_time_blocks(topology, &timing, &round, err);
    if (status != LULL_OK)
        return status;
    *ret_seconds = job->mean && round.mean > 0 ? round.mean : round.value;
    *lost = fmax(*lost, fmax(round.lost, round.steal)); /* NAN: unknown */
    return LULL_OK;
}

lull_status lull_sparse_time(const struct lull_topology *topology,
                             const struct lull_sparse_job *job, double *ret_seconds,
                             double *ret_lost, struct lull_error *err)
{
    struct sparse_run run;
    double seconds[VISITS], lost = 0;
    lull_status status = open_run(job, &run, err);
    for (int i = 0; status == LULL_OK && i < VISITS; i++)
        status = visit_product(topology, &run, &seconds[i], &lost, err);
    if (status == LULL_OK) {
        lull_sort(seconds, VISITS);
        *ret_seconds = lull_quantile(seconds, VISITS, 0.5);
        *ret_lost = lost;
    }
    lull_sparse_region_close(&run.region);
    return status;
}
