#include "support/slow_cache.h"

#include "support/test.h"

#include <stdlib.h>

void slow_cache_open(struct slow_cache *slow, const struct lull_cache_spec *spec)
{
    *slow = (struct slow_cache){.spec = *spec};
    for (size_t n = 0; n < spec->n_levels; n++) {
        slow->n_sets[n] = spec->levels[n].bytes / (spec->line_bytes * spec->levels[n].ways);
        slow->sets[n] = calloc(slow->n_sets[n] * spec->cores, sizeof *slow->sets[n]);
        assert_non_null(slow->sets[n]);
    }
}

void slow_cache_close(struct slow_cache *slow)
{
    for (size_t n = 0; n < slow->spec.n_levels; n++)
        free(slow->sets[n]);
}

static struct slow_set *slow_set(struct slow_cache *slow, size_t n, uint32_t core, uint64_t line)
{
    uint32_t instance = core / slow->spec.levels[n].sharers;
    return &slow->sets[n][instance * slow->n_sets[n] + line % slow->n_sets[n]];
}

static struct slow_line *slow_find(struct slow_cache *slow, size_t n, uint32_t core, uint64_t line)
{
    struct slow_set *set = slow_set(slow, n, core, line);
    for (uint32_t w = 0; w < slow->spec.levels[n].ways; w++)
        if (set->lines[w].valid && set->lines[w].number == line)
            return &set->lines[w];
    return NULL;
}

/* Marks the half without `way` as the older one, from the whole set down. `node` counts nodes
 * before their halves: a node's left half follows it, its right half follows the left half's. */
static void slow_mark(struct slow_set *set, uint32_t first, uint32_t count, uint32_t node,
                      uint32_t way)
{
    if (count == 1)
        return;
    uint32_t half = count / 2;
    bool left = way < first + half;
    set->right_is_older[node] = left;
    slow_mark(set, left ? first : first + half, half, left ? node + 1 : node + half, way);
}

static uint32_t slow_oldest_by_tree(const struct slow_set *set, uint32_t first, uint32_t count,
                                    uint32_t node)
{
    if (count == 1)
        return first;
    uint32_t half = count / 2;
    return set->right_is_older[node] ? slow_oldest_by_tree(set, first + half, half, node + half)
                                     : slow_oldest_by_tree(set, first, half, node + 1);
}

static void slow_use(struct slow_cache *slow, size_t n, struct slow_set *set,
                     struct slow_line *line)
{
    line->used = ++slow->now;
    slow_mark(set, 0, slow->spec.levels[n].ways, 0, (uint32_t)(line - set->lines));
}

/* Where a new line goes: the first free place, or that of the line that leaves. */
static struct slow_line *slow_place(struct slow_cache *slow, size_t n, struct slow_set *set)
{
    uint32_t ways = slow->spec.levels[n].ways, oldest = 0;
    for (uint32_t w = 0; w < ways; w++)
        if (!set->lines[w].valid)
            return &set->lines[w];
    for (uint32_t w = 1; w < ways; w++)
        if (set->lines[w].used < set->lines[oldest].used)
            oldest = w;
    if (slow->spec.levels[n].policy == LULL_CACHE_PLRU)
        oldest = slow_oldest_by_tree(set, 0, ways, 0);
    return &set->lines[oldest];
}

static bool slow_takes_victims(const struct slow_cache *slow, size_t n)
{
    return slow->spec.levels[n].filling == LULL_CACHE_VICTIM ||
           slow->spec.levels[n].filling == LULL_CACHE_EXCLUSIVE;
}

/* What an inclusive level loses leaves the nearer levels of the cores below it. */
static bool slow_purge(struct slow_cache *slow, size_t n, uint32_t core, uint64_t number)
{
    bool dirty = false;
    uint32_t sharers = slow->spec.levels[n].sharers;
    for (size_t nearer = 0; nearer < n; nearer++) {
        for (uint32_t c = 0; c < slow->spec.cores; c++) {
            struct slow_line *line =
                c / sharers == core / sharers ? slow_find(slow, nearer, c, number) : NULL;
            if (line) {
                dirty = dirty || line->dirty;
                line->valid = false;
            }
        }
        if (dirty)
            slow->traffic[nearer].writes++;
    }
    return dirty;
}

/* Puts a line into a level, and what it displaces into the next one, and so on. */
static void slow_insert(struct slow_cache *slow, size_t n, uint32_t core, uint64_t number,
                        bool dirty)
{
    for (;;) {
        struct slow_set *set = slow_set(slow, n, core, number);
        struct slow_line *place = slow_place(slow, n, set), old = *place;
        *place = (struct slow_line){.valid = true, .dirty = dirty, .number = number};
        slow_use(slow, n, set, place);
        if (!old.valid)
            return;
        if (slow->spec.levels[n].filling == LULL_CACHE_INCLUSIVE &&
            slow_purge(slow, n, core, old.number))
            old.dirty = true;
        bool last = n + 1 == slow->spec.n_levels;
        if (last || !(old.dirty || slow_takes_victims(slow, n + 1))) {
            slow->traffic[n].writes += old.dirty;
            return;
        }
        struct slow_line *there = slow_find(slow, n + 1, core, old.number);
        if (old.dirty)
            slow->traffic[n].writes++;
        else if (!there)
            slow->traffic[n].victims++;
        if (there) {
            there->dirty = there->dirty || old.dirty;
            return;
        }
        number = old.number;
        dirty = old.dirty;
        n++;
    }
}

void slow_cache_access(struct slow_cache *slow, uint32_t core, uint64_t address, bool write)
{
    uint64_t number = address / slow->spec.line_bytes;
    size_t found = 0;
    bool dirty = false;
    for (; found < slow->spec.n_levels; found++) {
        struct slow_line *line = slow_find(slow, found, core, number);
        slow->traffic[found].accesses++;
        if (!line) {
            slow->traffic[found].misses++;
            continue;
        }
        slow->traffic[found].hits++;
        if (slow->spec.levels[found].filling == LULL_CACHE_EXCLUSIVE) {
            dirty = line->dirty;
            line->valid = false;
        } else {
            slow_use(slow, found, slow_set(slow, found, core, number), line);
        }
        break;
    }
    while (found-- > 0)
        if (!slow_takes_victims(slow, found)) {
            slow_insert(slow, found, core, number, dirty);
            dirty = false;
        }
    if (write)
        slow_find(slow, 0, core, number)->dirty = true;
}
