#include "model/cache/cache.h"

#include "model/cache/set.h"

#include <stdlib.h>

enum {
    HOST_LINE = 64,
    AHEAD = 8,
    MOST_LINES = 1 << 26 /* of a level: 4 GiB of cache, for whose simulation 0.6 GiB are taken */
};

struct level {
    struct lull_cache_level spec;
    struct lull_set_layout layout;
    uint64_t sets;
    uint64_t mask;       /* sets - 1 where that is a power of 2, else 0 */
    uint64_t reciprocal; /* (2^64 - 1) / sets, rounded down */
    uint8_t *heads;      /* instance by instance, set by set */
    lull_way *ways;
    uint32_t instances;
    struct lull_cache_traffic traffic;
};

struct lull_cache {
    struct level levels[LULL_CACHE_LEVELS];
    size_t n_levels;
    uint32_t cores;
    unsigned shift; /* from an access to its line */
};

static bool is_power_of_2(uint64_t number)
{
    return number && !(number & (number - 1));
}

static inline struct lull_set set_at(const struct level *level, uint64_t number)
{
    return (struct lull_set){.hashes = level->heads + number * level->layout.head_bytes,
                             .ways = level->ways + number * level->layout.ways};
}

/* line % sets without a division: the quotient is found but for 1. */
static inline uint64_t set_number(const struct level *level, uint64_t line)
{
    if (level->mask)
        return line & level->mask;
    uint64_t quotient = (uint64_t)((unsigned __int128)line * level->reciprocal >> 64);
    uint64_t rest = line - quotient * level->sets;
    return rest < level->sets ? rest : rest - level->sets;
}

static inline struct lull_set find_set(const struct level *level, uint32_t core, uint64_t line)
{
    uint64_t number = set_number(level, line);
    if (level->instances > 1)
        number += core / level->spec.sharers * level->sets;
    return set_at(level, number);
}

/* ---- lines between levels ------------------------------------------------------------------- */

static inline bool takes_victims(const struct level *level)
{
    return level->spec.filling >= LULL_CACHE_VICTIM;
}

/* Removes a line from all levels nearer than `number` below its instance. Returns whether one of
 * them was dirty. */
static bool remove_nearer(struct lull_cache *cache, uint32_t core, size_t number, uint64_t line)
{
    uint32_t sharers = cache->levels[number].spec.sharers;
    uint32_t first = cache->cores > 1 ? core / sharers * sharers : 0;
    bool dirty = false;
    for (size_t n = 0; n < number; n++) {
        struct level *level = &cache->levels[n];
        for (uint32_t c = first; c < first + sharers && c < cache->cores;
             c += level->spec.sharers) {
            struct lull_set set = find_set(level, c, line);
            uint32_t position = lull_set_find(&level->layout, set, line);
            if (position < level->spec.ways)
                dirty |= lull_set_remove(&level->layout, set, position) & 1;
        }
        level->traffic.writes += dirty;
    }
    return dirty;
}

static void leave(struct lull_cache *cache, uint32_t core, size_t number, lull_way entry);

/* Puts a line into its set of a level. */
static inline void insert(struct lull_cache *cache, uint32_t core, size_t number,
                          struct lull_set set, lull_way entry)
{
    lull_way leaving = lull_set_replace(&cache->levels[number].layout, set, entry);
    if (leaving != LULL_WAY_EMPTY)
        leave(cache, core, number, leaving);
}

/* A line leaves a level. */
static void leave(struct lull_cache *cache, uint32_t core, size_t number, lull_way entry)
{
    struct level *level = &cache->levels[number];
    if (level->spec.filling == LULL_CACHE_INCLUSIVE)
        entry |= remove_nearer(cache, core, number, entry >> 1);
    bool dirty = entry & 1;
    if (number + 1 == cache->n_levels) {
        level->traffic.writes += dirty;
        return;
    }
    struct level *next = level + 1;
    if (!dirty && !takes_victims(next))
        return;
    struct lull_set set = find_set(next, core, entry >> 1);
    uint32_t position = lull_set_find(&next->layout, set, entry >> 1);
    bool present = position < next->spec.ways;
    level->traffic.writes += dirty;
    level->traffic.victims += !dirty && !present;
    if (present)
        set.ways[position] |= dirty;
    else
        insert(cache, core, number + 1, set, entry);
}

/* A line is wanted by the level before `number`. Returns whether it comes dirty. */
static bool fetch(struct lull_cache *cache, uint32_t core, size_t number, uint64_t line)
{
    if (number == cache->n_levels)
        return false;
    struct level *level = &cache->levels[number];
    struct lull_set set = find_set(level, core, line);
    uint32_t position = lull_set_find(&level->layout, set, line);
    level->traffic.accesses++;
    if (position < level->spec.ways) {
        level->traffic.hits++;
        if (level->spec.filling == LULL_CACHE_EXCLUSIVE)
            return lull_set_remove(&level->layout, set, position) & 1;
        lull_set_use(&level->layout, set, position);
        return false;
    }
    level->traffic.misses++;
    bool dirty = fetch(cache, core, number + 1, line);
    if (takes_victims(level))
        return dirty;
    insert(cache, core, number, set, line << 1 | dirty);
    return false;
}

static void miss_first(struct lull_cache *cache, uint32_t core, struct lull_set set, uint64_t line,
                       bool write)
{
    cache->levels[0].traffic.misses++;
    bool dirty = fetch(cache, core, 1, line);
    insert(cache, core, 0, set, line << 1 | (dirty || write));
}

/* ---- the interface -------------------------------------------------------------------------- */

/* What a miss in the first level will touch of the others. */
static inline void expect(const struct lull_cache *cache, uint32_t core, uint64_t line)
{
    for (size_t n = 1; n < cache->n_levels; n++) {
        const struct level *level = &cache->levels[n];
        struct lull_set set = find_set(level, core, line);
        __builtin_prefetch(set.hashes, 1);
        __builtin_prefetch(set.ways, 1);
        if (level->layout.ways > 8)
            __builtin_prefetch(set.ways + 8, 1);
    }
}

void lull_cache_run(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                    size_t count)
{
    struct level *level = &cache->levels[0];
    uint64_t before = level->traffic.misses;
    for (size_t i = 0; i < count; i++) {
        uint64_t line = accesses[i] >> cache->shift;
        bool write = accesses[i] & 1;
        struct lull_set set = find_set(level, core, line);
        lull_way *recent = lull_set_recent(&level->layout, set, line);
        if (recent) {
            *recent |= write;
            continue;
        }
        uint32_t position = lull_set_find(&level->layout, set, line);
        if (position == level->spec.ways) {
            if (i + AHEAD < count)
                expect(cache, core, accesses[i + AHEAD] >> cache->shift);
            miss_first(cache, core, set, line, write);
            continue;
        }
        set.ways[position] |= write;
        lull_set_use(&level->layout, set, position);
    }
    level->traffic.accesses += count;
    level->traffic.hits += count - (level->traffic.misses - before);
}

struct lull_cache_traffic lull_cache_traffic(const struct lull_cache *cache, size_t level)
{
    return cache->levels[level].traffic;
}

void lull_cache_reset(struct lull_cache *cache)
{
    for (size_t n = 0; n < cache->n_levels; n++)
        cache->levels[n].traffic = (struct lull_cache_traffic){0};
}

/* Counts a dirty line of a level on its way to memory; it is clean in the levels that it passes. */
static void write_through(struct lull_cache *cache, size_t number, uint32_t core, uint64_t line)
{
    for (size_t n = number; n < cache->n_levels; n++) {
        struct level *level = &cache->levels[n];
        struct lull_set set = find_set(level, core, line);
        uint32_t position = lull_set_find(&level->layout, set, line);
        if (position < level->spec.ways)
            set.ways[position] &= ~(lull_way)1;
        level->traffic.writes++;
    }
}

static void clear_level(struct level *level)
{
    for (uint64_t i = 0; i < level->sets * level->instances; i++)
        lull_set_clear(&level->layout, set_at(level, i));
}

void lull_cache_flush(struct lull_cache *cache)
{
    for (size_t n = 0; n < cache->n_levels; n++) {
        struct level *level = &cache->levels[n];
        uint64_t per_instance = level->sets * level->spec.ways;
        for (uint64_t i = 0; i < per_instance * level->instances; i++)
            if (level->ways[i] != LULL_WAY_EMPTY && level->ways[i] & 1)
                write_through(cache, n, (uint32_t)(i / per_instance) * level->spec.sharers,
                              level->ways[i] >> 1);
    }
    for (size_t n = 0; n < cache->n_levels; n++)
        clear_level(&cache->levels[n]);
}

/* ---- creation ------------------------------------------------------------------------------- */

static lull_status check_level(const struct lull_cache_spec *spec, size_t number,
                               struct lull_error *err)
{
    const struct lull_cache_level *level = &spec->levels[number];
    if (!level->ways || level->ways > LULL_CACHE_MAX_WAYS)
        return lull_fail(err, LULL_ERR_RANGE, "cache level %zu: %u ways, expected 1 to %d",
                         number + 1, level->ways, LULL_CACHE_MAX_WAYS);
    if (level->bytes / level->ways < spec->line_bytes)
        return lull_fail(err, LULL_ERR_RANGE, "cache level %zu: %llu bytes hold no set of %u lines",
                         number + 1, (unsigned long long)level->bytes, level->ways);
    if (level->policy == LULL_CACHE_PLRU && !is_power_of_2(level->ways))
        return lull_fail(err, LULL_ERR_RANGE,
                         "cache level %zu: pseudo-LRU needs a power of 2 of ways, not %u",
                         number + 1, level->ways);
    if (!level->sharers || (number && level->sharers % spec->levels[number - 1].sharers))
        return lull_fail(err, LULL_ERR_RANGE,
                         "cache level %zu: shared by %u cores, expected a multiple of the level "
                         "before",
                         number + 1, level->sharers);
    if (!number && level->filling != LULL_CACHE_NORMAL)
        return lull_fail(err, LULL_ERR_RANGE, "the first cache level cannot be a victim cache");
    return LULL_OK;
}

static lull_status check_spec(const struct lull_cache_spec *spec, struct lull_error *err)
{
    if (!spec->n_levels || spec->n_levels > LULL_CACHE_LEVELS)
        return lull_fail(err, LULL_ERR_RANGE, "%zu cache levels, expected 1 to %d", spec->n_levels,
                         LULL_CACHE_LEVELS);
    if (!is_power_of_2(spec->line_bytes) || spec->line_bytes < 8)
        return lull_fail(err, LULL_ERR_RANGE,
                         "cache lines of %u bytes, expected a power of 2 from 8", spec->line_bytes);
    if (!spec->cores)
        return lull_fail(err, LULL_ERR_RANGE, "caches of no core");
    lull_status status = LULL_OK;
    for (size_t n = 0; status == LULL_OK && n < spec->n_levels; n++)
        status = check_level(spec, n, err);
    return status;
}

static bool allocate_level(struct level *level, const struct lull_cache_spec *spec)
{
    level->sets = level->spec.bytes / level->spec.ways / spec->line_bytes;
    level->mask = is_power_of_2(level->sets) ? level->sets - 1 : 0;
    level->reciprocal = UINT64_MAX / level->sets;
    level->layout = lull_set_layout(level->spec.ways, level->spec.policy);
    level->instances = (spec->cores + level->spec.sharers - 1) / level->spec.sharers;
    uint64_t sets = level->sets * level->instances;
    if (sets / level->instances != level->sets || sets > MOST_LINES / level->spec.ways)
        return false;
    level->heads = aligned_alloc(HOST_LINE, (sets * level->layout.head_bytes + HOST_LINE - 1) /
                                                HOST_LINE * HOST_LINE);
    level->ways = malloc(sets * level->layout.ways * sizeof *level->ways);
    if (!level->heads || !level->ways)
        return false;
    clear_level(level);
    return true;
}

lull_status lull_cache_create(const struct lull_cache_spec *spec, struct lull_cache **ret_cache,
                              struct lull_error *err)
{
    lull_status status = check_spec(spec, err);
    if (status != LULL_OK)
        return status;
    struct lull_cache *cache = calloc(1, sizeof *cache);
    bool enough = cache != NULL;
    if (cache) {
        cache->cores = spec->cores;
        cache->n_levels = spec->n_levels;
        for (uint32_t bytes = spec->line_bytes; bytes > 1; bytes >>= 1)
            cache->shift++;
        cache->shift++; /* the bit that tells writes */
        for (size_t n = 0; n < spec->n_levels; n++) {
            cache->levels[n].spec = spec->levels[n];
            enough = enough && allocate_level(&cache->levels[n], spec);
        }
    }
    if (!enough) {
        lull_cache_free(cache);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to simulate caches of this size");
    }
    *ret_cache = cache;
    return LULL_OK;
}

void lull_cache_free(struct lull_cache *cache)
{
    for (size_t n = 0; cache && n < cache->n_levels; n++) {
        free(cache->levels[n].heads);
        free(cache->levels[n].ways);
    }
    free(cache);
}
