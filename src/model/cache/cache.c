#include "model/cache/cache.h"

#include <stdlib.h>
#include <string.h>

/* A way holds twice the number of its line, plus 1 where it is dirty. */
typedef uint64_t way;
#define EMPTY UINT64_MAX

struct level {
    struct lull_cache_level spec;
    uint64_t sets;
    uint64_t mask;  /* sets - 1 where that is a power of 2, else 0 */
    way *entries;   /* instance by instance, set by set; with LRU the one used last comes first */
    uint64_t *bits; /* of PLRU, one word per set; else NULL */
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

/* ---- one set -------------------------------------------------------------------------------- */

struct set {
    way *ways;
    uint64_t *bits;
};

static inline struct set find_set(const struct level *level, uint32_t core, uint64_t line)
{
    uint64_t number = level->mask ? line & level->mask : line % level->sets;
    number += core / level->spec.sharers * level->sets;
    return (struct set){.ways = level->entries + number * level->spec.ways,
                        .bits = level->bits ? level->bits + number : NULL};
}

/* The position of a line, or the number of ways. */
static inline uint32_t find_way(struct set set, uint32_t ways, uint64_t line)
{
    uint32_t i = 0;
    while (i < ways && (set.ways[i] ^ line << 1) > 1)
        i++;
    return i;
}

static inline void move_to_front(way *ways, uint32_t position, way entry)
{
    for (; position > 0; position--)
        ways[position] = ways[position - 1];
    ways[0] = entry;
}

/* Node 1 is the root, node n has the children 2n and 2n + 1; a bit says which half is to go. */
static void point_away(uint64_t *bits, uint32_t ways, uint32_t position)
{
    for (uint32_t node = ways + position; node > 1; node >>= 1) {
        uint64_t bit = UINT64_C(1) << (node >> 1);
        *bits = node & 1 ? *bits & ~bit : *bits | bit;
    }
}

static uint32_t pointed_at(uint64_t bits, uint32_t ways)
{
    uint32_t node = 1;
    while (node < ways)
        node = node << 1 | (bits >> node & 1);
    return node - ways;
}

/* The line at `position` is used. */
static inline void use_way(const struct level *level, struct set set, uint32_t position)
{
    if (level->bits)
        point_away(set.bits, level->spec.ways, position);
    else
        move_to_front(set.ways, position, set.ways[position]);
}

static inline way remove_way(const struct level *level, struct set set, uint32_t position)
{
    way entry = set.ways[position];
    if (!level->bits)
        for (; position + 1 < level->spec.ways; position++)
            set.ways[position] = set.ways[position + 1];
    set.ways[position] = EMPTY;
    return entry;
}

/* Puts a line in as used last and returns what had to leave, or EMPTY. */
static inline way replace(const struct level *level, struct set set, way entry)
{
    uint32_t ways = level->spec.ways;
    if (!level->bits) {
        way leaving = set.ways[ways - 1];
        move_to_front(set.ways, ways - 1, entry);
        return leaving;
    }
    uint32_t position = 0;
    while (position < ways && set.ways[position] != EMPTY)
        position++;
    if (position == ways)
        position = pointed_at(*set.bits, ways);
    way leaving = set.ways[position];
    set.ways[position] = entry;
    point_away(set.bits, ways, position);
    return leaving;
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
    uint32_t first = core / sharers * sharers;
    bool dirty = false;
    for (size_t n = 0; n < number; n++) {
        struct level *level = &cache->levels[n];
        for (uint32_t c = first; c < first + sharers && c < cache->cores;
             c += level->spec.sharers) {
            struct set set = find_set(level, c, line);
            uint32_t position = find_way(set, level->spec.ways, line);
            if (position < level->spec.ways)
                dirty |= remove_way(level, set, position) & 1;
        }
        level->traffic.writes += dirty;
    }
    return dirty;
}

static void insert(struct lull_cache *cache, uint32_t core, size_t number, way entry);

/* A line leaves a level. */
static void leave(struct lull_cache *cache, uint32_t core, size_t number, way entry)
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
    struct set set = find_set(next, core, entry >> 1);
    uint32_t position = find_way(set, next->spec.ways, entry >> 1);
    bool present = position < next->spec.ways;
    level->traffic.writes += dirty;
    level->traffic.victims += !dirty && !present;
    if (present)
        set.ways[position] |= dirty;
    else
        insert(cache, core, number + 1, entry);
}

static void insert(struct lull_cache *cache, uint32_t core, size_t number, way entry)
{
    struct level *level = &cache->levels[number];
    way leaving = replace(level, find_set(level, core, entry >> 1), entry);
    if (leaving != EMPTY)
        leave(cache, core, number, leaving);
}

/* A line is wanted by the level before `number`. Returns whether it comes dirty. */
static bool fetch(struct lull_cache *cache, uint32_t core, size_t number, uint64_t line)
{
    if (number == cache->n_levels)
        return false;
    struct level *level = &cache->levels[number];
    struct set set = find_set(level, core, line);
    uint32_t position = find_way(set, level->spec.ways, line);
    level->traffic.accesses++;
    if (position < level->spec.ways) {
        level->traffic.hits++;
        if (level->spec.filling == LULL_CACHE_EXCLUSIVE)
            return remove_way(level, set, position) & 1;
        use_way(level, set, position);
        return false;
    }
    level->traffic.misses++;
    bool dirty = fetch(cache, core, number + 1, line);
    if (takes_victims(level))
        return dirty;
    insert(cache, core, number, line << 1 | dirty);
    return false;
}

static void miss_first(struct lull_cache *cache, uint32_t core, uint64_t line, bool write)
{
    struct level *level = &cache->levels[0];
    level->traffic.misses++;
    bool dirty = fetch(cache, core, 1, line);
    insert(cache, core, 0, line << 1 | (dirty || write));
}

/* ---- the interface -------------------------------------------------------------------------- */

void lull_cache_run(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                    size_t count)
{
    struct level *level = &cache->levels[0];
    uint64_t before = level->traffic.misses;
    for (size_t i = 0; i < count; i++) {
        uint64_t line = accesses[i] >> cache->shift;
        bool write = accesses[i] & 1;
        struct set set = find_set(level, core, line);
        uint32_t position = find_way(set, level->spec.ways, line);
        if (position == level->spec.ways) {
            miss_first(cache, core, line, write);
            continue;
        }
        set.ways[position] |= write;
        if (position || level->bits)
            use_way(level, set, position);
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
        struct set set = find_set(level, core, line);
        uint32_t position = find_way(set, level->spec.ways, line);
        if (position < level->spec.ways)
            set.ways[position] &= ~(way)1;
        level->traffic.writes++;
    }
}

void lull_cache_flush(struct lull_cache *cache)
{
    for (size_t n = 0; n < cache->n_levels; n++) {
        struct level *level = &cache->levels[n];
        uint64_t per_instance = level->sets * level->spec.ways;
        for (uint64_t i = 0; i < per_instance * level->instances; i++)
            if (level->entries[i] != EMPTY && level->entries[i] & 1)
                write_through(cache, n, (uint32_t)(i / per_instance) * level->spec.sharers,
                              level->entries[i] >> 1);
    }
    for (size_t n = 0; n < cache->n_levels; n++) {
        struct level *level = &cache->levels[n];
        uint64_t sets = level->sets * level->instances;
        memset(level->entries, 0xff, sets * level->spec.ways * sizeof(way));
        if (level->bits)
            memset(level->bits, 0, sets * sizeof *level->bits);
    }
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
    level->instances = (spec->cores + level->spec.sharers - 1) / level->spec.sharers;
    uint64_t sets = level->sets * level->instances;
    if (sets / level->instances != level->sets ||
        sets > SIZE_MAX / sizeof(way) / LULL_CACHE_MAX_WAYS)
        return false;
    level->entries = malloc(sets * level->spec.ways * sizeof(way));
    if (!level->entries)
        return false;
    memset(level->entries, 0xff, sets * level->spec.ways * sizeof(way));
    if (level->spec.policy == LULL_CACHE_PLRU)
        level->bits = calloc(sets, sizeof *level->bits);
    return level->bits || level->spec.policy != LULL_CACHE_PLRU;
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
        free(cache->levels[n].entries);
        free(cache->levels[n].bits);
    }
    free(cache);
}
