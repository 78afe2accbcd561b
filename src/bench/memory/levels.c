/* Working sets that lie in one level of the memory hierarchy. */
#include "bench/memory/stream.h"

#include "base/text.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum {
    TIMES_BELOW = 4, /* a shared cache's working set over the cache below it, if it has the room */
    TIMES_LAST = 4,  /* memory's over the last-level caches */
    LEAST_MEMORY = 64,  /* MiB, all threads together */
    BLIND_MEMORY = 1024 /* MiB, where no cache is known */
};

/* How many of the first `threads` cores share one cache of the last level with core 0; caches below
 * it are taken to be shared as far as their cores' numbers say. */
static unsigned sharers(const struct lull_topology *topology,
                        const struct lull_machine_cache *cache, unsigned threads)
{
    bool is_last = cache == &topology->caches[topology->n_caches - 1];
    unsigned most = 0;
    for (size_t i = 0; is_last && i < threads; i++) {
        unsigned same = 0;
        for (size_t k = 0; k < threads; k++)
            same += topology->cores[k].cache == topology->cores[i].cache;
        most = same > most ? same : most;
    }
    if (!is_last)
        most = threads < cache->shared_cores ? threads : cache->shared_cores;
    return most ? most : 1;
}

static unsigned last_level_caches(const struct lull_topology *topology, unsigned threads)
{
    unsigned count = 0;
    for (size_t i = 0; i < threads; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= topology->cores[k].cache == topology->cores[i].cache;
        count += !seen;
    }
    return count;
}

static struct lull_bench_level cache_level(const struct lull_topology *topology, size_t index,
                                           unsigned threads, uint64_t limit,
                                           struct lull_arena *arena)
{
    const struct lull_machine_cache *cache = &topology->caches[index];
    uint64_t below = index ? topology->caches[index - 1].bytes : 0;
    uint64_t share = cache->bytes / sharers(topology, cache, threads), wanted = share / 2;
    bool alone = cache->shared_cores == 1; /* 0: unknown */
    if (below && !alone && TIMES_BELOW * below < wanted)
        wanted = TIMES_BELOW * below;
    const bool is_limited = limit && limit < wanted;
    wanted = is_limited ? limit : wanted;
    struct lull_bench_level level = {
        .name = lull_arena_printf(arena, "L%u", cache->level), .bytes = wanted, .own = alone};
    if (wanted < below + below / 2) {
        char have[32], have_below[32];
        level.not_there = lull_arena_printf(
            arena,
            is_limited ? "%s of memory to be had are too little beside the level below it, %s"
                       : "a core's share, %s, is hardly larger than the level below it, %s",
            lull_format_size(is_limited ? limit : share, have, sizeof have),
            lull_format_size(below, have_below, sizeof have_below));
    }
    return level;
}

static struct lull_bench_level memory_level(const struct lull_topology *topology, unsigned threads,
                                            uint64_t limit, struct lull_arena *arena)
{
    struct lull_bench_level level = {.name = "memory"};
    uint64_t cached = 0, total = BLIND_MEMORY * MIB;
    if (topology->n_caches) {
        cached =
            topology->caches[topology->n_caches - 1].bytes * last_level_caches(topology, threads);
        total = TIMES_LAST * cached;
        total = total < LEAST_MEMORY * MIB ? LEAST_MEMORY * MIB : total;
    } else {
        level.note = "cache sizes are not known, so the caches may take part";
    }
    if (limit && total > limit) {
        char text[32];
        total = limit;
        level.note = lull_arena_printf(arena, "working set limited to %s by the memory to be had",
                                       lull_format_size(limit, text, sizeof text));
        if (total < 2 * cached)
            level.not_there =
                lull_arena_printf(arena, "%s of memory to be had are too little beside the caches",
                                  lull_format_size(limit, text, sizeof text));
    }
    level.bytes = total / threads;
    return level;
}

size_t lull_bench_find_levels(const struct lull_topology *topology, unsigned threads,
                              uint64_t memory_limit, struct lull_arena *arena,
                              struct lull_bench_level levels[LULL_BENCH_MOST_LEVELS])
{
    size_t count = 0;
    for (size_t i = 0; i < topology->n_caches && count + 1 < LULL_BENCH_MOST_LEVELS; i++)
        levels[count++] = cache_level(topology, i, threads, memory_limit, arena);
    levels[count++] = memory_level(topology, threads, memory_limit, arena);
    return count;
}
