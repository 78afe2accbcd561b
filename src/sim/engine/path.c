/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/engine/path.h"

#include "base/array.h"
#include "base/sorted.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What the amount of a node is: a part; a hop; computation in a region (REGION + region); or, after
 * a compaction, the number of a joined node that stands for a chain. */
enum { HOP = LULL_PATH_PARTS, JOINED, REGION };
enum { FEWEST_NODES = 1 << 16 };

struct path_node {
    int64_t amount;
    uint32_t parent, what;
};

struct region_share {
    uint32_t region;
    int64_t ns;
};

struct joined {
    struct lull_path_sum sum;
    struct region_share *shares; /* by region, ascending */
    uint32_t n_shares;
    size_t room;
};

struct lull_path {
    uint32_t n_regions;
    uint32_t n_nodes, full;
    size_t room;
    struct path_node *nodes;
    struct joined *joined;
    size_t joined_room;
    uint32_t n_joined, joined_free; /* the free ones by `n_shares` of the struct */
    uint32_t **roots;
    size_t n_roots, roots_room;
    size_t n_asked; /* references that this compaction had to look at */
    uint8_t *marks; /* while compacting, of each node */
    int out_of_memory;
};

struct lull_path *lull_path_create(uint32_t n_regions)
{
    struct lull_path *path = calloc(1, sizeof *path);
    if (!path)
        return NULL;
    path->n_regions = n_regions;
    path->joined_free = UINT32_MAX;
    path->room = path->full = FEWEST_NODES;
    path->nodes = calloc(path->room, sizeof *path->nodes);
    if (!path->nodes) {
        free(path);
        return NULL;
    }
    path->n_nodes = 1;
    return path;
}

void lull_path_destroy(struct lull_path *path)
{
    if (!path)
        return;
    for (uint32_t i = 0; i < path->n_joined; i++)
        free(path->joined[i].shares);
    free(path->joined);
    free(path->nodes);
    free(path->roots);
    free(path->marks);
    free(path);
}

size_t lull_path_nodes(const struct lull_path *path)
{
    return path->n_nodes;
}

static uint32_t add_node(struct lull_path *path, uint32_t parent, uint32_t what, int64_t ns)
{
    if (path->n_nodes == UINT32_MAX ||
        !lull_array_reserve(&path->nodes, &path->room, path->n_nodes + (size_t)1,
                            sizeof *path->nodes)) {
        path->out_of_memory = 1;
        return parent;
    }
    path->nodes[path->n_nodes] = (struct path_node){ns, parent, what};
    return path->n_nodes++;
}

uint32_t lull_path_add(struct lull_path *path, uint32_t parent, enum lull_path_part part,
                       int64_t ns)
{
    return ns ? add_node(path, parent, part, ns) : parent;
}

uint32_t lull_path_hop(struct lull_path *path, uint32_t parent, int64_t ns)
{
    return add_node(path, parent, HOP, ns);
}

uint32_t lull_path_compute(struct lull_path *path, uint32_t parent, uint32_t region, int64_t ns)
{
    uint32_t what = region < path->n_regions ? REGION + region : LULL_PATH_COMPUTE;
    return ns ? add_node(path, parent, what, ns) : parent;
}

/* --- sums ---------------------------------------------------------------------------------- */

static void sum_node(const struct lull_path *path, const struct path_node *node,
                     struct lull_path_sum *sum, int64_t *regions)
{
    if (node->what == JOINED) {
        const struct joined *joined = &path->joined[node->amount];
        for (unsigned i = 0; i < LULL_PATH_PARTS; i++)
            sum->parts[i] += joined->sum.parts[i];
        sum->hops += joined->sum.hops;
        for (uint32_t i = 0; regions && i < joined->n_shares; i++)
            regions[joined->shares[i].region] += joined->shares[i].ns;
        return;
    }
    if (node->what == HOP)
        sum->hops++;
    if (node->what >= REGION && regions)
        regions[node->what - REGION] += node->amount;
    unsigned part = node->what;
    if (part >= LULL_PATH_PARTS)
        part = part == HOP ? LULL_PATH_LATENCY : LULL_PATH_COMPUTE;
    sum->parts[part] += node->amount;
}

void lull_path_total(const struct lull_path *path, uint32_t node, struct lull_path_sum *ret_sum,
                     int64_t *regions)
{
    *ret_sum = (struct lull_path_sum){0};
    for (; node; node = path->nodes[node].parent)
        sum_node(path, &path->nodes[node], ret_sum, regions);
}

/* --- compaction ---------------------------------------------------------------------------- */

/* marks: how many marked children a node has, up to 2, and whether a state refers to it */
enum { CHILDREN = 3, ROOT = 4, ALIVE = 8 };

int lull_path_is_full(const struct lull_path *path)
{
    return path->n_nodes >= path->full;
}

void lull_path_begin_compact(struct lull_path *path)
{
    path->n_roots = path->n_asked = 0;
    path->marks = calloc(path->n_nodes, 1);
    if (!path->marks)
        path->out_of_memory = 1;
}

void lull_path_root(struct lull_path *path, uint32_t *reference)
{
    path->n_asked++;
    if (*reference == 0 || path->out_of_memory)
        return;
    if (!lull_array_reserve(&path->roots, &path->roots_room, path->n_roots + 1,
                            sizeof *path->roots)) {
        path->out_of_memory = 1;
        return;
    }
    path->roots[path->n_roots++] = reference;
    uint32_t node = *reference;
    uint8_t *marks = path->marks;
    marks[node] |= ROOT;
    while (!(marks[node] & ALIVE)) {
        marks[node] |= ALIVE;
        node = path->nodes[node].parent;
        if ((marks[node] & CHILDREN) < 2)
            marks[node]++;
    }
}

static uint32_t new_joined(struct lull_path *path)
{
    if (path->joined_free != UINT32_MAX) {
        uint32_t id = path->joined_free;
        path->joined_free = path->joined[id].n_shares;
        path->joined[id].n_shares = 0;
        path->joined[id].sum = (struct lull_path_sum){0};
        return id;
    }
    if (!lull_array_reserve(&path->joined, &path->joined_room, path->n_joined + (size_t)1,
                            sizeof *path->joined)) {
        path->out_of_memory = 1;
        return UINT32_MAX;
    }
    path->joined[path->n_joined] = (struct joined){0};
    return path->n_joined++;
}

static void free_joined(struct lull_path *path, uint32_t id)
{
    path->joined[id].n_shares = path->joined_free;
    path->joined_free = id;
}

static void add_share(struct lull_path *path, struct joined *joined, uint32_t region, int64_t ns)
{
    const uint32_t low =
        (uint32_t)lull_sorted_first_u32(joined->shares, joined->n_shares, sizeof *joined->shares,
                                        offsetof(struct region_share, region), region);
    if (low < joined->n_shares && joined->shares[low].region == region) {
        joined->shares[low].ns += ns;
        return;
    }
    if (!lull_array_reserve(&joined->shares, &joined->room, joined->n_shares + (size_t)1,
                            sizeof *joined->shares)) {
        path->out_of_memory = 1;
        return;
    }
    memmove(&joined->shares[low + 1], &joined->shares[low],
            (joined->n_shares - low) * sizeof *joined->shares);
    joined->shares[low] = (struct region_share){region, ns};
    joined->n_shares++;
}

static void add_to_joined(struct lull_path *path, uint32_t id, const struct path_node *node)
{
    struct joined *joined = &path->joined[id];
    sum_node(path, node, &joined->sum, NULL);
    if (node->what >= REGION)
        add_share(path, joined, node->what - REGION, node->amount);
    if (node->what != JOINED)
        return;
    const struct joined *other = &path->joined[node->amount];
    for (uint32_t i = 0; i < other->n_shares; i++)
        add_share(path, joined, other->shares[i].region, other->shares[i].ns);
}

/* The amounts of `parent`, which only `child` hangs on, become part of `child`. */
static void join_nodes(struct lull_path *path, const struct path_node *parent,
                       struct path_node *child)
{
    child->parent = parent->parent;
    if (parent->what == child->what && child->what != JOINED && child->what != HOP) {
        child->amount += parent->amount;
        return;
    }
    uint32_t id = parent->what == JOINED ? (uint32_t)parent->amount : new_joined(path);
    if (path->out_of_memory)
        return;
    if (parent->what != JOINED)
        add_to_joined(path, id, parent);
    add_to_joined(path, id, child);
    if (child->what == JOINED)
        free_joined(path, (uint32_t)child->amount);
    child->what = JOINED;
    child->amount = id;
}

/* Parents come before their children, so one sweep is enough: `parent` of what was looked at is
 * its new number already. Chains are joined into their last node. */
static uint32_t sweep(struct lull_path *path, uint32_t *numbers)
{
    struct path_node *nodes = path->nodes;
    uint32_t n = 1;
    numbers[0] = 0;
    for (uint32_t i = 1; i < path->n_nodes; i++) {
        uint8_t mark = path->marks[i];
        if (!(mark & ALIVE)) {
            if (nodes[i].what == JOINED)
                free_joined(path, (uint32_t)nodes[i].amount);
            continue;
        }
        uint32_t parent = nodes[i].parent;
        bool joins =
            parent && !(path->marks[parent] & ROOT) && (path->marks[parent] & CHILDREN) == 1;
        /* A node that will be joined into its child waits at its old place. */
        if (joins)
            join_nodes(path, &nodes[parent], &nodes[i]);
        else
            nodes[i].parent = numbers[parent];
        if ((mark & ROOT) || (mark & CHILDREN) >= 2)
            numbers[i] = n++;
    }
    return n;
}

/* Twice as many as are left, and not before as many were added as references must be looked at. */
static uint32_t next_full(const struct lull_path *path, uint32_t n)
{
    size_t full = 2 * (size_t)n, least = n + path->n_asked;
    full = full < FEWEST_NODES ? FEWEST_NODES : full;
    full = full < least ? least : full;
    return full < UINT32_MAX ? (uint32_t)full : UINT32_MAX - 1;
}

lull_status lull_path_end_compact(struct lull_path *path, struct lull_error *err)
{
    uint32_t *numbers = malloc(path->n_nodes * sizeof *numbers);
    if (!numbers || path->out_of_memory) {
        free(numbers);
        return lull_fail(err, LULL_ERR_MEMORY, "longest path: not enough memory");
    }
    uint32_t n = sweep(path, numbers);
    for (uint32_t i = 1; i < path->n_nodes; i++)
        if ((path->marks[i] & ALIVE) &&
            ((path->marks[i] & ROOT) || (path->marks[i] & CHILDREN) >= 2))
            path->nodes[numbers[i]] = path->nodes[i]; /* never upwards */
    for (size_t i = 0; i < path->n_roots; i++)
        *path->roots[i] = numbers[*path->roots[i]];
    path->n_nodes = n;
    path->full = next_full(path, n);
    free(numbers);
    free(path->marks);
    path->marks = NULL;
    return path->out_of_memory ? lull_fail(err, LULL_ERR_MEMORY, "longest path: not enough memory")
                               : LULL_OK;
}
