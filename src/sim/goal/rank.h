/* Internal to sim: one rank of a GOAL file, from statements to its part of the graph. */
#ifndef LULL_SIM_GOAL_RANK_H
#define LULL_SIM_GOAL_RANK_H

#include "base/arena.h"
#include "sim/engine/graph.h"
#include "sim/goal/labels.h"

struct goal_edge {
    uint32_t before, after; /* operations; `after` with LULL_GRAPH_FROM_START for irequires */
};

/* A `requires` with a label that had not come yet. */
struct goal_pending {
    uint32_t edge;
    bool is_before; /* which side */
    uint64_t line;
    uint32_t number, length; /* of the label */
    size_t name;             /* in names */
};

/* Kept from rank to rank; zero it before the first. */
struct goal_rank {
    uint32_t rank;
    struct goal_labels labels;
    struct lull_graph_op *ops;
    size_t n_ops, ops_capacity;
    struct goal_edge *edges;
    size_t n_edges, edges_capacity;
    struct goal_pending *pending;
    size_t n_pending, pending_capacity;
    char *names;
    size_t names_used, names_capacity;
    uint32_t *scratch; /* of the search for circles */
    size_t scratch_capacity;
};

void lull_goal_rank_begin(struct goal_rank *rank, uint32_t number);
void lull_goal_rank_free(struct goal_rank *rank);

/* op->requires and first_edge are not looked at. `label` may be NULL. */
lull_status lull_goal_rank_op(struct goal_rank *rank, const struct goal_text *text,
                              const struct goal_label *label, const struct lull_graph_op *op,
                              struct lull_error *err);

lull_status lull_goal_rank_edge(struct goal_rank *rank, const struct goal_text *text,
                                const struct goal_label *after, const struct goal_label *before,
                                bool from_start, struct lull_error *err);

/* Checks the rank and moves it to the arena. */
lull_status lull_goal_rank_end(struct goal_rank *rank, const struct goal_text *text,
                               struct lull_arena *arena, struct lull_graph_rank *ret_rank,
                               struct lull_error *err);

#endif
