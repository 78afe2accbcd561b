/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas without a simulation, for program models: what collective operations take, by algorithm;
 * how long ranks that wait for each other wait for the slowest; and trees of ranks. Numbers in,
 * numbers out. */
#ifndef LULL_MODEL_PROGRAM_CLOSED_FORM_H
#define LULL_MODEL_PROGRAM_CLOSED_FORM_H

#include "stats/distribution.h"

#include <stddef.h>
#include <stdint.h>

/* ==== collective operations =================================================================== */

/* A collective operation on P processes by one algorithm, P >= 2. It takes steps(P) latencies, and
 * volume(P, bytes) bytes over the bandwidth; both are those of the operation's longest path. */
struct lull_collective_form {
    const char *primitive; /* the function in Lua: "allreduce" */
    const char *algorithm; /* as the simulator calls it, sim/collective/collective.h */
    uint8_t operation;     /* enum lull_collective */
    double (*steps)(double processes);
    double (*volume)(double processes, double bytes);
};

/* All forms; an entry whose primitive is NULL ends the table. */
extern const struct lull_collective_form lull_collective_forms[];

/* The form of a primitive and an algorithm; `algorithm` NULL: the primitive's first form in the
 * table. NULL: there is none. */
const struct lull_collective_form *lull_collective_form_find(const char *primitive,
                                                             const char *algorithm);
/* The word that a file writes in the place of an algorithm for the one that the simulator takes
 * where nothing is said: by the number of processes and bytes, with the limits that MPICH published
 * (sim/collective/collective.c). */
#define LULL_COLLECTIVE_PRESUMED "mpich"
/* The form that this word stands for, with so many processes and what the primitive calls bytes.
 * NULL: there is none. */
const struct lull_collective_form *lull_collective_form_presume(const char *primitive,
                                                                double processes, double bytes);

/* ==== the expected maximum ==================================================================== */

/* The expected maximum of several independent draws: P ranks that wait for each other lose to noise
 * what the most disturbed of them does. */

/* The expected maximum of `draws` independent draws, in the unit of the distribution. `draws` is 1
 * or more and need not be a whole number. Exact for constant, uniform, exponential (the harmonic
 * number) and Bernoulli distributions; for gamma and normal ones by integrating 1 - F(x)^draws, to
 * a relative error of 1e-6. */
double lull_expected_maximum(const struct lull_distribution *distribution, double draws);

/* A distribution that is given by its quantiles, with straight lines between them. */
struct lull_quantiles {
    const double *values;        /* [count], ascending */
    const double *probabilities; /* [count], from 0 to 1, ascending; NULL: equally spaced */
    size_t count;                /* 2 or more; 0: there is no distribution */
};

/* The same for quantiles: exact, and never above the last one. */
double lull_expected_maximum_of_quantiles(const struct lull_quantiles *quantiles, double draws);
/* The quantile of a probability in [0, 1). */
double lull_quantiles_sample(const struct lull_quantiles *quantiles, double probability);

/* ==== trees of ranks ========================================================================== */

/* Trees over all ranks with root 0: who is below whom. In a binomial tree, as in
 * sim/collective/collective.c, the parent of a rank is the rank without its lowest bit: 4 is the
 * parent of 6. */

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
/* How many children a rank has, and the rank of one of them, whose `number` counts from 0. */
uint32_t lull_tree_children(enum lull_tree tree, uint32_t size, uint32_t rank);
uint32_t lull_tree_child(enum lull_tree tree, uint32_t rank, uint32_t number);
/* Edges from the root to the rank that is farthest from it; 0 for one process. */
double lull_tree_depth(enum lull_tree tree, double processes);

#endif
