/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/derive/graph.h"

#include "model/program/primitives.h"

#include <math.h>
#include <string.h>

/* ---- one run in one shape ------------------------------------------------------------------- */

struct matching {
    const struct lull_links *run;
    bool periodic;
    uint32_t extents[LULL_SHAPE_DIMENSIONS];
};

/* The dimension along which a link leads to a neighbour; LULL_SHAPE_DIMENSIONS: it leads to
 * none. */
static unsigned dimension_of(const struct matching *matching, const struct lull_link *link)
{
    unsigned found = LULL_SHAPE_DIMENSIONS;
    uint32_t source = link->source, target = link->target;
    for (unsigned d = 0; d < LULL_SHAPE_DIMENSIONS; d++) {
        uint32_t extent = matching->extents[d];
        uint32_t from = source % extent, to = target % extent;
        source /= extent;
        target /= extent;
        if (from == to)
            continue;
        uint32_t apart = from > to ? from - to : to - from;
        bool is_near = apart == 1 || (matching->periodic && apart == extent - 1);
        if (!is_near || found != LULL_SHAPE_DIMENSIONS)
            return LULL_SHAPE_DIMENSIONS;
        found = d;
    }
    return found;
}

/* How many links along a dimension a grid of these extents has. */
static size_t expected_links(const struct matching *matching, unsigned d)
{
    uint32_t extent = matching->extents[d], lines = matching->run->processes / extent;
    if (extent == 1)
        return 0;
    return 2 * (size_t)lines * (matching->periodic && extent > 2 ? extent : extent - 1);
}

/* The share of a link's messages that go in one direction: on a ring of two both neighbours are the
 * same process. */
static double share_of_direction(const struct matching *matching, unsigned d)
{
    return matching->periodic && matching->extents[d] == 2 ? 0.5 : 1;
}

static bool matches(const struct matching *matching, struct lull_fitted_graph *ret_fitted)
{
    const struct lull_links *run = matching->run;
    size_t links[LULL_SHAPE_DIMENSIONS] = {0};
    double messages[LULL_SHAPE_DIMENSIONS] = {0}, bytes[LULL_SHAPE_DIMENSIONS] = {0};
    double each = 0;
    for (size_t i = 0; i < run->count; i++) {
        unsigned d = dimension_of(matching, &run->items[i]);
        if (d == LULL_SHAPE_DIMENSIONS)
            return false;
        double number = (double)run->items[i].messages * share_of_direction(matching, d);
        if ((each > 0 && number != each) || number != floor(number))
            return false;
        each = number;
        links[d]++;
        messages[d] += (double)run->items[i].messages;
        bytes[d] += (double)run->items[i].bytes;
    }
    for (unsigned d = 0; d < LULL_SHAPE_DIMENSIONS; d++) {
        if (links[d] != expected_links(matching, d))
            return false;
        ret_fitted->bytes[d] = messages[d] > 0 ? bytes[d] / messages[d] : 0;
        ret_fitted->extents[d] = matching->extents[d];
    }
    ret_fitted->messages = each;
    return true;
}

/* Tries all ways to write the number of processes as a product: first the squarest one, in both
 * orders. */
static bool match_any(const struct lull_links *run, unsigned dimensions, bool periodic,
                      struct lull_fitted_graph *ret_fitted)
{
    uint32_t processes = run->processes, square[LULL_SHAPE_DIMENSIONS] = {1, 1, 1};
    struct matching matching = {.run = run, .periodic = periodic};
    lull_grid_divide(processes, dimensions, square);
    memcpy(matching.extents, square, sizeof square);
    if (matches(&matching, ret_fitted))
        return true;
    for (unsigned d = 0; d < dimensions; d++)
        matching.extents[d] = square[dimensions - 1 - d];
    if (matches(&matching, ret_fitted))
        return true;
    for (uint32_t a = 1; a <= processes && dimensions > 1; a++) {
        uint32_t rest = processes / a;
        if (processes % a != 0)
            continue;
        for (uint32_t b = dimensions == 2 ? rest : 1; b <= rest; b++) {
            if (rest % b != 0)
                continue;
            matching.extents[0] = a;
            matching.extents[1] = b;
            matching.extents[2] = rest / b;
            if (matches(&matching, ret_fitted))
                return true;
        }
    }
    return false;
}

static bool is_all_to_all(const struct lull_links *run, struct lull_fitted_graph *ret_fitted)
{
    size_t pairs = (size_t)run->processes * (run->processes - 1);
    uint64_t messages = 0, bytes = 0;
    if (run->processes < 2 || run->count != pairs)
        return run->processes == 1 && run->count == 0;
    for (size_t i = 0; i < run->count; i++) {
        if (run->items[i].messages != run->items[0].messages)
            return false;
        messages += run->items[i].messages;
        bytes += run->items[i].bytes;
    }
    *ret_fitted = (struct lull_fitted_graph){.extents = {run->processes, 1, 1},
                                             .messages = (double)run->items[0].messages,
                                             .bytes = {(double)bytes / (double)messages}};
    return true;
}

/* Whether each rank sends to the next one only, and the last to the first. */
static bool is_shift(const struct lull_links *run, struct lull_fitted_graph *ret_fitted)
{
    uint64_t bytes = 0;
    if (run->processes < 2 || run->count != run->processes)
        return run->processes == 1 && run->count == 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct lull_link *link = &run->items[i];
        if (link->target != (link->source + 1) % run->processes ||
            link->messages != run->items[0].messages)
            return false;
        bytes += link->bytes;
    }
    double messages = (double)run->items[0].messages;
    *ret_fitted = (struct lull_fitted_graph){.extents = {run->processes, 1, 1},
                                             .messages = messages,
                                             .bytes = {(double)bytes / messages / run->processes}};
    return true;
}

static bool is_tree(const struct lull_links *run, const struct lull_graph_shape *shape,
                    struct lull_fitted_graph *ret_fitted)
{
    size_t edges = run->processes - 1, found[2] = {0}; /* links down, and up */
    double bytes[2] = {0};
    for (size_t i = 0; i < run->count; i++) {
        const struct lull_link *link = &run->items[i];
        bool up = link->target < link->source;
        uint32_t upper = up ? link->target : link->source;
        uint32_t lower = up ? link->source : link->target;
        if (lull_tree_parent(shape->tree, lower) != upper ||
            link->messages != run->items[0].messages)
            return false;
        found[up]++;
        bytes[up] += (double)link->bytes;
    }
    if (found[0] != (shape->direction == LULL_TREE_UP ? 0 : edges) ||
        found[1] != (shape->direction == LULL_TREE_DOWN ? 0 : edges))
        return false;
    if (edges == 0)
        return true;
    double messages = (double)run->items[0].messages;
    *ret_fitted = (struct lull_fitted_graph){
        .extents = {run->processes, 1, 1},
        .messages = messages,
        .bytes = {bytes[0] / messages / (double)edges, bytes[1] / messages / (double)edges}};
    return true;
}

/* ---- all runs ------------------------------------------------------------------------------- */

static bool match_run(const struct lull_links *run, const struct lull_graph_shape *shape,
                      struct lull_fitted_graph *ret_fitted)
{
    switch (shape->kind) {
    case LULL_SHAPE_ALL:
        return is_all_to_all(run, ret_fitted);
    case LULL_SHAPE_SHIFT:
        return is_shift(run, ret_fitted);
    case LULL_SHAPE_TREE:
        return is_tree(run, shape, ret_fitted);
    default:
        return match_any(run, shape->dimensions, shape->periodic, ret_fitted);
    }
}

/* Whether all runs fit a shape; *ret_alike: with the same number of messages to a neighbour in all.
 * A run of one process has no messages and fits every shape. */
static bool match_runs(const struct lull_links *runs, size_t count,
                       const struct lull_graph_shape *shape, struct lull_fitted_graph *fitted,
                       bool *ret_alike)
{
    double messages = 0;
    *ret_alike = true;
    for (size_t i = 0; i < count; i++) {
        fitted[i] = (struct lull_fitted_graph){.extents = {1, 1, 1}};
        if (!match_run(&runs[i], shape, &fitted[i]))
            return false;
        if (runs[i].processes == 1)
            continue;
        *ret_alike = *ret_alike && (messages == 0 || messages == fitted[i].messages);
        messages = fitted[i].messages;
    }
    return true;
}

/* Whether every extent is 1 or 2: then an open grid looks like a periodic one. */
static bool is_narrow(const struct lull_fitted_graph *fitted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned d = 0; d < LULL_SHAPE_DIMENSIONS; d++)
            if (fitted[i].extents[d] > 2)
                return false;
    return true;
}

static bool all_in_pairs(const struct lull_links *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i].count > 0 && !runs[i].in_pairs)
            return false;
    return true;
}

#define GRID(n, is_periodic)                                                  \
    {                                                                         \
        .kind = LULL_SHAPE_GRID, .dimensions = (n), .periodic = (is_periodic) \
    }
#define TREE(name, way)                                                                 \
    {                                                                                   \
        .kind = LULL_SHAPE_TREE, .tree = LULL_TREE_##name, .direction = LULL_TREE_##way \
    }
static const struct lull_graph_shape candidates[] = {
    GRID(1, false),
    GRID(1, true),
    GRID(2, false),
    GRID(2, true),
    GRID(3, false),
    GRID(3, true),
    {.kind = LULL_SHAPE_ALL, .dimensions = 1},
    {.kind = LULL_SHAPE_SHIFT, .dimensions = 1},
    TREE(CHAIN, DOWN),
    TREE(CHAIN, UP),
    TREE(CHAIN, BOTH),
    TREE(STAR, DOWN),
    TREE(STAR, UP),
    TREE(STAR, BOTH),
    TREE(BINARY, DOWN),
    TREE(BINARY, UP),
    TREE(BINARY, BOTH),
    TREE(BINOMIAL, DOWN),
    TREE(BINOMIAL, UP),
    TREE(BINOMIAL, BOTH),
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* Finds whether another tree explains the runs as well: with few processes a star looks like a
 * tree. */
static void settle_tree(const struct lull_links *runs, size_t count, struct lull_graph_shape *shape,
                        struct lull_fitted_graph *fitted)
{
    bool alike;
    for (size_t c = 0; shape->kind == LULL_SHAPE_TREE && c < CANDIDATES; c++)
        if (candidates[c].kind == LULL_SHAPE_TREE && candidates[c].tree != shape->tree)
            shape->is_ambiguous =
                shape->is_ambiguous || match_runs(runs, count, &candidates[c], fitted, &alike);
    match_runs(runs, count, shape, fitted, &alike);
}

static void settle_boundary(const struct lull_links *runs, size_t count,
                            struct lull_graph_shape *shape, struct lull_fitted_graph *fitted)
{
    struct lull_graph_shape other = *shape;
    bool alike;
    if (shape->kind != LULL_SHAPE_GRID || shape->periodic || !is_narrow(fitted, count))
        return;
    other.periodic = true;
    shape->is_ambiguous = match_runs(runs, count, &other, fitted, &alike);
    if (shape->is_ambiguous && all_in_pairs(runs, count) && shape->dimensions > 1)
        shape->periodic = true;
    match_runs(runs, count, shape, fitted, &alike);
}

struct lull_graph_shape lull_shape_find(const struct lull_links *runs, size_t count,
                                        struct lull_fitted_graph *ret_fitted)
{
    size_t links = 0;
    for (size_t i = 0; i < count; i++)
        links += runs[i].count;
    if (links == 0)
        return (struct lull_graph_shape){.kind = LULL_SHAPE_NONE};
    for (int must_be_alike = 1; must_be_alike >= 0; must_be_alike--)
        for (size_t c = 0; c < CANDIDATES; c++) {
            struct lull_graph_shape shape = candidates[c];
            bool alike;
            if (!match_runs(runs, count, &shape, ret_fitted, &alike) || (must_be_alike && !alike))
                continue;
            settle_boundary(runs, count, &shape, ret_fitted);
            settle_tree(runs, count, &shape, ret_fitted);
            return shape;
        }
    return (struct lull_graph_shape){.kind = LULL_SHAPE_IRREGULAR};
}

const char *lull_shape_name(const struct lull_graph_shape *shape)
{
    static const char *const grids[LULL_SHAPE_DIMENSIONS][2] = {
        {"chain", "ring"},
        {"2-D grid, open", "2-D grid, periodic"},
        {"3-D grid, open", "3-D grid, periodic"}};
    static const char *const trees[LULL_TREES][3] = {
        {"star, down", "star, up", "star, down and up"},
        {"binary tree, down", "binary tree, up", "binary tree, down and up"},
        {"binomial tree, down", "binomial tree, up", "binomial tree, down and up"},
        {"chain, up the ranks", "chain, down the ranks", "chain"}};
    switch (shape->kind) {
    case LULL_SHAPE_TREE:
        return trees[shape->tree][shape->direction];
    case LULL_SHAPE_SHIFT:
        return "ring, one way";
    case LULL_SHAPE_GRID:
        return grids[shape->dimensions - 1][shape->periodic];
    case LULL_SHAPE_ALL:
        return "everyone to everyone";
    case LULL_SHAPE_IRREGULAR:
        return "irregular";
    default:
        return "no messages";
    }
}

/* ---- several patterns ------------------------------------------------------------------------ */

static bool comes_first(const struct lull_link *a, const struct lull_link *b)
{
    return a->source != b->source ? a->source < b->source : a->target < b->target;
}

struct lull_links lull_links_join(const struct lull_links *lists, size_t count, uint32_t processes,
                                  struct lull_arena *arena)
{
    size_t all = 0, *at = lull_arena_zero(arena, count + 1, sizeof *at);
    for (size_t i = 0; i < count; i++)
        all += lists[i].count;
    struct lull_link *links = lull_arena_zero(arena, all + 1, sizeof *links), *end = links;
    for (;;) {
        size_t first = count;
        for (size_t i = 0; i < count; i++)
            if (at[i] < lists[i].count &&
                (first == count ||
                 comes_first(&lists[i].items[at[i]], &lists[first].items[at[first]])))
                first = i;
        if (first == count)
            break;
        const struct lull_link *link = &lists[first].items[at[first]++];
        if (end > links && !comes_first(end - 1, link)) {
            end[-1].messages += link->messages;
            end[-1].bytes += link->bytes;
        } else {
            *end++ = *link;
        }
    }
    return (struct lull_links){
        .processes = processes, .items = links, .count = (size_t)(end - links)};
}

/* The links of some tags in each run. */
static const struct lull_links *links_of_tags(const struct lull_links *runs, size_t count,
                                              const struct lull_tagged *tagged, uint32_t tags,
                                              struct lull_arena *arena)
{
    struct lull_links *links = lull_arena_zero(arena, count, sizeof *links);
    for (size_t r = 0; r < count; r++) {
        struct lull_links lists[LULL_SHAPE_TAGS];
        size_t n = 0;
        for (size_t t = 0; t < tagged->n_tags; t++)
            if (tags >> t & 1)
                lists[n++] = tagged->links[r * tagged->n_tags + t];
        links[r] = lull_links_join(lists, n, runs[r].processes, arena);
    }
    return links;
}

static uint64_t messages_of_tags(const struct lull_tagged *tagged, size_t n_runs, uint32_t tags)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n_runs * tagged->n_tags; i++)
        for (size_t l = 0; tags >> i % tagged->n_tags & 1 && l < tagged->links[i].count; l++)
            sum += tagged->links[i].items[l].messages;
    return sum;
}

static bool tags_have_shape(const struct lull_links *runs, size_t count,
                            const struct lull_tagged *tagged, uint32_t tags,
                            struct lull_fitted_graph *fitted)
{
    struct lull_arena *scratch = lull_arena_create(NULL);
    const struct lull_links *links = links_of_tags(runs, count, tagged, tags, scratch);
    const struct lull_graph_shape shape = lull_shape_find(links, count, fitted);
    lull_arena_destroy(scratch);
    return shape.kind != LULL_SHAPE_NONE && shape.kind != LULL_SHAPE_IRREGULAR;
}

/* Those of the tags `among` that have a shape together, with most messages; 0: none have. */
static uint32_t find_tags(const struct lull_links *runs, size_t count,
                          const struct lull_tagged *tagged, uint32_t among,
                          struct lull_fitted_graph *fitted)
{
    uint64_t most = 0;
    uint32_t found = 0;
    for (uint32_t tags = among; tags > 0; tags = (tags - 1) & among) {
        const uint64_t messages = messages_of_tags(tagged, count, tags);
        if (messages <= most || !tags_have_shape(runs, count, tagged, tags, fitted))
            continue;
        most = messages;
        found = tags;
    }
    return found;
}

static void make_pattern(const struct lull_links *links, size_t count, uint32_t tags,
                         struct lull_arena *arena, struct lull_pattern *ret_pattern)
{
    *ret_pattern =
        (struct lull_pattern){.fitted = lull_arena_zero(arena, count, sizeof *ret_pattern->fitted),
                              .links = links,
                              .tags = tags};
    ret_pattern->shape = lull_shape_find(links, count, ret_pattern->fitted);
}

size_t lull_patterns_find(const struct lull_links *runs, size_t count,
                          const struct lull_tagged *tagged, struct lull_arena *arena,
                          struct lull_pattern ret_patterns[LULL_SHAPE_TAGS])
{
    struct lull_fitted_graph *fitted = lull_arena_zero(arena, count, sizeof *fitted);
    uint32_t left = (1u << tagged->n_tags) - 1, tags;
    size_t n = 0;
    make_pattern(runs, count, 0, arena, &ret_patterns[0]);
    if (ret_patterns[0].shape.kind != LULL_SHAPE_IRREGULAR)
        return 1;
    while (left > 0 && (tags = find_tags(runs, count, tagged, left, fitted)) > 0) {
        make_pattern(links_of_tags(runs, count, tagged, tags, arena), count, tags, arena,
                     &ret_patterns[n++]);
        left &= ~tags;
    }
    if (n > 0 && left > 0)
        make_pattern(links_of_tags(runs, count, tagged, left, arena), count, left, arena,
                     &ret_patterns[n++]);
    return n > 0 ? n : 1;
}
