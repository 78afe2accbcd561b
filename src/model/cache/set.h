/* One set of a simulated cache: which way holds a line, and which line has to go. Internal to the
 * cache simulator.
 *
 * Ways keep their places. A set has a head, small enough for one cache line of the host in most
 * caches: one byte of each line's hash, so that few compares find a line or tell that it is not
 * there, and the order of use. Up to 16 ways this order is one word with a digit of four bits per
 * way, the way used last in the lowest one; of more ways it is a list of bytes; of PLRU it is the
 * bits of the tree. Empty ways are the last in the order. */
#ifndef LULL_MODEL_CACHE_SET_H
#define LULL_MODEL_CACHE_SET_H

#include "model/cache/cache.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { LULL_SET_GROUP = 16 }; /* ways that are compared at once */

/* A way holds the number of its line, and in the lowest bits what is known of it. */
typedef uint64_t lull_way;
#define LULL_WAY_EMPTY UINT64_MAX
enum {
    LULL_WAY_DIRTY = 1,
    LULL_WAY_NEARER = 2, /* it may be in a nearer level; where this is 0 it is in none */
    LULL_WAY_SHIFT = 6   /* 4 bits between: in which way of the next level it was then, if there */
};

static inline lull_way lull_way_of(uint64_t line, uint32_t beyond, lull_way known)
{
    return line << LULL_WAY_SHIFT | (beyond & 15) << 2 | known;
}

static inline bool lull_way_holds(lull_way way, uint64_t line)
{
    return way >> LULL_WAY_SHIFT == line;
}

static inline uint32_t lull_way_beyond(lull_way way)
{
    return way >> 2 & 15;
}

enum lull_set_order { LULL_ORDER_DIGITS, LULL_ORDER_BYTES, LULL_ORDER_TREE };

struct lull_set_layout {
    uint32_t ways;
    enum lull_set_order order;
    uint32_t hash_bytes; /* of a head: ways, rounded up to groups */
    uint32_t head_bytes; /* with the order behind the hashes */
    uint32_t set_bytes;  /* with the ways behind the head */
    uint32_t last_group; /* a bit for each way of the last group */
    unsigned last_digit; /* bits below that of the way used least recently; digits above it mean
                            nothing */
};

/* A set: its hashes [hash_bytes], the order behind them, and at head_bytes its ways [ways]. */
typedef uint8_t *lull_set;

static inline struct lull_set_layout lull_set_layout(uint32_t ways, enum lull_cache_policy policy)
{
    struct lull_set_layout layout = {.ways = ways};
    layout.hash_bytes = (ways + LULL_SET_GROUP - 1) / LULL_SET_GROUP * LULL_SET_GROUP;
    layout.order = policy == LULL_CACHE_PLRU ? LULL_ORDER_TREE
                   : ways <= LULL_SET_GROUP  ? LULL_ORDER_DIGITS
                                             : LULL_ORDER_BYTES;
    layout.head_bytes =
        layout.hash_bytes + (layout.order == LULL_ORDER_BYTES ? layout.hash_bytes : LULL_SET_GROUP);
    layout.set_bytes = layout.head_bytes + ways * (uint32_t)sizeof(lull_way);
    layout.last_group = UINT32_C(0xffff) >> (layout.hash_bytes - ways);
    layout.last_digit = 4 * (ways - 1);
    return layout;
}

/* The order is an argument beside the layout, which says it too: where it is a constant, the code
 * for other orders, and for more ways than one compare takes, is left out. */
static inline uint32_t lull_hash_bytes(const struct lull_set_layout *layout,
                                       enum lull_set_order order)
{
    return order == LULL_ORDER_DIGITS ? LULL_SET_GROUP : layout->hash_bytes;
}

static inline lull_way *lull_set_ways(const struct lull_set_layout *layout,
                                      enum lull_set_order order, lull_set set)
{
    uint32_t head = order == LULL_ORDER_DIGITS ? 2 * LULL_SET_GROUP : layout->head_bytes;
    return (lull_way *)(void *)(set + head);
}

static inline uint64_t *lull_set_word(const struct lull_set_layout *layout,
                                      enum lull_set_order order, lull_set set)
{
    return (uint64_t *)(void *)(set + lull_hash_bytes(layout, order));
}

static inline void lull_set_clear(const struct lull_set_layout *layout, lull_set set)
{
    lull_way *ways = lull_set_ways(layout, layout->order, set);
    memset(set, 0, layout->head_bytes);
    for (uint32_t i = 0; i < layout->ways; i++)
        ways[i] = LULL_WAY_EMPTY;
    if (layout->order == LULL_ORDER_BYTES)
        for (uint32_t i = 0; i < layout->ways; i++)
            set[layout->hash_bytes + i] = (uint8_t)i;
    else if (layout->order == LULL_ORDER_DIGITS)
        *lull_set_word(layout, layout->order, set) = UINT64_C(0xfedcba9876543210);
}

/* ---- which way holds a line ----------------------------------------------------------------- */

/* Lines of one set differ in high bits, which a multiplication carries into the byte (D. Knuth, The
 * Art of Computer Programming 3, 6.4: the golden ratio). */
static inline uint8_t lull_line_hash(uint64_t line)
{
    return (uint8_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

/* A bit for each of 16 bytes that is `hash`. */
static inline uint32_t lull_match_group(const uint8_t *hashes, uint8_t hash)
{
#if defined(__SSE2__)
    __m128i group = _mm_loadu_si128((const __m128i *)(const void *)hashes);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)hash)));
#else
    uint32_t matches = 0;
    for (unsigned i = 0; i < LULL_SET_GROUP; i++)
        matches |= (uint32_t)(hashes[i] == hash) << i;
    return matches;
#endif
}

/* The way of a line, or the number of ways. */
static inline uint32_t lull_set_find(const struct lull_set_layout *layout,
                                     enum lull_set_order order, lull_set set, uint64_t line,
                                     uint8_t hash)
{
    const lull_way *ways = lull_set_ways(layout, order, set);
    uint32_t first = 0;
    for (;; first += LULL_SET_GROUP) {
        uint32_t matches = lull_match_group(set + first, hash);
        bool last = first + LULL_SET_GROUP == lull_hash_bytes(layout, order);
        if (last)
            matches &= layout->last_group;
        for (; matches; matches &= matches - 1) {
            uint32_t position = first + (uint32_t)__builtin_ctz(matches);
            if (lull_way_holds(ways[position], line))
                return position;
        }
        if (last)
            return layout->ways;
    }
}

/* ---- the order of use ----------------------------------------------------------------------- */

/* Four times the place of a way among the digits of a word. Subtracting 1 from each digit borrows
 * first at the lowest one that is 0. */
static inline unsigned lull_digit_place(uint64_t word, uint32_t position)
{
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t other = word ^ ones * position;
    return (unsigned)__builtin_ctzll((other - ones) & ~other & ones << 3) - 3;
}

static inline void lull_bytes_to_front(uint8_t *order, uint32_t place)
{
    uint8_t position = order[place];
    memmove(order + 1, order, place);
    order[0] = position;
}

static inline uint32_t lull_byte_place(const uint8_t *order, uint32_t position)
{
    uint32_t place = 0;
    while (order[place] != position)
        place++;
    return place;
}

/* Node 1 is the root, node n has the children 2n and 2n + 1; a bit says which half is to go. */
static inline void lull_tree_point_away(uint64_t *bits, uint32_t ways, uint32_t position)
{
    for (uint32_t node = ways + position; node > 1; node >>= 1) {
        uint64_t bit = UINT64_C(1) << (node >> 1);
        *bits = node & 1 ? *bits & ~bit : *bits | bit;
    }
}

/* The line at `position` is used. */
static inline void lull_set_use(const struct lull_set_layout *layout, enum lull_set_order order,
                                lull_set set, uint32_t position)
{
    uint64_t *word = lull_set_word(layout, order, set);
    if (order == LULL_ORDER_DIGITS) {
        unsigned place = lull_digit_place(*word, position);
        uint64_t nearer = (UINT64_C(1) << place) - 1;
        *word = (*word & ~(nearer << 4 | 15)) | (*word & nearer) << 4 | position;
    } else if (order == LULL_ORDER_TREE) {
        lull_tree_point_away(word, layout->ways, position);
    } else {
        uint8_t *list = set + layout->hash_bytes;
        lull_bytes_to_front(list, lull_byte_place(list, position));
    }
}

/* Where a line is, if it is the one used last and that is quickly known; else NULL. */
static inline lull_way *lull_set_recent(const struct lull_set_layout *layout,
                                        enum lull_set_order order, lull_set set, uint64_t line)
{
    if (order != LULL_ORDER_DIGITS)
        return NULL;
    lull_way *recent = &lull_set_ways(layout, order, set)[*lull_set_word(layout, order, set) & 15];
    return lull_way_holds(*recent, line) ? recent : NULL;
}

/* Empties a way, which is the next one to be filled. Returns what it held. */
static inline lull_way lull_set_remove(const struct lull_set_layout *layout,
                                       enum lull_set_order order, lull_set set, uint32_t position)
{
    lull_way *way = &lull_set_ways(layout, order, set)[position], entry = *way;
    uint64_t *word = lull_set_word(layout, order, set);
    *way = LULL_WAY_EMPTY;
    if (order == LULL_ORDER_DIGITS) {
        uint64_t nearer = (UINT64_C(1) << lull_digit_place(*word, position)) - 1;
        uint64_t before_last = (UINT64_C(1) << layout->last_digit) - 1;
        *word = (*word & nearer) | (*word >> 4 & ~nearer & before_last) |
                (uint64_t)position << layout->last_digit;
    } else if (order == LULL_ORDER_BYTES) {
        uint8_t *list = set + layout->hash_bytes;
        uint32_t place = lull_byte_place(list, position);
        memmove(list + place, list + place + 1, layout->ways - 1 - place);
        list[layout->ways - 1] = (uint8_t)position;
    }
    return entry;
}

/* The way that is next to be filled; it becomes the one used last. */
static inline uint32_t lull_set_take(const struct lull_set_layout *layout,
                                     enum lull_set_order order, lull_set set)
{
    const lull_way *entries = lull_set_ways(layout, order, set);
    uint64_t *word = lull_set_word(layout, order, set);
    uint32_t ways = layout->ways;
    if (order == LULL_ORDER_DIGITS) {
        uint32_t position = *word >> layout->last_digit & 15;
        *word = *word << 4 | position;
        return position;
    }
    if (order == LULL_ORDER_BYTES) {
        lull_bytes_to_front(set + layout->hash_bytes, ways - 1);
        return set[layout->hash_bytes];
    }
    uint32_t position = 0, node = 1;
    while (position < ways && entries[position] != LULL_WAY_EMPTY)
        position++;
    while (position == ways && node < ways)
        node = node << 1 | (*word >> node & 1);
    position = position == ways ? node - ways : position;
    lull_tree_point_away(word, ways, position);
    return position;
}

#endif
