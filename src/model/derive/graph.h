/* Which processes send messages to which: links found in runs, and the shape that explains them. */
#ifndef LULL_MODEL_DERIVE_GRAPH_H
#define LULL_MODEL_DERIVE_GRAPH_H

#include "model/program/closed_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LULL_SHAPE_DIMENSIONS = 3 };

struct lull_link {
    uint32_t source, target; /* ranks, different ones */
    uint64_t messages, bytes;
};

/* All links of a run, each pair of ranks at most once. */
struct lull_links {
    uint32_t processes;
    const struct lull_link *items;
    size_t count;
    bool in_pairs; /* ranks send their messages two by two to the same target */
};

enum lull_shape_kind {
    LULL_SHAPE_NONE,  /* no messages at all */
    LULL_SHAPE_GRID,  /* chain, ring, grid: neighbours in each dimension */
    LULL_SHAPE_ALL,   /* everyone to everyone */
    LULL_SHAPE_SHIFT, /* each to the next rank, the last to the first */
    LULL_SHAPE_TREE,
    LULL_SHAPE_IRREGULAR
};

struct lull_graph_shape {
    enum lull_shape_kind kind;
    unsigned dimensions;
    bool periodic;
    bool is_ambiguous; /* the other boundary, or another tree, explains the runs as well */
    enum lull_tree tree;
    enum lull_tree_direction direction; /* of its messages: DOWN from the root */
};

/* How a run fits a shape. */
struct lull_fitted_graph {
    uint32_t extents[LULL_SHAPE_DIMENSIONS]; /* neighbours along the first have successive ranks */
    double messages;                         /* of each link; GRID: to one neighbour */
    double bytes[LULL_SHAPE_DIMENSIONS];     /* of a message along that dimension, on average;
                                                TREE: down, up */
};

/* "chain", "ring", "2-D grid, open", "everyone to everyone", "binomial tree, down", "star,
 * up", "irregular" */
const char *lull_shape_name(const struct lull_graph_shape *shape);

/* The simplest shape that explains all runs: every link of it is there and no other, each with as
 * many messages. Of several that do, one with the same number of messages in all runs is taken,
 * then the one with fewest dimensions, then an open one; where all extents are 2, which does not
 * tell boundaries apart, a periodic one if messages come in pairs. ret_fitted[count]. */
struct lull_graph_shape lull_shape_find(const struct lull_links *runs, size_t count,
                                        struct lull_fitted_graph *ret_fitted);

#endif
