/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing in blocks, on pinned threads.
 *
 * A block is a number of repetitions of a body, as many as take about 50 us: long against the
 * reading of the clock, short against the distance between disturbances. The distribution over
 * blocks is kept, and a low quantile of it is the result, which stays within 1 % on systems where a
 * mean over the whole run is off by half. With several threads all start a block together: they
 * spin at a barrier (and yield after a while, so that fewer cores than threads do no harm). The
 * time of the block is that from the first start to the last end. */
#ifndef LULL_BENCH_TIMING_H
#define LULL_BENCH_TIMING_H

#include "machine/topology.h"

struct lull_timing {
    /* Runs what is measured `repetitions` times; called on threads 0 .. threads - 1. */
    void (*body)(void *context, unsigned thread, uint64_t repetitions);
    /* On each thread, pinned, before anything is timed: touches its memory first. May be NULL. */
    void (*prepare)(void *context, unsigned thread);
    void *context;
    unsigned threads;     /* >= 1 */
    const size_t *cores;  /* of the topology, one per thread; NULL: cores 0, 1, ... */
    uint64_t repetitions; /* per block; 0: as many as take block_seconds */
    double block_seconds; /* 0: LULL_BLOCK_SECONDS */
    double seconds;       /* of wall time for the whole round, with calibration and warm-up */
    double quantile;      /* of the block times, 0 < quantile < 1 */
    bool clock;           /* measure the cores' clock after every block, too */
    double precision;     /* width of the quantile's interval, relative to the quantile, at which
                             the round may end early; 0: use the time up */
};
#define LULL_BLOCK_SECONDS    50e-6
#define LULL_BENCH_QUANTILE   0.10
#define LULL_BENCH_PRECISION  0.01
#define LULL_BENCH_CONFIDENCE 0.95

/* The result of one visit. All times are in s. */
struct lull_round {
    double value;     /* the quantile of the seconds per repetition */
    double low, high; /* its interval within this round */
    double median;    /* of the seconds per repetition */
    double mean;      /* of the blocks in which every thread kept its core; NAN: unknown */
    double cycle; /* seconds per cycle of the cores' clock, the same quantile; NAN: not measured */
    uint64_t blocks, repetitions; /* blocks timed; repetitions in each */
    uint64_t interrupted; /* blocks in which a thread was taken off its core against its will */
    double
        lost; /* share of the blocks' time in which a thread did not have its core; NAN: unknown */
    double
        steal; /* share of the processors' time that the hypervisor gave to others; NAN: unknown */
    bool unpinned; /* a thread could not be pinned */
};

/* Times one round. Threads are started and ended inside. Fails with LULL_ERR_MEMORY or LULL_ERR_IO
 * where threads cannot be had. */
lull_status lull_time_blocks(const struct lull_topology *topology, const struct lull_timing *timing,
                             struct lull_round *ret_round, struct lull_error *err);

/* A round from seconds per repetition that were taken elsewhere, for example by MPI processes;
 * sorts them, count >= 1. `interrupted`, `steal` and `repetitions` are the caller's to fill in. */
struct lull_round lull_round_of_samples(double *samples, size_t count, double quantile);

/* Time that the hypervisor has given to others (`stolen`), and all time, in ticks since boot, over
 * all processors. lull_steal_read is false where /proc/stat does not say. */
struct lull_steal {
    uint64_t stolen, total;
};
bool lull_steal_read(struct lull_steal *ret_steal);
double lull_steal_share(const struct lull_steal *before, const struct lull_steal *after);

/* Monotonic seconds. */
double lull_bench_now(void);

/* Seconds per cycle of the clock that the calling thread's core has at present: the median of a few
 * tries of some 10 us. */
double lull_bench_cycle(void);

/* An optimisation barrier: the compiler must assume that the value is used. */
static inline void lull_keep(double value)
{
    volatile double sink = value;
    (void)sink;
}

#endif
