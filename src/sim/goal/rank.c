#include "sim/goal/rank.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define MOST_OPS (LULL_GRAPH_FROM_START - 1)

void lull_goal_rank_begin(struct goal_rank *rank, uint32_t number)
{
    rank->rank = number;
    rank->n_ops = rank->n_edges = rank->n_pending = rank->names_used = 0;
    lull_goal_labels_next_rank(&rank->labels);
}

void lull_goal_rank_free(struct goal_rank *rank)
{
    lull_goal_labels_free(&rank->labels);
    free(rank->ops);
    free(rank->edges);
    free(rank->pending);
    free(rank->names);
    free(rank->scratch);
}

static lull_status no_memory(const struct goal_text *text, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: line %llu: not enough memory for the operations",
                     text->name, (unsigned long long)text->begin);
}

static bool grow_ops(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->ops, &rank->ops_capacity, rank->n_ops + 1, sizeof *rank->ops);
}

static bool grow_edges(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->edges, &rank->edges_capacity, rank->n_edges + 1,
                              sizeof *rank->edges);
}

static bool grow_pending(struct goal_rank *rank, size_t length)
{
    return lull_array_reserve(&rank->pending, &rank->pending_capacity, rank->n_pending + 1,
                              sizeof *rank->pending) &&
           lull_array_reserve(&rank->names, &rank->names_capacity, rank->names_used + length, 1);
}

static bool grow_scratch(struct goal_rank *rank)
{
    return lull_array_reserve(&rank->scratch, &rank->scratch_capacity, 2 * rank->n_ops,
                              sizeof *rank->scratch);
}

lull_status lull_goal_rank_op(struct goal_rank *rank, const struct goal_text *text,
                              const struct goal_label *label, const struct lull_graph_op *op,
                              struct lull_error *err)
{
    if (rank->n_ops >= MOST_OPS)
        return lull_goal_fail(text, err, "more than 2^31 - 1 operations of rank %u", rank->rank);
    if (rank->n_ops == rank->ops_capacity && !grow_ops(rank))
        return no_memory(text, err);
    if (label) {
        lull_status status = goal_labels_add(&rank->labels, label, (uint32_t)rank->n_ops);
        if (status == LULL_ERR_RANGE)
            return lull_goal_fail(text, err, "label '%.*s' stands twice in rank %u",
                                  (int)label->length, label->name, rank->rank);
        if (status != LULL_OK)
            return no_memory(text, err);
    }
    rank->ops[rank->n_ops++] = *op;
    return LULL_OK;
}

static bool remember(struct goal_rank *rank, const struct goal_text *text,
                     const struct goal_label *label, bool is_before)
{
    if (!grow_pending(rank, label->length))
        return false;
    memcpy(rank->names + rank->names_used, label->name, label->length);
    rank->pending[rank->n_pending++] =
        (struct goal_pending){(uint32_t)rank->n_edges, is_before,     text->begin,
                              label->number,           label->length, rank->names_used};
    rank->names_used += label->length;
    return true;
}

lull_status lull_goal_rank_edge(struct goal_rank *rank, const struct goal_text *text,
                                const struct goal_label *after, const struct goal_label *before,
                                bool from_start, struct lull_error *err)
{
    uint32_t b = goal_labels_find(&rank->labels, before);
    uint32_t a = goal_labels_find(&rank->labels, after);
    if (rank->n_edges >= UINT32_MAX - 1)
        return lull_goal_fail(text, err, "more than 2^32 - 2 requirements of rank %u", rank->rank);
    if ((rank->n_edges == rank->edges_capacity && !grow_edges(rank)) ||
        (b == GOAL_NO_OP && !remember(rank, text, before, true)) ||
        (a == GOAL_NO_OP && !remember(rank, text, after, false)))
        return no_memory(text, err);
    rank->edges[rank->n_edges++] =
        (struct goal_edge){b, (a & MOST_OPS) | (from_start ? LULL_GRAPH_FROM_START : 0)};
    return LULL_OK;
}

static lull_status resolve(struct goal_rank *rank, const struct goal_text *text,
                           struct lull_error *err)
{
    for (size_t i = 0; i < rank->n_pending; i++) {
        const struct goal_pending *pending = &rank->pending[i];
        struct goal_label label = {rank->names + pending->name, pending->length, pending->number};
        struct goal_edge *edge = &rank->edges[pending->edge];
        uint32_t op = goal_labels_find(&rank->labels, &label);
        if (op == GOAL_NO_OP)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: line %llu: rank %u has no operation with label '%.*s'",
                             text->name, (unsigned long long)pending->line, rank->rank,
                             (int)label.length, label.name);
        if (pending->is_before)
            edge->before = op;
        else
            edge->after = op | (edge->after & LULL_GRAPH_FROM_START);
    }
    return LULL_OK;
}

/* Counting sort by `before`, which keeps the order of the text among those of one operation. */
static void sort_edges(const struct goal_rank *rank, struct lull_graph_op *ops, uint32_t *edges)
{
    for (size_t i = 0; i < rank->n_edges; i++) {
        ops[rank->edges[i].before + 1].first_edge++;
        ops[rank->edges[i].after & MOST_OPS].requires ++;
    }
    /* first_edge of an operation counts up while its edges are filled in, and is then that of the
     * next one. */
    uint32_t sum = 0;
    for (size_t i = 0; i <= rank->n_ops; i++) {
        sum += ops[i].first_edge;
        ops[i].first_edge = sum;
    }
    for (size_t i = 0; i < rank->n_edges; i++)
        edges[ops[rank->edges[i].before].first_edge++] = rank->edges[i].after;
    for (size_t i = rank->n_ops; i > 0; i--)
        ops[i].first_edge = ops[i - 1].first_edge;
    ops[0].first_edge = 0;
}

static bool points_forward(const struct goal_rank *rank)
{
    for (size_t i = 0; i < rank->n_edges; i++)
        if (rank->edges[i].before >= (rank->edges[i].after & MOST_OPS))
            return false;
    return true;
}

/* Removes, again and again, what waits for nothing: returns how much is left; `open` says for how
 * many others each still waits. */
static size_t unravel(const struct lull_graph_op *ops, const uint32_t *edges, size_t n_ops,
                      uint32_t *open, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < n_ops; i++) {
        open[i] = ops[i].requires;
        if (open[i] == 0)
            queue[tail++] = (uint32_t)i;
    }
    while (head < tail) {
        uint32_t op = queue[head++];
        for (uint32_t e = ops[op].first_edge; e < ops[op + 1].first_edge; e++)
            if (--open[edges[e] & MOST_OPS] == 0)
                queue[tail++] = edges[e] & MOST_OPS;
    }
    return n_ops - tail;
}

/* What is left waits for something that is left: going back from any of it leads into a circle. */
static uint32_t find_circle_of_ops(const struct goal_rank *rank, const uint32_t *open,
                                   uint32_t *previous)
{
    uint32_t op = 0;
    for (size_t i = 0; i < rank->n_edges; i++) {
        uint32_t after = rank->edges[i].after & MOST_OPS;
        if (open[after] && open[rank->edges[i].before])
            previous[op = after] = rank->edges[i].before;
    }
    for (size_t i = 0; i < rank->n_ops; i++)
        op = previous[op];
    return op;
}

static lull_status check_circles(struct goal_rank *rank, const struct goal_text *text,
                                 const struct lull_graph_op *ops, const uint32_t *edges,
                                 struct lull_error *err)
{
    char label[GOAL_LONGEST_LABEL + 1];
    if (points_forward(rank))
        return LULL_OK;
    if (!grow_scratch(rank))
        return no_memory(text, err);
    uint32_t *open = rank->scratch, *queue = rank->scratch + rank->n_ops;
    if (unravel(ops, edges, rank->n_ops, open, queue) == 0)
        return LULL_OK;
    uint32_t op = find_circle_of_ops(rank, open, queue);
    return lull_fail(err, LULL_ERR_FORMAT,
                     "%s: line %u: rank %u: operation '%s' requires itself, directly or through "
                     "others",
                     text->name, ops[op].line, rank->rank,
                     lull_goal_labels_name(&rank->labels, op, label));
}

static void count_units(struct lull_graph_rank *rank)
{
    unsigned cpus = 0, nics = 0;
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        cpus = rank->ops[i].cpu > cpus ? rank->ops[i].cpu : cpus;
        nics = rank->ops[i].nic > nics ? rank->ops[i].nic : nics;
    }
    rank->n_cpus = (uint16_t)(cpus + 1);
    rank->n_nics = (uint16_t)(nics + 1);
}

lull_status lull_goal_rank_end(struct goal_rank *rank, const struct goal_text *text,
                               struct lull_arena *arena, struct lull_graph_rank *ret_rank,
                               struct lull_error *err)
{
    lull_status status = resolve(rank, text, err);
    if (status != LULL_OK)
        return status;
    struct lull_graph_op *ops = lull_arena_try(arena, rank->n_ops + 1, sizeof *ops);
    uint32_t *edges = lull_arena_try(arena, rank->n_edges, sizeof *edges);
    if (!ops || !edges)
        return no_memory(text, err);
    if (rank->n_ops)
        memcpy(ops, rank->ops, rank->n_ops * sizeof *ops);
    sort_edges(rank, ops, edges);
    status = check_circles(rank, text, ops, edges, err);
    if (status != LULL_OK)
        return status;
    *ret_rank =
        (struct lull_graph_rank){.ops = ops, .edges = edges, .n_ops = (uint32_t)rank->n_ops};
    count_units(ret_rank);
    return LULL_OK;
}
