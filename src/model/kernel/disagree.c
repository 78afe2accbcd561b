/* Where the simulation and the layer conditions differ, and why. */
#include "model/kernel/simulate.h"

#include <math.h>

struct lull_cache_spec lull_cache_spread(const struct lull_cache_spec *spec)
{
    struct lull_cache_spec spread = *spec;
    for (size_t i = 0; i < spread.n_levels; i++) {
        uint64_t lines = spread.levels[i].bytes / spread.line_bytes;
        spread.levels[i].ways = lines < LULL_CACHE_MAX_WAYS ? (uint32_t)lines : LULL_CACHE_MAX_WAYS;
    }
    return spread;
}

static double loads_and_stores(const struct lull_ecm_lines *lines)
{
    return lines->loads + lines->stores;
}

/* By how much `of` differs from `from`, as a share of the larger. */
static bool differs(const struct lull_ecm_lines *of, const struct lull_ecm_lines *from)
{
    double a = loads_and_stores(of), b = loads_and_stores(from);
    /* A hundredth of a line is no traffic. */
    return fabs(a - b) > fmax(LULL_DISAGREEMENT_PERCENT / 100.0 * fmax(a, b), 0.01);
}

/* Something needs about as much as the cache holds, within a third. */
static const char *near_threshold(const struct lull_layers *layers, size_t level,
                                  struct lull_arena *arena)
{
    double capacity = layers->capacity[level];
    if (layers->footprint > capacity / 1.5 && layers->footprint < capacity * 1.5)
        return "all arrays together are about as large as the cache";
    for (size_t c = 0; c < layers->n_conditions; c++)
        if (layers->conditions[c].value > capacity / 1.5 &&
            layers->conditions[c].value < capacity * 1.5)
            return lull_arena_printf(
                arena, "the reuse of %s over %s is near its threshold, at %.2f of the cache",
                layers->conditions[c].array, layers->conditions[c].distance,
                layers->conditions[c].value / capacity);
    return NULL;
}

const char *lull_disagreement(const struct lull_layers *layers,
                              const struct lull_simulated *simulated,
                              const struct lull_simulated *spread, size_t level,
                              struct lull_arena *arena)
{
    struct lull_ecm_lines conditions = layers->lines[level], lines = simulated->lines[level];
    struct lull_ecm_lines without = spread->lines[level];
    if (layers->has_others) /* lines that a loop has written may leave in another one */
        conditions.stores = lines.stores = without.stores = 0;
    if (!differs(&lines, &conditions))
        return NULL;
    const char *threshold = near_threshold(layers, level, arena);
    if (loads_and_stores(&lines) > loads_and_stores(&conditions) && differs(&lines, &without) &&
        loads_and_stores(&without) < loads_and_stores(&lines))
        return "conflicts: lines compete for few sets of the cache, as with sizes that are powers "
               "of two; padding the arrays would help";
    if (layers->has_invariant && loads_and_stores(&lines) < loads_and_stores(&conditions))
        return "an operand stays the same over a loop, and is reused, which the layer conditions "
               "overcount";
    if (layers->indirect)
        return lull_arena_printf(arena,
                                 "'%s' is accessed through indices, for which the layer "
                                 "conditions have only a mean",
                                 layers->indirect);
    if (threshold)
        return threshold;
    if (layers->has_others)
        return "the loops of the nest share the caches: what one has loaded or written stays there "
               "for the next, of which the layer conditions know nothing";
    return "the layer conditions look at the innermost loop alone, and at whole arrays";
}
