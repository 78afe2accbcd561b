/* SPDX-License-Identifier: BSD-3-Clause */
/* Bandwidth: stream kernels over working sets that lie in one level of the memory hierarchy. */
#ifndef LULL_BENCH_MEMORY_STREAM_H
#define LULL_BENCH_MEMORY_STREAM_H

#include "bench/benchmark.h"
#include "bench/kernel.h"

/* A level of the memory hierarchy, and working sets that lie there. */
struct lull_bench_level {
    const char *name;      /* "L1", ..., "memory" */
    uint64_t bytes;        /* of all arrays together, per thread */
    const char *note;      /* what limits the measurement there; NULL */
    bool own;              /* the level belongs to one core, and works at that core's clock */
    const char *not_there; /* why the level cannot be measured with that many threads; NULL */
};
enum { LULL_BENCH_MOST_LEVELS = 6 };

/* Finds the levels for so many threads on cores 0, 1, ... and the sizes of their working sets: for
 * a cache of one core half of it; for a shared cache a multiple of the level below that still fits
 * each core's share; for memory at least four times the last-level caches that these cores can
 * reach; all within the memory that may be used. Where no cache is known, there is only memory.
 * Returns how many. */
size_t lull_bench_find_levels(const struct lull_topology *topology, unsigned threads,
                              uint64_t memory_limit, struct lull_arena *arena,
                              struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS]);

/* A kernel at one size. The arrays of a thread follow each other in its region, offset against each
 * other so that stores do not alias later loads modulo 4 KiB. Sizes are rounded down to whole steps
 * of all arrays. */
struct lull_stream_job {
    const struct lull_bench_kernel *kernel;
    enum lull_simd simd;
    struct lull_bench_memory *memory;
    unsigned threads;
    bool clock;               /* measure the cores' clock, too */
    unsigned n_spots, visits; /* each visit uses the next one of `n_spots` places in the regions,
                                 because what a cache holds of a place depends on the pages that the
                                 system has given it */
    size_t count;             /* elements of one array, per thread */
    size_t chunk; /* elements that one repetition works on; repetitions walk through the array */
    struct lull_stream_place *places; /* one per thread */
};

struct lull_stream_job *lull_stream_job_create(struct lull_bench *bench,
                                               const struct lull_bench_kernel *kernel,
                                               enum lull_simd simd, unsigned threads,
                                               uint64_t bytes);
/* Explicit bytes and flops of one repetition on all threads. */
double lull_stream_job_bytes(const struct lull_stream_job *job);
/* The begin of each of the kernel's arrays of a thread. */
double *const *lull_stream_job_arrays(const struct lull_stream_job *job, unsigned thread);
/* The body to be timed; its context is the job, and its memory has been touched. */
void lull_stream_job_run(void *job, unsigned thread, uint64_t repetitions);
/* The `visit` of a task that has one probe and whose data is a job. */
lull_status lull_stream_visit(struct lull_bench *bench, const struct lull_task *task,
                              double seconds, struct lull_error *err);

/* The `plan` of the benchmarks of stream kernels. */
lull_status lull_stream_plan(const struct lull_benchmark *self, struct lull_bench *bench,
                             struct lull_error *err);

#endif
