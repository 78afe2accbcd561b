/* Everything that is predicted of a kernel on a machine with one set of sizes. */
#ifndef LULL_MODEL_KERNEL_PREDICT_H
#define LULL_MODEL_KERNEL_PREDICT_H

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
    struct lull_layers layers;
    bool has_simulation;
    struct lull_simulated simulated;
    const char *disagreements[LULL_LAYER_LEVELS];   /* why they differ; NULL: they do not */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS]; /* that the models took */
    struct lull_incore incore;
    struct lull_ecm ecm;
    struct lull_ecm_bandwidth memory;
    const char *overlap; /* "none", "caches" */
    bool overlap_assumed;
    double cycles;                  /* per unit of work on one core: ECM, not less than the chain */
    unsigned saturation;            /* cores; 0: never */
    struct lull_roofline roofline;  /* with options.cores */
    struct lull_core_point *points; /* 1 to all cores of a memory domain */
    size_t n_points;
    double share; /* of all innermost iterations that the body has */
};

/* Fails with LULL_ERR_RANGE where the machine file lacks a number, naming the benchmark that gives
 * it, or as the parts do. `incore` may be that of another size of the same kernel; NULL: find it.
 */
lull_status lull_kernel_predict(const struct lull_kernel *kernel,
                                const struct lull_machine *machine,
                                const struct lull_kernel_source *source,
                                const struct lull_kernel_options *options,
                                const struct lull_incore *incore, struct lull_arena *arena,
                                struct lull_kernel_prediction *ret_prediction,
                                struct lull_error *err);

/* Work (flop, or iterations where there are none) per second of so many cycles per unit of work. */
double lull_prediction_rate(const struct lull_kernel_prediction *prediction, double cycles);
/* Cycles per unit of work with the data beyond so many links, not less than the chain. */
double lull_prediction_cycles(const struct lull_kernel_prediction *prediction, size_t level);

#endif
