/* SPDX-License-Identifier: BSD-3-Clause */
/* The accesses of a kernel, carried out by the cache simulator (model/cache.h), and how the lines
 * that travel compare with those of the layer conditions. */
#ifndef LULL_MODEL_KERNEL_SIMULATE_H
#define LULL_MODEL_KERNEL_SIMULATE_H

#include "model/cache.h"
#include "model/kernel/layers.h"

struct lull_simulated {
    size_t n_levels;
    /* Per unit of work, between each cache and the level beyond it. In a nest with several
     * innermost loops these are the lines that travel from the end of the innermost loop before the
     * body to the body's end. Clean lines that a victim cache takes are not counted, because what
     * they cost is part of every bandwidth that was measured there. */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS];
    uint64_t accesses; /* simulated in all */
};

/* Checks that the user has stated the distribution of every array whose elements are used as
 * indices; else fails with LULL_ERR_RANGE. A simulation needs it, and the layer conditions' mean
 * holds only for indices that may be anywhere. */
lull_status lull_kernel_check_indices(const struct lull_kernel *kernel,
                                      const struct lull_kernel_index *indices, size_t n_indices,
                                      struct lull_error *err);

/* Finds the lines that travel while the nest is executed again and again, as by a program that
 * calls it in a loop.
 *
 * A nest whose busiest loop makes at most half as many iterations as the caches hold doubles runs
 * twice, and the second time is counted. Of a larger nest a part is simulated:
 *
 * 1. The caches are filled: with the arrays if the last cache holds all of them, else with lines
 *    that the nest does not access.
 * 2. The nest runs without being counted, until each level that does not hold all arrays has taken
 *    in twice the lines that it holds, but for twice as many iterations as the caches hold doubles
 *    at most. At first its outermost loop is in the middle of its range, where the layer conditions
 *    look at it.
 * 3. Lines are counted for about as many iterations as the caches hold doubles, or for eight times
 *    as many as the arrays have elements if that is less: for a whole number of runs of the nest or
 *    of periods of the outermost loop possible, at most four times as long. A period is as many
 *    iterations as come to new lines with every access: eight where the loop moves on by a double.
 *
 * Arrays follow each other in memory, each on a new cache line. Indices that are stated as random
 * are drawn from `seed`. Fails with LULL_ERR_RANGE where an index has no stated distribution or
 * its sample leaves the array, and with LULL_ERR_MEMORY. */
lull_status lull_kernel_simulate(const struct lull_kernel *kernel,
                                 const struct lull_cache_spec *spec,
                                 const struct lull_kernel_index *indices, size_t n_indices,
                                 uint64_t seed, struct lull_simulated *ret_simulated,
                                 struct lull_error *err);

/* Fills an index array of `count` elements by its stated distribution (not FILE), for an array of
 * `extent` elements. */
void lull_kernel_draw_indices(const struct lull_kernel_index *index, uint64_t seed, int64_t extent,
                              int64_t *values, uint64_t count);

/* Why, at a level, the simulated lines differ by more than 10 % from those of the layer conditions:
 * a sentence in the arena; NULL where they do not differ. In a nest with several innermost loops
 * only the lines loaded are compared. `spread` is the same simulation in the caches of
 * lull_cache_spread: lines that travel only without it come from conflicts. */
const char *lull_disagreement(const struct lull_layers *layers,
                              const struct lull_simulated *simulated,
                              const struct lull_simulated *spread, size_t level,
                              struct lull_arena *arena);
/* The same caches with as many ways as the simulator can have, so that conflicts between lines of
 * one set all but vanish. */
struct lull_cache_spec lull_cache_spread(const struct lull_cache_spec *spec);

#endif
