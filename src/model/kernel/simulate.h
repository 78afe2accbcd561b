/* The accesses of a kernel through the cache simulator, beside its layer conditions. */
#ifndef LULL_MODEL_KERNEL_SIMULATE_H
#define LULL_MODEL_KERNEL_SIMULATE_H

#include "model/cache.h"
#include "model/kernel/layers.h"

struct lull_simulated {
    size_t n_levels;
    /* Per unit of work, beyond each cache. Of a nest with several innermost loops: what travels
       from the end of the one before the body to the body's end. Clean lines that a victim cache
       takes are not counted: what they cost is in every bandwidth measured there. */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS];
    uint64_t accesses; /* simulated in all */
};

/* Fails with LULL_ERR_RANGE where it is not stated what an array holds whose elements are indices:
 * a simulation needs it, and the layer conditions' mean is that of indices anywhere. */
lull_status lull_kernel_check_indices(const struct lull_kernel *kernel,
                                      const struct lull_kernel_index *indices, size_t n_indices,
                                      struct lull_error *err);

/* Runs the nest from its begin: a warm-up that replaces the contents of all caches, then as much
 * again to count. A nest that is shorter runs twice, and its second run is counted. Arrays follow
 * each other in memory, each on a new cache line. Indices that are stated as random are drawn from
 * `seed`. Fails with LULL_ERR_RANGE where an index has no stated distribution, or its sample leaves
 * the array, LULL_ERR_MEMORY. */
lull_status lull_kernel_simulate(const struct lull_kernel *kernel,
                                 const struct lull_cache_spec *spec,
                                 const struct lull_kernel_index *indices, size_t n_indices,
                                 uint64_t seed, struct lull_simulated *ret_simulated,
                                 struct lull_error *err);

/* Fills an index array of `count` elements by its stated distribution (not FILE), for an array of
 * `extent` elements. */
void lull_kernel_draw_indices(const struct lull_kernel_index *index, uint64_t seed, int64_t extent,
                              int64_t *values, uint64_t count);

/* Why the simulation differs at a level from the layer conditions by more than
 * LULL_DISAGREEMENT_PERCENT, of a nest with several innermost loops in the lines loaded: a sentence
 * in the arena; NULL where it does not. `spread` is the same
 * simulation with caches of as many ways as can be had, which tells conflicts. */
const char *lull_disagreement(const struct lull_layers *layers,
                              const struct lull_simulated *simulated,
                              const struct lull_simulated *spread, size_t level,
                              struct lull_arena *arena);
/* The spec with as many ways as can be had. */
struct lull_cache_spec lull_cache_spread(const struct lull_cache_spec *spec);

#endif
