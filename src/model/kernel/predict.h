/* Everything that is predicted of a kernel on a machine with one set of sizes.
 *
 * Of a nest with several innermost loops each one is predicted by itself, and the nest takes the
 * sum of their times, each as often as it runs. What one loop leaves in the caches for the next is
 * not in the layer conditions, it is in the simulation. */
#ifndef LULL_MODEL_KERNEL_PREDICT_H
#define LULL_MODEL_KERNEL_PREDICT_H

#include "machine/machine.h"
#include "model/kernel/incore.h"
#include "model/kernel/kernel.h"
#include "model/kernel/layers.h"
#include "model/kernel/simulate.h"

/* ==== crossing ================================================================================ */

/* Vectors that cross from one cache line to the next, which the first cache has to serve with both.
 *
 * An array that is walked element by element in vectors crosses once per line, whatever the width
 * of the vectors, unless it begins at a multiple of their width: a[i - 1], a[i] and a[i + 1] cannot
 * all do. Arrays are taken to begin on a line, as --run puts them, and a loop to begin with whole
 * vectors. llvm-mca knows no addresses. What a crossing costs is in the machine file (`lull bench
 * crossing`); where it is not, it counts nothing. */

struct lull_crossing {
    double loads, stores;              /* vectors that cross, per unit of work */
    double lines_loaded, lines_stored; /* by vectors, whether they cross or not, likewise */
    bool known;                        /* the machine file says what that costs */
    double load_cycles;  /* per unit of work, for the loads that cross: in addition to T_nOL */
    double store_cycles; /* per unit of work, for all stores of vectors: T_OL is not below */
};

/* Of the kernel's body, compiled to vectors of so many bits; 0, or those of a single element: no
 * vectors, nothing crosses. */
struct lull_crossing lull_crossing_find(const struct lull_kernel *kernel,
                                        const struct lull_machine *machine, unsigned vector_bits,
                                        double line_bytes);

/* ==== roofline ================================================================================ */

/* Roofline: performance is limited by the core's arithmetic or by one level of the memory
 * hierarchy, P = min(P_peak, I b), whichever is lowest. Source: S. Williams, A. Waterman, D.
 * Patterson, Roofline (CACM 52, 2009), with a ceiling for every level. */

enum { LULL_ROOFS = LULL_LAYER_LEVELS };

struct lull_roof {      /* of a level beyond a cache, for so many cores together */
    const char *level;  /* "L2", "memory" */
    double bandwidth;   /* B/s */
    const char *source; /* "copy, 7 threads", "link of 64 B/cy" */
    double intensity;   /* work per byte that travels; INFINITY without traffic */
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
    double performance; /* the lowest of all, work/s */
    int limit;          /* index of the roof that limits; LULL_KERNEL_NONE: arithmetic */
};

/* ==== predict ================================================================================= */

enum lull_traffic_source { LULL_TRAFFIC_CONDITIONS, LULL_TRAFFIC_SIMULATION };

struct lull_kernel_options {
    struct lull_incore_options incore;
    unsigned cores;                   /* working at the same time, >= 1 */
    enum lull_traffic_source traffic; /* what the models take */
    bool simulate;                    /* the other one beside it */
    enum lull_cache_policy policy;
    uint64_t seed; /* of random indices */
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
    const char *disagreements[LULL_LAYER_LEVELS];   /* why they differ; NULL: they do not */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS]; /* that the models took */
    struct lull_incore incore;     /* as it is found or given, without the crossings */
    struct lull_crossing crossing; /* nothing where in-core times are given */
    struct lull_ecm ecm;
    struct lull_ecm_bandwidth memory;
    struct lull_ecm_overlap overlap;
    double cycles;                  /* per unit of work on one core: ECM, not less than the chain */
    unsigned saturation;            /* cores; 0: never */
    struct lull_roofline roofline;  /* with options.cores */
    struct lull_core_point *points; /* 1 to all cores of a memory domain */
    size_t n_points;

    /* Of a nest with several innermost loops that run: each of them, in order of the source. Then
     * `flops`, `work`, `ecm`, `cycles` and `points` are their sums per unit of work of the busiest,
     * `saturation` is that of the loop that saturates last, and the rest is the busiest's. */
    const struct lull_kernel_prediction *loops;
    size_t n_loops; /* 0: there is one loop alone */
    double weight;  /* units of work of this loop for one of the busiest */
};

/* In-core times do not depend on sizes: found once, they serve all sizes. */
struct lull_kernel_incores {
    struct lull_arena *arena;         /* of what is found */
    const struct lull_incore **loops; /* [n_loops of the kernel]; NULL: not found yet */
};

/* Nothing is found yet. */
struct lull_kernel_incores lull_kernel_no_incores(const struct lull_kernel *kernel,
                                                  struct lull_arena *arena);

/* Fails with LULL_ERR_RANGE where the machine file lacks a number, naming the benchmark that gives
 * it, or as the parts do. `incores` of the same kernel are taken, and get what they lack; NULL:
 * find all. */
lull_status lull_kernel_predict(const struct lull_kernel *kernel,
                                const struct lull_machine *machine,
                                const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options,
                                struct lull_kernel_incores *incores, struct lull_arena *arena,
                                struct lull_kernel_prediction *ret_prediction,
                                struct lull_error *err);

/* Work (flop, or iterations where there are none) per second of so many cycles per unit of work. */
double lull_prediction_rate(const struct lull_kernel_prediction *prediction, double cycles);
/* Cycles per unit of work with the data beyond so many links, not less than the chain; of a nest
 * the sum of its loops. */
double lull_prediction_cycles(const struct lull_kernel_prediction *prediction, size_t level);

#endif
