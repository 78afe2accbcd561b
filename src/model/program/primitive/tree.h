/* Trees over all ranks with root 0, by rank expressions: who is below whom.
 *
 * Binomial trees are those of sim/collective/collective.c: the parent of a rank lacks its lowest bit.
 */
#ifndef LULL_MODEL_PROGRAM_PRIMITIVE_TREE_H
#define LULL_MODEL_PROGRAM_PRIMITIVE_TREE_H

#include <stdint.h>

enum lull_tree {
    LULL_TREE_STAR,
    LULL_TREE_BINARY,
    LULL_TREE_BINOMIAL,
    LULL_TREE_CHAIN, /* each rank is the only child of the one before it */
    LULL_TREES
};

enum lull_tree_direction { LULL_TREE_DOWN, LULL_TREE_UP, LULL_TREE_BOTH };

extern const char *const lull_tree_names[LULL_TREES + 1]; /* NULL at the end */
/* The parent of rank r, for people: "(r - 1) // 2". */
extern const char *const lull_tree_parents[LULL_TREES];

uint32_t lull_tree_parent(enum lull_tree tree, uint32_t rank); /* rank > 0 */
/* Children of a rank, and one of them; they are counted from 0. */
uint32_t lull_tree_children(enum lull_tree tree, uint32_t size, uint32_t rank);
uint32_t lull_tree_child(enum lull_tree tree, uint32_t rank, uint32_t number);
/* Edges from the root to the rank that is farthest from it; 0 for one process. */
double lull_tree_depth(enum lull_tree tree, double processes);

#endif
