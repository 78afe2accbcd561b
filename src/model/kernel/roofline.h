/* Roofline: performance is limited by the core's arithmetic or by one level of the memory
 * hierarchy, P = min(P_peak, I b), whichever is lowest. Source: S. Williams, A. Waterman, D.
 * Patterson, Roofline (CACM 52, 2009), with a ceiling for every level. */
#ifndef LULL_MODEL_KERNEL_ROOFLINE_H
#define LULL_MODEL_KERNEL_ROOFLINE_H

#include "model/kernel/incore/incore.h"
#include "model/kernel/layers.h"

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

/* `in_core_cycles`: per unit of work, of the core with its data in the first cache. Fails with
 * LULL_ERR_RANGE where the machine file lacks a clock or a bandwidth. */
lull_status lull_roofline_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                               const struct lull_ecm_lines *lines, size_t n_lines,
                               double in_core_cycles, unsigned cores, struct lull_arena *arena,
                               struct lull_roofline *ret_roofline, struct lull_error *err);

#endif
