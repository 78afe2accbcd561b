/* SPDX-License-Identifier: BSD-3-Clause */
/* Layer conditions: which reuse of data a cache keeps, found from the distances between accesses.
 *
 * For every array, all distinct accesses of the body are sorted by their place in memory. The
 * distance d between two neighbours is a reuse distance; the foremost access touches what was not
 * touched before. A cache of C bytes keeps reuses up to the largest distance t for which
 * (sum of all d <= t) + t * (number of d > t), times the size of an element, is at most C. Every
 * longer distance is a miss and costs one line per unit of work. Every array that is written costs
 * a line written back. Where all arrays fit there is no traffic. This presumes LRU and full
 * associativity; of a shared cache bytes / cores count. Source: J. Hammer, G. Hager, J. Eitzinger,
 * G. Wellein: Automatic loop kernel analysis and performance modeling with Kerncraft (2015), layer
 * conditions.
 *
 * Two things go beyond that source: accesses with a stride count the lines that they touch, and the
 * types of elements may differ. A limit: an operand that stays the same over a loop is counted as
 * if it were new at each iteration of that loop, which is too much. */
#ifndef LULL_MODEL_KERNEL_LAYERS_H
#define LULL_MODEL_KERNEL_LAYERS_H

#include "machine/machine.h"
#include "model/ecm.h"
#include "model/kernel/kernel.h"

enum { LULL_LAYER_LEVELS = LULL_ECM_LINKS };

/* One condition: reuse over the distance t, in a form that shows the sizes. */
struct lull_layer_condition {
    const char *array;      /* the array whose reuse it is, the first of them where several have
                               this distance */
    const char *distance;   /* t in elements, "N" */
    const char *formula;    /* bytes that must fit into the cache, "32 N - 16"; NULL: this is not a
                               polynomial */
    struct lull_poly bytes; /* the formula as a polynomial */
    double iterations;      /* of the body between the two accesses */
    double value;           /* these bytes with the given sizes */
    double misses;          /* lines per unit of work if this is the longest distance kept */
    int size;               /* the symbol that lull_layer_held.largest is a value of;
                               LULL_KERNEL_NONE: the condition depends on no size */
};

struct lull_layer_held { /* one condition at one cache */
    bool holds;
    double largest; /* value of the condition's size up to which the condition holds, with all other
                       sizes as they are; 0: it never holds; NAN: it does not depend on sizes */
    double block;   /* iterations of the body's loop in a block with which the condition would hold;
                       NAN where it holds already, or with no block */
};

struct lull_layers {
    size_t n_levels;                                /* caches */
    double capacity[LULL_LAYER_LEVELS];             /* bytes of each cache that one core has */
    bool fits[LULL_LAYER_LEVELS];                   /* all arrays together fit into this cache */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS]; /* per unit of work, between each cache and the
                                                       level beyond it */
    struct lull_layer_condition *conditions;        /* shortest distance first */
    size_t n_conditions;
    struct lull_layer_held *held; /* [n_conditions][n_levels] */
    bool has_invariant;           /* an operand stays the same over a loop */
    bool has_others;              /* the nest has other innermost loops */
    const char *indirect;         /* an array with indirect accesses; NULL: none */
    double footprint;             /* bytes of all arrays */
};

/* Whether and up to where a condition holds in a cache. */
static inline const struct lull_layer_held *lull_layers_held(const struct lull_layers *layers,
                                                             size_t condition, size_t level)
{
    return &layers->held[condition * layers->n_levels + level];
}

/* Finds the conditions of the kernel's body for `cores` cores that work at the same time, each on
 * data of its own. Fails with LULL_ERR_RANGE where the machine file does not know its caches. */
lull_status lull_layers_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             unsigned cores, struct lull_arena *arena,
                             struct lull_layers *ret_layers, struct lull_error *err);

#endif
