/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that is predicted of a kernel on a machine with one set of sizes.
 *
 * In a nest with several innermost loops each loop is predicted by itself, and the nest takes the
 * sum of their times, each as often as the loop runs. What one loop leaves in the caches for the
 * next is not in the layer conditions; it is in the simulation. */
#ifndef LULL_MODEL_KERNEL_PREDICT_H
#define LULL_MODEL_KERNEL_PREDICT_H

#include "machine/machine.h"
#include "model/kernel/incore.h"
#include "model/kernel/kernel.h"
#include "model/kernel/layers.h"
#include "model/kernel/simulate.h"

/* ==== vectors that cross lines ================================================================ */

/* Vectors that cross from one cache line to the next. The first cache has to fetch both lines for
 * such a vector, which takes longer, and llvm-mca, which knows no addresses, does not count it.
 *
 * An array that is walked element by element in vectors has one crossing per line, whatever the
 * width of the vectors, unless its first vector begins at a multiple of that width. Of a[i - 1],
 * a[i] and a[i + 1] only one can. Arrays are taken to begin on a line, as `lull model kernel --run`
 * puts them, and a loop is taken to begin with whole vectors. What a crossing costs is in the
 * machine file (`lull bench crossing`); where the file does not know it, crossings cost nothing. */

/* Per unit of work. */
struct lull_crossing {
    double loads, stores;              /* vectors that cross */
    double lines_loaded, lines_stored; /* lines touched by vectors, whether these cross or not */
    bool known;                        /* the machine file says what a crossing costs */
    double load_cycles;                /* for the loads that cross, to be added to T_nOL */
    double store_cycles;               /* for all stores of vectors: T_OL is at least this */
};

/* The crossings of the kernel's body when it is compiled to vectors of so many bits. With 0 bits,
 * or those of a single element, there are no vectors and nothing crosses. */
struct lull_crossing lull_crossing_find(const struct lull_kernel *kernel,
                                        const struct lull_machine *machine, unsigned vector_bits,
                                        double line_bytes);

/* ==== Roofline ================================================================================ */

/* Roofline: performance P is limited by the core's arithmetic (P_peak) or by the bandwidth b of one
 * level of the memory hierarchy, of which each byte allows I units of work: P = min(P_peak, I b)
 * over all levels. Source: S. Williams, A. Waterman, D. Patterson, Roofline (CACM 52, 2009), with a
 * ceiling for every level. */

enum { LULL_ROOFS = LULL_LAYER_LEVELS };

struct lull_roof { /* of a level beyond the first cache, for all cores of the roofline together */
    const char *level;  /* "L2", "memory" */
    double bandwidth;   /* B/s */
    const char *source; /* where the bandwidth comes from: "copy, 7 threads", "link of 64 B/cy" */
    double intensity;   /* work per byte that comes from this level; INFINITY without traffic */
    double limit;       /* work/s = bandwidth * intensity */
};

/* Work is counted in flop, or in iterations where the kernel has none. */
struct lull_roofline {
    unsigned cores;
    bool counts_flops;
    double work; /* per iteration of the body: flop, or 1 */
    double peak; /* work/s of the machine's arithmetic; NAN: not in the machine file */
    const char *peak_source;
    double in_core; /* work/s that the compiled loop allows with its data in the first cache */
    struct lull_roof roofs[LULL_ROOFS]; /* nearest level first */
    size_t n_roofs;
    double performance; /* the lowest of all limits, work/s */
    int limit;          /* index of the roof that limits; LULL_KERNEL_NONE: arithmetic */
};

/* ==== the prediction ========================================================================== */

enum lull_traffic_source { LULL_TRAFFIC_CONDITIONS, LULL_TRAFFIC_SIMULATION };

struct lull_kernel_options {
    struct lull_incore_options incore;
    unsigned cores;                   /* working at the same time, >= 1 */
    enum lull_traffic_source traffic; /* the source whose lines the models take */
    bool simulate;                    /* simulate also where the models take the conditions */
    enum lull_cache_policy policy;    /* of the simulated caches */
    uint64_t seed;                    /* of random indices */
};

struct lull_core_point {
    unsigned cores;
    double naive, latency; /* work/s, with the naive saturation and with the latency penalty */
};

struct lull_kernel_prediction {
    const struct lull_kernel *kernel;
    const struct lull_machine *machine;
    double clock; /* Hz */
    double line_bytes;
    double unit;  /* iterations of the body in a unit of work */
    double flops; /* per unit of work */
    double work;  /* per unit of work: flops, or iterations where there are none */
    struct lull_layers layers;
    bool has_simulation;
    struct lull_simulated simulated;
    const char *disagreements[LULL_LAYER_LEVELS];   /* why `layers` and `simulated` differ at a
                                                       level; NULL: they do not */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS]; /* per unit of work, as the models took them */
    struct lull_incore incore;     /* as it is found or given, without the crossings */
    struct lull_crossing crossing; /* zeros where in-core times are given */
    struct lull_ecm ecm;
    struct lull_ecm_bandwidth memory;
    struct lull_ecm_overlap overlap;
    double cycles;                  /* per unit of work on one core: ECM, not less than the chain */
    unsigned saturation;            /* cores that saturate the memory; 0: no number of them does */
    struct lull_roofline roofline;  /* for options.cores */
    struct lull_core_point *points; /* [n_points]: for 1 to all cores of a memory domain */
    size_t n_points;

    /* Where several innermost loops of the nest run, the prediction of each, in order of the
     * source. In the prediction of the nest, `flops`, `work`, `ecm`, `cycles` and `points` are then
     * sums over the loops, per unit of work of the busiest loop; `saturation` is that of the loop
     * that saturates last; and everything else is the busiest loop's. */
    const struct lull_kernel_prediction *loops;
    size_t n_loops; /* 0: there is only one loop */
    double weight;  /* units of work of this loop for one unit of the busiest */
};

/* In-core times do not depend on sizes: found once, they serve all sizes. */
struct lull_kernel_incores {
    struct lull_arena *arena;         /* in which they live */
    const struct lull_incore **loops; /* [n_loops of the kernel]; NULL: not found yet */
    struct lull_incore_code code;     /* what was compiled for them */
};

/* In-core times none of which is found yet. */
struct lull_kernel_incores lull_kernel_no_incores(const struct lull_kernel *kernel,
                                                  struct lull_arena *arena);

/* Predicts the kernel with its present sizes. `incores` are the in-core times of the same kernel:
 * those that are found already are used, those that are missing are found and kept there; NULL:
 * find all. Fails with LULL_ERR_RANGE where the machine file lacks a number, naming the benchmark
 * that gives it, or as the parts of the prediction fail. */
lull_status lull_kernel_predict(const struct lull_kernel *kernel,
                                const struct lull_machine *machine,
                                const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options,
                                struct lull_kernel_incores *incores, struct lull_arena *arena,
                                struct lull_kernel_prediction *ret_prediction,
                                struct lull_error *err);

/* Work per second (in flop, or in iterations where the kernel has none) if a unit of work takes so
 * many cycles. */
double lull_prediction_rate(const struct lull_kernel_prediction *prediction, double cycles);
/* Cycles per unit of work with the data beyond the first `level` links, but not less than the
 * loop-carried chain; for a nest the sum over its loops. */
double lull_prediction_cycles(const struct lull_kernel_prediction *prediction, size_t level);

#endif
