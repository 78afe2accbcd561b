/* A slow cache simulator, written differently from model/cache.c: lines with time stamps instead
 * of ordered ways, trees by halves instead of numbered nodes, an access followed from level to
 * level by a loop. */
#ifndef LULL_TESTS_SUPPORT_SLOW_CACHE_H
#define LULL_TESTS_SUPPORT_SLOW_CACHE_H

#include "model/cache.h"

#include <stdbool.h>
#include <stdint.h>

struct slow_line {
    bool valid, dirty;
    uint64_t number, used;
};

struct slow_set {
    struct slow_line lines[LULL_CACHE_MAX_WAYS];
    bool right_is_older[LULL_CACHE_MAX_WAYS]; /* of each inner node, in the order of a walk that
                                                 visits a node before its halves */
};

struct slow_cache {
    struct lull_cache_spec spec;
    struct slow_set *sets[LULL_CACHE_LEVELS];
    uint64_t n_sets[LULL_CACHE_LEVELS];
    struct lull_cache_traffic traffic[LULL_CACHE_LEVELS];
    uint64_t now;
};

/* Empty caches, which slow_cache_close ends. */
void slow_cache_open(struct slow_cache *slow, const struct lull_cache_spec *spec);
void slow_cache_close(struct slow_cache *slow);
/* One access of a core. */
void slow_cache_access(struct slow_cache *slow, uint32_t core, uint64_t address, bool write);

#endif
