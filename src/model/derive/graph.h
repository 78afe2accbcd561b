/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes send messages to which: links found in runs, and the shape that explains them. */
#ifndef LULL_MODEL_DERIVE_GRAPH_H
#define LULL_MODEL_DERIVE_GRAPH_H

#include "base/arena.h"
#include "model/program/closed_form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LULL_SHAPE_DIMENSIONS = 3,
    LULL_SHAPE_TAGS = 8 /* the most tags by which messages are told apart */
};

struct lull_link {
    uint32_t source, target; /* ranks, different ones */
    uint64_t messages, bytes;
};

/* All links of a run, each (source, target) at most once. */
struct lull_links {
    uint32_t processes;
    const struct lull_link *items;
    size_t count;
    bool in_pairs; /* ranks send their messages in twos: two in a row to the same target */
    uint64_t own;  /* messages of ranks to themselves, which are no links */
};

/* All links of several lists of one run, in the order of (source, target), as that of each list
 * must be. */
struct lull_links lull_links_join(const struct lull_links *lists, size_t count, uint32_t processes,
                                  struct lull_arena *arena);

/* The links of runs by the tags of their messages. */
struct lull_tagged {
    int32_t tags[LULL_SHAPE_TAGS]; /* ascending */
    size_t n_tags;                 /* 0: there are more, or the tags are not known */
    const struct lull_links
        *links; /* [n_runs * n_tags]: of tag t in run r at r * n_tags + t; sorted
                                       by source and target */
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
    unsigned dimensions; /* GRID */
    bool periodic;       /* GRID: the first and the last rank of a dimension are neighbours */
    bool is_ambiguous;   /* the other boundary, or another tree, explains the runs as well */
    enum lull_tree tree; /* TREE */
    enum lull_tree_direction direction; /* TREE: of the messages; DOWN is from the root */
};

/* How a run fits a shape. */
struct lull_fitted_graph {
    uint32_t extents[LULL_SHAPE_DIMENSIONS]; /* neighbours along the first have successive ranks */
    double messages;                         /* over each link; GRID: to one neighbour */
    double bytes[LULL_SHAPE_DIMENSIONS];     /* of a message on average, by dimension; TREE: [0]
                                                down, [1] up */
};

/* The shape for people: "chain", "ring", "2-D grid, open", "everyone to everyone", "binomial tree,
 * down", "star, up", "irregular". */
const char *lull_shape_name(const struct lull_graph_shape *shape);

/* The simplest shape that explains all `count` runs, and how each of them fits it, in
 * ret_fitted[count]. A shape explains a run where the run has all links of the shape and no others,
 * each with the same number of messages. Of several such shapes one that gives a link the same
 * number of messages in all runs is taken, then the one with fewest dimensions, then an open one.
 * Where no extent is above 2, links do not tell an open from a periodic grid; of two or more
 * dimensions the periodic one is then taken if messages come in pairs, because both neighbours of a
 * rank are the same rank there. */
struct lull_graph_shape lull_shape_find(const struct lull_links *runs, size_t count,
                                        struct lull_fitted_graph *ret_fitted);

/* Messages that have a shape of their own. */
struct lull_pattern {
    struct lull_graph_shape shape;
    struct lull_fitted_graph *fitted; /* [n_runs] */
    const struct lull_links *links;   /* [n_runs] */
    uint32_t tags; /* bit t for tag t of struct lull_tagged; 0: messages of all tags */
};

/* The patterns of all messages of `count` runs: one of all if these have a shape; else, as often as
 * some tags have one together, that of the tags with most messages, and last one of what is left,
 * which is irregular. Patterns live in `arena`. Returns their number, which is 1 at least. */
size_t lull_patterns_find(const struct lull_links *runs, size_t count,
                          const struct lull_tagged *tagged, struct lull_arena *arena,
                          struct lull_pattern ret_patterns[LULL_SHAPE_TAGS]);

#endif
