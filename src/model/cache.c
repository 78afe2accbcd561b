/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/cache.h"

#include "base/mix.h"
#include "machine/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SET_GROUP = 16 }; /* ways that are compared at once */

/* A way holds the number of its line, and in the lowest bits what is known of it. */
typedef uint64_t lull_way;

#define WAY_EMPTY UINT64_MAX

enum {
    WAY_DIRTY = 1,
    WAY_NEARER = 2, /* it may be in a nearer level; where this is 0 it is in none */
    WAY_SHIFT = 6   /* 4 bits between: in which way of the next level it was then, if there */
};

static inline lull_way way_of(uint64_t line, uint32_t beyond, lull_way known)
{
    return line << WAY_SHIFT | (beyond & 15) << 2 | known;
}

static inline bool way_holds(lull_way way, uint64_t line)
{
    return way >> WAY_SHIFT == line;
}

static inline uint32_t way_beyond(lull_way way)
{
    return way >> 2 & 15;
}

enum set_order { ORDER_DIGITS, ORDER_BYTES, ORDER_TREE };

struct set_layout {
    uint32_t ways;
    enum set_order order;
    uint32_t hash_bytes; /* of a head: ways, rounded up to groups */
    uint32_t head_bytes; /* with the order behind the hashes */
    uint32_t set_bytes;  /* with the ways behind the head */
    uint32_t last_group; /* a bit for each way of the last group */
    unsigned last_digit; /* bits below that of the way used least recently; digits above it mean
                            nothing */
};

/* A set: its hashes [hash_bytes], the order behind them, and at head_bytes its ways [ways]. */
typedef uint8_t *lull_set;

static inline struct set_layout set_layout(uint32_t ways, enum lull_cache_policy policy)
{
    struct set_layout layout = {.ways = ways};
    layout.hash_bytes = (ways + SET_GROUP - 1) / SET_GROUP * SET_GROUP;
    layout.order = policy == LULL_CACHE_PLRU ? ORDER_TREE
                   : ways <= SET_GROUP       ? ORDER_DIGITS
                                             : ORDER_BYTES;
    layout.head_bytes =
        layout.hash_bytes + (layout.order == ORDER_BYTES ? layout.hash_bytes : SET_GROUP);
    layout.set_bytes = layout.head_bytes + ways * (uint32_t)sizeof(lull_way);
    layout.last_group = UINT32_C(0xffff) >> (layout.hash_bytes - ways);
    layout.last_digit = 4 * (ways - 1);
    return layout;
}

/* The order is an argument beside the layout, which says it too: where it is a constant, the code
 * for other orders, and for more ways than one compare takes, is left out. */
static inline uint32_t hash_bytes(const struct set_layout *layout, enum set_order order)
{
    return order == ORDER_DIGITS ? SET_GROUP : layout->hash_bytes;
}

static inline lull_way *set_ways(const struct set_layout *layout, enum set_order order,
                                 lull_set set)
{
    uint32_t head = order == ORDER_DIGITS ? 2 * SET_GROUP : layout->head_bytes;
    return (lull_way *)(void *)(set + head);
}

static inline uint64_t *order_word(const struct set_layout *layout, enum set_order order,
                                   lull_set set)
{
    return (uint64_t *)(void *)(set + hash_bytes(layout, order));
}

static inline void set_clear(const struct set_layout *layout, lull_set set)
{
    lull_way *ways = set_ways(layout, layout->order, set);
    memset(set, 0, layout->head_bytes);
    for (uint32_t i = 0; i < layout->ways; i++)
        ways[i] = WAY_EMPTY;
    if (layout->order == ORDER_BYTES)
        for (uint32_t i = 0; i < layout->ways; i++)
            set[layout->hash_bytes + i] = (uint8_t)i;
    else if (layout->order == ORDER_DIGITS)
        *order_word(layout, layout->order, set) = UINT64_C(0xfedcba9876543210);
}

/* ---- which way holds a line ------------------------------------------------------------------ */

/* Lines of one set differ in high bits, which a multiplication carries into the byte (D. Knuth, The
 * Art of Computer Programming 3, 6.4: the golden ratio). */
static inline uint8_t line_hash(uint64_t line)
{
    return (uint8_t)(lull_spread(line) >> 56);
}

/* A bit for each of 16 bytes that is `hash`. */
static inline uint32_t match_group(const uint8_t *hashes, uint8_t hash)
{
#if defined(__SSE2__)
    __m128i group = _mm_loadu_si128((const __m128i *)(const void *)hashes);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)hash)));
#else
    uint32_t matches = 0;
    for (unsigned i = 0; i < SET_GROUP; i++)
        matches |= (uint32_t)(hashes[i] == hash) << i;
    return matches;
#endif
}

/* The way of a line, or the number of ways. */
static inline uint32_t set_find(const struct set_layout *layout, enum set_order order, lull_set set,
                                uint64_t line, uint8_t hash)
{
    const lull_way *ways = set_ways(layout, order, set);
    uint32_t first = 0;
    for (;; first += SET_GROUP) {
        uint32_t matches = match_group(set + first, hash);
        bool last = first + SET_GROUP == hash_bytes(layout, order);
        if (last)
            matches &= layout->last_group;
        for (; matches; matches &= matches - 1) {
            uint32_t position = first + (uint32_t)__builtin_ctz(matches);
            if (way_holds(ways[position], line))
                return position;
        }
        if (last)
            return layout->ways;
    }
}

/* ---- the order of use ------------------------------------------------------------------------ */

/* Four times the place of a way among the digits of a word. Subtracting 1 from each digit borrows
 * first at the lowest one that is 0. */
static inline unsigned digit_place(uint64_t word, uint32_t position)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t other = word ^ ones * position;
    return (unsigned)__builtin_ctzll((other - ones) & ~other & ones << 3) - 3;
}

static inline void bytes_to_front(uint8_t *order, uint32_t place)
{
    uint8_t position = order[place];
    memmove(order + 1, order, place);
    order[0] = position;
}

static inline uint32_t byte_place(const uint8_t *order, uint32_t position)
{
    uint32_t place = 0;
    while (order[place] != position)
        place++;
    return place;
}

/* Node 1 is the root, node n has the children 2n and 2n + 1; a bit says which half is to go. */
static inline void tree_point_away(uint64_t *bits, uint32_t ways, uint32_t position)
{
    for (uint32_t node = ways + position; node > 1; node >>= 1) {
        uint64_t bit = UINT64_C(1) << (node >> 1);
        *bits = node & 1 ? *bits & ~bit : *bits | bit;
    }
}

/* The line at `position` is used. */
static inline void set_use(const struct set_layout *layout, enum set_order order, lull_set set,
                           uint32_t position)
{
    uint64_t *word = order_word(layout, order, set);
    if (order == ORDER_DIGITS) {
        unsigned place = digit_place(*word, position);
        uint64_t nearer = (UINT64_C(1) << place) - 1;
        *word = (*word & ~(nearer << 4 | 15)) | (*word & nearer) << 4 | position;
    } else if (order == ORDER_TREE) {
        tree_point_away(word, layout->ways, position);
    } else {
        uint8_t *list = set + layout->hash_bytes;
        bytes_to_front(list, byte_place(list, position));
    }
}

/* Where a line is, if it is the one used last and that is quickly known; else NULL. */
static inline lull_way *set_recent(const struct set_layout *layout, enum set_order order,
                                   lull_set set, uint64_t line)
{
    if (order != ORDER_DIGITS)
        return NULL;
    lull_way *recent = &set_ways(layout, order, set)[*order_word(layout, order, set) & 15];
    return way_holds(*recent, line) ? recent : NULL;
}

/* Empties a way, which is the next one to be filled. Returns what it held. */
static inline lull_way set_remove(const struct set_layout *layout, enum set_order order,
                                  lull_set set, uint32_t position)
{
    lull_way *way = &set_ways(layout, order, set)[position], entry = *way;
    uint64_t *word = order_word(layout, order, set);
    *way = WAY_EMPTY;
    if (order == ORDER_DIGITS) {
        uint64_t nearer = (UINT64_C(1) << digit_place(*word, position)) - 1;
        uint64_t before_last = (UINT64_C(1) << layout->last_digit) - 1;
        *word = (*word & nearer) | (*word >> 4 & ~nearer & before_last) |
                (uint64_t)position << layout->last_digit;
    } else if (order == ORDER_BYTES) {
        uint8_t *list = set + layout->hash_bytes;
        uint32_t place = byte_place(list, position);
        memmove(list + place, list + place + 1, layout->ways - 1 - place);
        list[layout->ways - 1] = (uint8_t)position;
    }
    return entry;
}

/* The way that is next to be filled; it becomes the one used last. */
static inline uint32_t set_take(const struct set_layout *layout, enum set_order order, lull_set set)
{
    const lull_way *entries = set_ways(layout, order, set);
    uint64_t *word = order_word(layout, order, set);
    uint32_t ways = layout->ways;
    if (order == ORDER_DIGITS) {
        uint32_t position = *word >> layout->last_digit & 15;
        *word = *word << 4 | position;
        return position;
    }
    if (order == ORDER_BYTES) {
        bytes_to_front(set + layout->hash_bytes, ways - 1);
        return set[layout->hash_bytes];
    }
    uint32_t position = 0, node = 1;
    while (position < ways && entries[position] != WAY_EMPTY)
        position++;
    while (position == ways && node < ways)
        node = node << 1 | (*word >> node & 1);
    position = position == ways ? node - ways : position;
    tree_point_away(word, ways, position);
    return position;
}

/* ==== the caches of a machine ================================================================= */

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

/* ==== the caches ============================================================================== */

enum {
    HOST_LINE = 64,
    AHEAD = 8,
    MOST_LINES = 1 << 26 /* of a level: 4 GiB of cache, for whose simulation 0.6 GiB are taken */
};

/* What is compiled for several kinds of caches, for each of which it is a constant. */
struct known {
    bool simple; /* as in struct lull_cache */
    size_t n_levels;
};

#define ALWAYS_INLINE       inline __attribute__((always_inline))
#define UNLIKELY(condition) __builtin_expect(condition, 0)

struct level {
    struct lull_cache_level spec;
    struct set_layout layout;
    uint64_t sets;
    uint64_t mask;       /* sets - 1 where that is a power of 2, else 0 */
    uint64_t reciprocal; /* (2^64 - 1) / sets, rounded down */
    uint8_t *memory;     /* instance by instance, set by set */
    uint32_t instances;
    struct lull_cache_traffic traffic; /* `accesses` are added up when asked for */
};

struct lull_cache {
    struct level levels[LULL_CACHE_LEVELS];
    size_t n_levels;
    uint32_t cores;
    unsigned shift; /* from an access to its line */
    bool simple;    /* one core, and digits as the order of use in all levels */
};

static bool is_power_of_2(uint64_t number)
{
    return number && !(number & (number - 1));
}

static inline lull_set set_at(const struct level *level, uint64_t number)
{
    return level->memory + number * level->layout.set_bytes;
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

static inline lull_set find_set(const struct level *level, uint32_t core, uint64_t line,
                                bool simple)
{
    uint64_t number = set_number(level, line);
    if (!simple && level->instances > 1)
        number += core / level->spec.sharers * level->sets;
    return set_at(level, number);
}

static inline enum set_order order_of(const struct level *level, bool simple)
{
    return simple ? ORDER_DIGITS : level->layout.order;
}

/* ---- lines between levels -------------------------------------------------------------------- */

static inline bool takes_victims(const struct level *level)
{
    return level->spec.filling >= LULL_CACHE_VICTIM;
}

/* Removes a line from all levels nearer than `number` below its instance. Returns whether one of
 * them was dirty. */
static ALWAYS_INLINE bool remove_nearer(struct lull_cache *cache, uint32_t core,
                                        const struct level *from, uint64_t line, uint8_t hash,
                                        bool simple)
{
    uint32_t sharers = from->spec.sharers, first = 0, end = 1;
    bool dirty = false;
    if (!simple && cache->cores > 1) {
        first = core / sharers * sharers;
        end = first + sharers < cache->cores ? first + sharers : cache->cores;
    }
    for (struct level *level = cache->levels; level < from; level++) {
        enum set_order order = order_of(level, simple);
        for (uint32_t c = first; c < end; c += simple ? 1 : level->spec.sharers) {
            lull_set set = find_set(level, c, line, simple);
            uint32_t position = set_find(&level->layout, order, set, line, hash);
            if (UNLIKELY(position < level->layout.ways))
                dirty |= set_remove(&level->layout, order, set, position) & WAY_DIRTY;
        }
        level->traffic.writes += dirty;
    }
    return dirty;
}

struct leaving {
    uint64_t line;
    uint8_t hash;
    bool dirty;
};

static void give_on(struct lull_cache *cache, uint32_t core, size_t number, struct leaving leaving);

/* A line leaves a level. Most often the next level still has it in the way that was noted when the
 * line came, and it is marked there. That is done even for a line that is not dirty: a branch on it
 * could not be predicted by the processor. */
static ALWAYS_INLINE void leave(struct lull_cache *cache, uint32_t core, size_t number,
                                lull_way way, uint8_t hash, struct known known)
{
    struct level *level = &cache->levels[number], *next = level + 1;
    struct leaving leaving = {way >> WAY_SHIFT, hash, way & WAY_DIRTY};
    if (level->spec.filling == LULL_CACHE_INCLUSIVE && (!known.simple || way & WAY_NEARER))
        leaving.dirty |= remove_nearer(cache, core, level, leaving.line, hash, known.simple);
    level->traffic.writes += leaving.dirty;
    if (number + 1 == known.n_levels)
        return;
    lull_set set = find_set(next, core, leaving.line, known.simple);
    lull_way *ways = set_ways(&next->layout, order_of(next, known.simple), set);
    lull_way *there = &ways[way_beyond(way)], before = *there;
    if (way_holds(before, leaving.line))
        *there = (before & (way | ~(lull_way)WAY_NEARER)) | leaving.dirty;
    else if (leaving.dirty || takes_victims(next))
        give_on(cache, core, number, leaving);
}

/* Puts a line into its set of a level; returns its way. */
static ALWAYS_INLINE uint32_t insert(struct lull_cache *cache, uint32_t core, size_t number,
                                     lull_set set, lull_way way, uint8_t hash, struct known known)
{
    struct level *level = &cache->levels[number];
    enum set_order order = order_of(level, known.simple);
    uint32_t position = set_take(&level->layout, order, set);
    lull_way *place = &set_ways(&level->layout, order, set)[position], old = *place;
    uint8_t old_hash = set[position];
    *place = way;
    set[position] = hash;
    if (old != WAY_EMPTY)
        leave(cache, core, number, old, old_hash, known);
    return position;
}

/* Gives a line to the next level where that has it in another way, or not at all. */
static void give_on(struct lull_cache *cache, uint32_t core, size_t number, struct leaving leaving)
{
    struct level *next = &cache->levels[number + 1];
    enum set_order order = next->layout.order;
    lull_set set = find_set(next, core, leaving.line, false);
    uint32_t position = set_find(&next->layout, order, set, leaving.line, leaving.hash);
    if (position < next->layout.ways) {
        set_ways(&next->layout, order, set)[position] |= leaving.dirty;
        return;
    }
    cache->levels[number].traffic.victims += !leaving.dirty;
    lull_way way = way_of(leaving.line, 0, WAY_NEARER | (lull_way)leaving.dirty);
    insert(cache, core, number + 1, set, way, leaving.hash,
           (struct known){.n_levels = cache->n_levels});
}

/* A line on its way to the first level, which has not got it. */
struct fetch {
    uint64_t line;
    uint8_t hash;
    lull_way dirty;    /* WAY_DIRTY where it was so in the level that it leaves */
    uint32_t position; /* its way in the level beyond the one that keeps it next; 0: unknown */
    lull_set sets[LULL_CACHE_LEVELS];
};

/* Whether a level has the line. */
static ALWAYS_INLINE bool find_in_level(struct lull_cache *cache, uint32_t core, size_t number,
                                        struct fetch *fetch, struct known known)
{
    struct level *level = &cache->levels[number];
    enum set_order order = order_of(level, known.simple);
    lull_set set = find_set(level, core, fetch->line, known.simple);
    uint32_t position = set_find(&level->layout, order, set, fetch->line, fetch->hash);
    fetch->sets[number] = set;
    if (position == level->layout.ways) {
        level->traffic.misses++;
        return false;
    }
    level->traffic.hits++;
    fetch->position = position;
    if (level->spec.filling == LULL_CACHE_EXCLUSIVE) {
        fetch->dirty = set_remove(&level->layout, order, set, position) & WAY_DIRTY;
    } else {
        set_use(&level->layout, order, set, position);
        set_ways(&level->layout, order, set)[position] |= WAY_NEARER;
    }
    return true;
}

/* A level keeps the line that passes, unless it takes only what leaves the level before it. */
static ALWAYS_INLINE void keep_in_level(struct lull_cache *cache, uint32_t core, size_t number,
                                        struct fetch *fetch, struct known known)
{
    if (takes_victims(&cache->levels[number])) {
        fetch->position = 0;
        return;
    }
    lull_way way = way_of(fetch->line, fetch->position, WAY_NEARER | fetch->dirty);
    fetch->position = insert(cache, core, number, fetch->sets[number], way, fetch->hash, known);
    fetch->dirty = 0;
}

/* Levels are spelt out, as they are constants then: a fifth fewer instructions. */
static ALWAYS_INLINE void miss_first(struct lull_cache *cache, uint32_t core, lull_set set,
                                     uint64_t line, uint8_t hash, bool write, struct known known)
{
    static_assert(LULL_CACHE_LEVELS == 4, "");
    struct fetch fetch = {.line = line, .hash = hash};
    cache->levels[0].traffic.misses++;
    bool beyond_1 = known.n_levels > 1 && !find_in_level(cache, core, 1, &fetch, known);
    bool beyond_2 = beyond_1 && known.n_levels > 2 && !find_in_level(cache, core, 2, &fetch, known);
    bool beyond_3 = beyond_2 && known.n_levels > 3 && !find_in_level(cache, core, 3, &fetch, known);
    if (beyond_3)
        keep_in_level(cache, core, 3, &fetch, known);
    if (beyond_2)
        keep_in_level(cache, core, 2, &fetch, known);
    if (beyond_1)
        keep_in_level(cache, core, 1, &fetch, known);
    insert(cache, core, 0, set, way_of(line, fetch.position, fetch.dirty | write), hash, known);
}

/* ---- the interface --------------------------------------------------------------------------- */

/* In the level behind it, the place of the line that will leave a level if nothing comes between.
 * gcc drops calls of functions that do nothing but this, unless they are always inlined. */
static ALWAYS_INLINE void expect_leaving(const struct lull_cache *cache, uint32_t core,
                                         size_t number, uint64_t line, struct known known)
{
    const struct level *level = &cache->levels[number], *next = level + 1;
    enum set_order order = ORDER_DIGITS;
    lull_set set = find_set(level, core, line, known.simple);
    uint32_t last = *order_word(&level->layout, order, set) >> level->layout.last_digit & 15;
    lull_way way = set_ways(&level->layout, order, set)[last];
    lull_set beyond = find_set(next, core, way >> WAY_SHIFT, known.simple);
    __builtin_prefetch(&set_ways(&next->layout, order, beyond)[way_beyond(way)], 1);
}

/* What a miss in the first level will touch of the last one, which has most of the memory. */
static ALWAYS_INLINE void expect(const struct lull_cache *cache, uint32_t core, uint64_t line,
                                 struct known known)
{
    const struct level *level = &cache->levels[known.n_levels - 1];
    lull_set set = find_set(level, core, line, known.simple);
    __builtin_prefetch(set, 1);
    __builtin_prefetch(set + HOST_LINE, 1);
    __builtin_prefetch(set + 2 * HOST_LINE, 1);
    if (known.simple && known.n_levels > 1)
        expect_leaving(cache, core, known.n_levels - 2, line, known);
}

static ALWAYS_INLINE void run(struct lull_cache *cache, uint32_t core,
                              const lull_cache_access *accesses, size_t count, struct known known)
{
    struct level *level = &cache->levels[0];
    enum set_order order = order_of(level, known.simple);
    uint64_t before = level->traffic.misses;
    for (size_t i = 0; i < count; i++) {
        uint64_t line = accesses[i] >> cache->shift;
        bool write = accesses[i] & 1;
        lull_set set = find_set(level, core, line, known.simple);
        lull_way *recent = set_recent(&level->layout, order, set, line);
        if (recent) {
            *recent |= write;
            continue;
        }
        uint8_t hash = line_hash(line);
        uint32_t position = set_find(&level->layout, order, set, line, hash);
        if (position == level->layout.ways) {
            if (i + AHEAD < count)
                expect(cache, core, accesses[i + AHEAD] >> cache->shift, known);
            miss_first(cache, core, set, line, hash, write, known);
            continue;
        }
        set_ways(&level->layout, order, set)[position] |= write;
        set_use(&level->layout, order, set, position);
    }
    level->traffic.hits += count - (level->traffic.misses - before);
}

void lull_cache_run(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                    size_t count)
{
    if (cache->simple && cache->n_levels == 3)
        run(cache, core, accesses, count, (struct known){.simple = true, .n_levels = 3});
    else if (cache->simple && cache->n_levels == 2)
        run(cache, core, accesses, count, (struct known){.simple = true, .n_levels = 2});
    else
        run(cache, core, accesses, count, (struct known){.n_levels = cache->n_levels});
}

void lull_cache_repeat(struct lull_cache *cache, uint32_t core, const lull_cache_access *accesses,
                       size_t count, uint64_t times)
{
    struct lull_cache_traffic *first = &cache->levels[0].traffic;
    for (uint64_t left = times; left > 0;) {
        uint64_t before = first->misses;
        lull_cache_run(cache, core, accesses, count);
        left--;
        if (first->misses == before) {
            first->hits += left * count;
            return;
        }
    }
}

struct lull_cache_traffic lull_cache_traffic(const struct lull_cache *cache, size_t level)
{
    struct lull_cache_traffic traffic = cache->levels[level].traffic;
    traffic.accesses = traffic.hits + traffic.misses;
    return traffic;
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
        enum set_order order = level->layout.order;
        lull_set set = find_set(level, core, line, false);
        uint32_t position = set_find(&level->layout, order, set, line, line_hash(line));
        if (position < level->spec.ways)
            set_ways(&level->layout, order, set)[position] &= ~(lull_way)WAY_DIRTY;
        level->traffic.writes++;
    }
}

static void clear_level(struct level *level)
{
    for (uint64_t i = 0; i < level->sets * level->instances; i++)
        set_clear(&level->layout, set_at(level, i));
}

static void flush_set(struct lull_cache *cache, size_t number, uint64_t place)
{
    const struct level *level = &cache->levels[number];
    const lull_way *ways = set_ways(&level->layout, level->layout.order, set_at(level, place));
    uint32_t core = (uint32_t)(place / level->sets) * level->spec.sharers;
    for (uint32_t i = 0; i < level->spec.ways; i++)
        if (ways[i] != WAY_EMPTY && ways[i] & WAY_DIRTY)
            write_through(cache, number, core, ways[i] >> WAY_SHIFT);
}

void lull_cache_flush(struct lull_cache *cache)
{
    for (size_t n = 0; n < cache->n_levels; n++)
        for (uint64_t i = 0; i < cache->levels[n].sets * cache->levels[n].instances; i++)
            flush_set(cache, n, i);
    for (size_t n = 0; n < cache->n_levels; n++)
        clear_level(&cache->levels[n]);
}

/* ---- creation -------------------------------------------------------------------------------- */

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
    level->layout = set_layout(level->spec.ways, level->spec.policy);
    level->instances = (spec->cores + level->spec.sharers - 1) / level->spec.sharers;
    uint64_t sets = level->sets * level->instances;
    if (sets / level->instances != level->sets || sets > MOST_LINES / level->spec.ways)
        return false;
    level->memory = aligned_alloc(HOST_LINE, (sets * level->layout.set_bytes + HOST_LINE - 1) /
                                                 HOST_LINE * HOST_LINE);
    if (!level->memory)
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
        cache->simple = spec->cores == 1;
        for (size_t n = 0; n < spec->n_levels; n++) {
            cache->levels[n].spec = spec->levels[n];
            enough = enough && allocate_level(&cache->levels[n], spec);
            cache->simple &= cache->levels[n].layout.order == ORDER_DIGITS;
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
    for (size_t n = 0; cache && n < cache->n_levels; n++)
        free(cache->levels[n].memory);
    free(cache);
}
