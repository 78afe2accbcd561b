/* Code that was compiled just now, loaded and timed in blocks as kernels are. */
#ifndef LULL_BENCH_LOADED_H
#define LULL_BENCH_LOADED_H

#include "bench/timing.h"

struct lull_loaded_array {
    uint64_t bytes;        /* of the array */
    unsigned element;      /* bytes of an element */
    bool floating;         /* else integers */
    const int64_t *sample; /* values of integers, repeated where they end; NULL: 1 */
    uint64_t n_sample;
};

/* A shared object with
 *     void lull_kernel(const long *sizes, void *const *arrays, void *const *scalars); */
struct lull_loaded {
    const char *path;
    const long *sizes;
    const struct lull_loaded_array *arrays;
    size_t n_arrays;
    const unsigned *scalar_bytes; /* floating-point numbers */
    size_t n_scalars;
    bool sums;        /* scalars are results: an execution waits for those of the one before */
    unsigned threads; /* each with arrays and scalars of its own, on a core of its own */
    double seconds;   /* of wall time */
    double quantile;
};

/* Calls it again and again. A core overlaps short executions with each other; of those that sum up
 * each gets the addresses of its arrays only when the sums of the one before are there, as a
 * program that uses the sum would have it. Arrays follow each other in memory, each on a new cache
 * line; floating ones hold 0.5, scalars 0.9999999, so that sums neither overflow nor vanish. The
 * round's value is the quantile of the seconds of one call. Fails with LULL_ERR_IO where the object
 * cannot be loaded, LULL_ERR_MEMORY where arrays have no room, LULL_ERR_UNSUPPORTED as
 * lull_topology_open. */
lull_status lull_loaded_time(const struct lull_loaded *loaded, struct lull_round *ret_round,
                             struct lull_error *err);

#endif
