/* Internal to model/program: collective operations in closed form, by algorithm. */
#ifndef LULL_MODEL_PROGRAM_CLOSED_FORM_H
#define LULL_MODEL_PROGRAM_CLOSED_FORM_H

#include "stats/distribution.h"

#include <stddef.h>
#include <stdint.h>

/* ==== collective form ========================================================================= */

/* On P processes an operation takes `steps` times the latency and `volume` bytes over the
 * bandwidth, both on its longest path; P is 2 or more. */
struct lull_collective_form {
    const char *primitive; /* the function in Lua: "allreduce" */
    const char *algorithm; /* as the simulator calls it, sim/collective/collective.h */
    uint8_t operation;     /* enum lull_collective */
    double (*steps)(double processes);
    double (*volume)(double processes, double bytes);
};

/* Ended by primitive NULL; of one primitive the first is taken when nothing is said. */
extern const struct lull_collective_form lull_collective_forms[];

/* NULL: there is none. `algorithm` NULL: the first. */
const struct lull_collective_form *lull_collective_form_find(const char *primitive,
                                                             const char *algorithm);
/* What stands for an algorithm in a file: the one that the simulator takes where nothing is said,
 * by the limits of MPICH as published (sim/collective/collective.c). */
#define LULL_COLLECTIVE_PRESUMED "mpich"
/* That one, for so many processes and what the primitive calls bytes. NULL: there is none. */
const struct lull_collective_form *lull_collective_form_presume(const char *primitive,
                                                                double processes, double bytes);

/* ==== maximum ================================================================================= */

/* The expected maximum of several independent draws: what P ranks that wait for each other lose to
 * noise. */

/* In the unit of the distribution; draws >= 1, also between whole numbers. Exact for constant,
 * uniform, exponential (the harmonic number) and Bernoulli; gamma and normal by integrating
 * 1 - F(x)^draws, to 1e-6. */
double lull_expected_maximum(const struct lull_distribution *distribution, double draws);

/* A distribution by its quantiles, with lines between them. */
struct lull_quantiles {
    const double *values;        /* [count], ascending */
    const double *probabilities; /* [count], from 0 to 1, ascending; NULL: equally spaced */
    size_t count;                /* 2 or more; 0: this is none */
};

/* Exact; never above the last quantile. */
double lull_expected_maximum_of_quantiles(const struct lull_quantiles *quantiles, double draws);
/* The quantile of a probability in [0, 1). */
double lull_quantiles_sample(const struct lull_quantiles *quantiles, double probability);

/* ==== tree ==================================================================================== */

/* Trees over all ranks with root 0, by rank expressions: who is below whom.
 *
 * Binomial trees are those of sim/collective/collective.c: the parent of a rank lacks its lowest bit.
 */

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
