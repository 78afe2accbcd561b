#include "bench/sparse/sparse.h"
#include "stats/quantile.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { VISITS = 7, LINE_BYTES = 64, HUGE_BYTES = 2 << 20, SPINS = 4000 };

struct run {
    const struct lull_sparse_job *job;
    double *x, *y;       /* y of the transposed product: one per thread, one behind the other */
    size_t y_count;      /* elements of one */
    double *sum;         /* of the transposed product on several threads */
    atomic_uint arrived; /* at the barrier, in all rounds together */
};

/* ---- bodies --------------------------------------------------------------------------------- */

static void wait_for_all(struct run *run)
{
    unsigned threads = run->job->threads;
    unsigned mine = atomic_fetch_add(&run->arrived, 1), round = mine / threads;
    for (unsigned spins = 0; atomic_load(&run->arrived) / threads == round; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void multiply(void *context, unsigned thread, uint64_t repetitions)
{
    const struct run *run = context;
    for (uint64_t i = 0; i < repetitions; i++)
        lull_sparse_multiply(run->job->sparse, run->job->parts[thread], run->x, run->y);
}

static void add_slice(const struct run *run, unsigned thread)
{
    unsigned threads = run->job->threads;
    size_t first = run->job->sparse->columns * (size_t)thread / threads;
    size_t last = run->job->sparse->columns * (size_t)(thread + 1) / threads;
    for (size_t i = first; i < last; i++) {
        double sum = 0;
        for (unsigned t = 0; t < threads; t++)
            sum += run->y[t * run->y_count + i];
        run->sum[i] = sum;
    }
}

static void multiply_transposed(void *context, unsigned thread, uint64_t repetitions)
{
    struct run *run = context;
    double *own = run->y + thread * run->y_count;
    for (uint64_t i = 0; i < repetitions; i++) {
        if (run->job->threads > 1) /* alone y = y + A^T x needs no clearing */
            memset(own, 0, run->job->sparse->columns * sizeof *own);
        lull_sparse_multiply_transposed(run->job->sparse, run->job->parts[thread], run->x, own);
        if (run->job->threads == 1)
            continue;
        wait_for_all(run);
        add_slice(run, thread);
        wait_for_all(run);
    }
}

/* ---- visits --------------------------------------------------------------------------------- */

static double *vector_of(size_t count, double value)
{
    size_t bytes = (count * sizeof(double) + HUGE_BYTES) / LINE_BYTES * LINE_BYTES;
    double *vector = aligned_alloc(LINE_BYTES, bytes);
    for (size_t i = 0; vector && i < count; i++)
        vector[i] = value;
    return vector;
}

static lull_status visit(const struct lull_topology *topology, struct run *run, double *ret_seconds,
                         double *lost, struct lull_error *err)
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
    *ret_seconds = round.value;
    *lost = fmax(*lost, fmax(round.lost, round.steal)); /* NAN: unknown */
    return LULL_OK;
}

static lull_status open_run(const struct lull_sparse_job *job, struct run *run,
                            struct lull_error *err)
{
    uint32_t rows = job->sparse->rows, columns = job->sparse->columns;
    size_t per_line = LINE_BYTES / sizeof(double);
    *run = (struct run){.job = job};
    run->y_count = ((job->transposed ? columns : rows) + per_line) / per_line * per_line;
    run->x = vector_of(job->transposed ? rows : columns, 1);
    run->y = vector_of(run->y_count * (job->transposed ? job->threads : 1), 0);
    run->sum = job->transposed ? vector_of(columns, 0) : NULL;
    if (!run->x || !run->y || (job->transposed && !run->sum))
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for the vectors");
    return LULL_OK;
}

lull_status lull_sparse_time(const struct lull_topology *topology,
                             const struct lull_sparse_job *job, double *ret_seconds,
                             double *ret_lost, struct lull_error *err)
{
    struct run run;
    double seconds[VISITS], lost = 0;
    lull_status status = open_run(job, &run, err);
    for (int i = 0; status == LULL_OK && i < VISITS; i++)
        status = visit(topology, &run, &seconds[i], &lost, err);
    if (status == LULL_OK) {
        lull_sort(seconds, VISITS);
        *ret_seconds = lull_quantile(seconds, VISITS, 0.5);
        *ret_lost = lost;
    }
    free(run.x);
    free(run.y);
    free(run.sum);
    return status;
}
