#include "machine/machine.h"
#include "model/cache/cache.h"

/* Where a machine file knows no ways. */
enum { WAYS_UNKNOWN = 16 };

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static enum lull_cache_filling filling_of(const struct lull_machine_cache *cache, bool last)
{
    if (cache->level < 2 || !last || cache->inclusive == LULL_UNKNOWN)
        return LULL_CACHE_NORMAL;
    return cache->inclusive == LULL_YES ? LULL_CACHE_INCLUSIVE : LULL_CACHE_VICTIM;
}

static struct lull_cache_level cache_level_of(const struct lull_machine_cache *cache,
                                              uint32_t cores, bool whole, bool last)
{
    uint32_t shared = cache->shared_cores ? cache->shared_cores : 1;
    uint32_t users = smaller(shared, cores);
    return (struct lull_cache_level){.bytes = whole ? cache->bytes : cache->bytes / users,
                                     .ways = cache->ways ? cache->ways : WAYS_UNKNOWN,
                                     .filling = filling_of(cache, last),
                                     .sharers = whole ? shared : 1};
}

lull_status lull_cache_of_machine(const struct lull_machine *machine, uint32_t cores, bool whole,
                                  enum lull_cache_policy policy, struct lull_cache_spec *ret_spec,
                                  struct lull_error *err)
{
    struct lull_cache_spec spec = {.cores = whole ? cores : 1};
    unsigned last = 0;
    while (lull_machine_cache(machine, last + 1) && last < LULL_CACHE_LEVELS)
        last++;
    if (!last)
        return lull_fail(err, LULL_ERR_RANGE,
                         "the machine file knows no caches: add 'caches' to it, with their sizes");
    for (unsigned level = 1; level <= last; level++) {
        const struct lull_machine_cache *cache = lull_machine_cache(machine, level);
        if (!cache->bytes)
            return lull_fail(err, LULL_ERR_RANGE,
                             "the machine file does not know the size of the level %u cache",
                             level);
        if (level == 1)
            spec.line_bytes = cache->line_bytes ? cache->line_bytes : 64;
        spec.levels[spec.n_levels] = cache_level_of(cache, cores, whole, level == last);
        spec.levels[spec.n_levels++].policy = policy;
    }
    *ret_spec = spec;
    return LULL_OK;
}
