/* Everything that is predicted of a kernel on a machine with one set of sizes.
 *
 * Of a nest with several innermost loops each one is predicted by itself, and the nest takes the
 * sum of their times, each as often as it runs. What one loop leaves in the caches for the next is
 * not in the layer conditions, it is in the simulation. */
#ifndef LULL_MODEL_KERNEL_PREDICT_H
#define LULL_MODEL_KERNEL_PREDICT_H

#include "model/kernel/crossing.h"
#include "model/kernel/roofline.h"
#include "model/kernel/simulate.h"

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
