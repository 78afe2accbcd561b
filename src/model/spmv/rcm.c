#include "model/spmv/matrix.h"

#include <stdlib.h>
#include <string.h>

/* The pattern of A + A^T without its diagonal, and the state of a breadth-first search. */
struct graph {
    uint32_t nodes;
    uint64_t *starts; /* nodes + 1 */
    uint32_t *neighbours;
    uint32_t *mark; /* nodes: number of the last search that came by, 0: none */
    uint32_t search;
    bool *done; /* nodes: numbered */
};

static uint32_t degree_of_node(const struct graph *graph, uint32_t node)
{
    return (uint32_t)(graph->starts[node + 1] - graph->starts[node]);
}

static void free_graph(struct graph *graph)
{
    free(graph->starts);
    free(graph->neighbours);
    free(graph->mark);
    free(graph->done);
}

/* Of each nonzero both ends; a pair that is stored twice counts twice, which does no harm. */
static void link_nodes(struct graph *graph, const struct lull_matrix *matrix)
{
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++) {
            uint32_t c = matrix->column[i];
            if (c == r)
                continue;
            graph->neighbours[graph->starts[r]++] = c;
            graph->neighbours[graph->starts[c]++] = r;
        }
    memmove(graph->starts + 1, graph->starts, graph->nodes * sizeof *graph->starts);
    graph->starts[0] = 0;
}

static bool make_graph(struct graph *graph, const struct lull_matrix *matrix)
{
    *graph = (struct graph){.nodes = matrix->rows};
    graph->starts = calloc((size_t)matrix->rows + 2, sizeof *graph->starts);
    graph->mark = calloc((size_t)matrix->rows + 1, sizeof *graph->mark);
    graph->done = calloc((size_t)matrix->rows + 1, sizeof *graph->done);
    graph->neighbours = malloc((2 * lull_matrix_nonzeros(matrix) + 1) * sizeof *graph->neighbours);
    if (!graph->starts || !graph->mark || !graph->done || !graph->neighbours)
        return false;
    for (uint32_t r = 0; r < matrix->rows; r++)
        for (uint32_t i = matrix->starts[r]; i < matrix->starts[r + 1]; i++)
            if (matrix->column[i] != r) {
                graph->starts[r + 1]++;
                graph->starts[matrix->column[i] + 1]++;
            }
    for (uint32_t r = 0; r < matrix->rows; r++)
        graph->starts[r + 1] += graph->starts[r];
    link_nodes(graph, matrix);
    return true;
}

struct node_degree {
    uint32_t degree, node;
};

static int compare_degrees(const void *a, const void *b)
{
    const struct node_degree *x = a, *y = b;
    if (x->degree != y->degree)
        return x->degree < y->degree ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Breadth first from a node into order[]; new neighbours of one node by degree. Returns how many
 * were reached; *ret_last is where the last level begins, *ret_levels how many there are. */
static uint32_t search_from(struct graph *graph, uint32_t node, uint32_t *order,
                            struct node_degree *fresh, uint32_t *ret_last, uint32_t *ret_levels)
{
    uint32_t count = 1, level_end = 1;
    graph->search++;
    graph->mark[node] = graph->search;
    order[0] = node;
    *ret_last = 0;
    *ret_levels = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (i == level_end) {
            *ret_last = i;
            ++*ret_levels;
            level_end = count;
        }
        uint32_t n_fresh = 0;
        for (uint64_t k = graph->starts[order[i]]; k < graph->starts[order[i] + 1]; k++) {
            uint32_t other = graph->neighbours[k];
            if (graph->mark[other] == graph->search)
                continue;
            graph->mark[other] = graph->search;
            fresh[n_fresh++] = (struct node_degree){degree_of_node(graph, other), other};
        }
        qsort(fresh, n_fresh, sizeof *fresh, compare_degrees);
        for (uint32_t k = 0; k < n_fresh; k++)
            order[count++] = fresh[k].node;
    }
    return count;
}

/* A component in the order of Cuthill and McKee, from a node as far from the others as a few
 * searches find. */
static uint32_t order_component(struct graph *graph, uint32_t node, uint32_t *order,
                                struct node_degree *fresh)
{
    enum { MOST_SEARCHES = 8 };
    uint32_t last, levels, before = 0;
    uint32_t count = search_from(graph, node, order, fresh, &last, &levels);
    for (int i = 0; i < MOST_SEARCHES && levels > before; i++) {
        before = levels;
        node = order[last];
        for (uint32_t k = last; k < count; k++)
            if (degree_of_node(graph, order[k]) < degree_of_node(graph, node))
                node = order[k];
        count = search_from(graph, node, order, fresh, &last, &levels);
    }
    return count;
}

lull_status lull_matrix_rcm(const struct lull_matrix *matrix, uint32_t *order,
                            struct lull_error *err)
{
    struct graph graph;
    struct node_degree *fresh = malloc(((size_t)matrix->rows + 1) * sizeof *fresh);
    if (!make_graph(&graph, matrix) || !fresh) {
        free_graph(&graph);
        free(fresh);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory to reorder the matrix");
    }
    uint32_t count = 0;
    for (uint32_t node = 0; node < graph.nodes; node++) {
        if (graph.done[node])
            continue;
        uint32_t reached = order_component(&graph, node, order + count, fresh);
        for (uint32_t i = 0; i < reached; i++)
            graph.done[order[count + i]] = true;
        count += reached;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t node = order[i];
        order[i] = order[count - 1 - i];
        order[count - 1 - i] = node;
    }
    free_graph(&graph);
    free(fresh);
    return LULL_OK;
}
