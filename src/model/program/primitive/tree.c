#include "model/program/primitive/tree.h"

#include <math.h>
#include <stddef.h>

const char *const lull_tree_names[LULL_TREES + 1] = {"star", "binary", "binomial", "chain", NULL};
const char *const lull_tree_parents[LULL_TREES] = {"0", "(r - 1) // 2", "r & (r - 1)", "r - 1"};

uint32_t lull_tree_parent(enum lull_tree tree, uint32_t rank)
{
    switch (tree) {
    case LULL_TREE_BINARY:
        return (rank - 1) / 2;
    case LULL_TREE_BINOMIAL:
        return rank & (rank - 1);
    case LULL_TREE_CHAIN:
        return rank - 1;
    default:
        return 0;
    }
}

uint32_t lull_tree_children(enum lull_tree tree, uint32_t size, uint32_t rank)
{
    uint32_t above = size - 1 - rank, count = 0; /* ranks that are larger */
    switch (tree) {
    case LULL_TREE_BINARY:
        return rank >= above ? 0 : above - rank == 1 ? 1 : 2;
    case LULL_TREE_BINOMIAL:
        while (count < 31 && (UINT32_C(1) << count) <= above &&
               (rank == 0 || (rank & ((UINT32_C(2) << count) - 1)) == 0))
            count++;
        return count;
    case LULL_TREE_CHAIN:
        return above > 0;
    default:
        return rank == 0 ? above : 0;
    }
}

uint32_t lull_tree_child(enum lull_tree tree, uint32_t rank, uint32_t number)
{
    switch (tree) {
    case LULL_TREE_BINARY:
        return 2 * rank + 1 + number;
    case LULL_TREE_BINOMIAL:
        return rank + (UINT32_C(1) << number);
    default:
        return rank + 1 + number;
    }
}

double lull_tree_depth(enum lull_tree tree, double processes)
{
    if (processes <= 1)
        return 0;
    if (tree == LULL_TREE_STAR)
        return 1;
    return tree == LULL_TREE_CHAIN ? processes - 1 : floor(log2(processes));
}
