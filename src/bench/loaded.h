/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that lull has just compiled: it is loaded and timed in blocks, as kernels are. */
#ifndef LULL_BENCH_LOADED_H
#define LULL_BENCH_LOADED_H

#include "bench/timing.h"

struct lull_loaded_array {
    uint64_t bytes;        /* of the array */
    unsigned element;      /* bytes of an element */
    bool floating;         /* elements are floating-point numbers, else integers */
    const int64_t *sample; /* values of integer elements, repeated where they end; NULL: all are
                              1 */
    uint64_t n_sample;
};

/* A call to time: of a shared object at `path` with the function
 *
 *     void lull_kernel(const long *sizes, void *const *arrays, void *const *scalars); */
struct lull_loaded {
    const char *path;
    const long *sizes;
    const struct lull_loaded_array *arrays;
    size_t n_arrays;
    const unsigned *scalar_bytes; /* [n_scalars] bytes of each; all are floating-point */
    size_t n_scalars;
    bool sums;        /* scalars are results: each call waits for those of the call before */
    unsigned threads; /* each has arrays and scalars of its own, and a core */
    double seconds;   /* of wall time */
    double quantile;
};

/* Calls the function again and again. A core overlaps short calls with each other. With `sums`,
 * each call gets the addresses of its arrays only when the sums of the call before are there, as in
 * a program that uses the sum. Arrays follow each other in memory, each on a new cache line;
 * floating-point ones hold 0.5, scalars 0.9999999, so that sums neither overflow nor vanish. The
 * round's value is the quantile of the seconds of one call. Fails with LULL_ERR_IO where the object
 * cannot be loaded, LULL_ERR_MEMORY where arrays have no room, LULL_ERR_UNSUPPORTED as
 * lull_topology_open. */
lull_status lull_loaded_time(const struct lull_loaded *loaded, struct lull_round *ret_round,
                             struct lull_error *err);

#endif
