/* Layer conditions: which reuse of data a cache keeps, found from the distances between accesses.
 *
 * Of every array all distinct accesses of the body are sorted by their place; what lies between
 * neighbours is a reuse distance, and the foremost one touches what was not touched before. A cache
 * of C bytes keeps reuses up to a distance t where sum(d : d <= t) + t * #(d > t), times the size
 * of elements, is at most C; t is the largest distance for which that holds. Every longer distance
 * is a miss: a line per unit of work. Every array that is written costs a line written back. Where
 * all arrays fit there is no traffic. This presumes LRU and full associativity; shared caches count
 * bytes / cores. Source: J. Hammer, G. Hager, J. Eitzinger, G. Wellein: Automatic loop kernel
 * analysis and performance modeling with Kerncraft (2015), layer conditions.
 *
 * Beyond that: strides count the lines that they touch, and element types may differ. An operand
 * that stays the same over a loop counts as if it were new at each of its iterations, which
 * overcounts. */
#ifndef LULL_MODEL_KERNEL_LAYERS_H
#define LULL_MODEL_KERNEL_LAYERS_H

#include "machine/machine.h"
#include "model/ecm.h"
#include "model/kernel/kernel.h"

enum { LULL_LAYER_LEVELS = LULL_ECM_LINKS };

/* One condition: reuse over the distance t, in a form that shows the sizes. */
struct lull_layer_condition {
    const char *array;      /* whose reuse it is; several: the first */
    const char *distance;   /* t in elements, "N" */
    const char *formula;    /* bytes that must fit, "32 N - 16"; NULL: not a polynomial */
    struct lull_poly bytes; /* the same */
    double value;           /* with the sizes given */
    double misses;          /* lines per unit of work where this is the longest distance kept */
    int size; /* the symbol whose largest value is asked for; LULL_KERNEL_NONE: it depends on none
               */
};

struct lull_layer_held { /* of one condition at one cache */
    bool holds;
    double largest; /* value of the condition's size up to which it holds, the others as they are;
                       0: it never holds; NAN: it does not depend on sizes */
    double block;   /* iterations of the body's loop in a block that would keep it; NAN where it
                       holds, or no block does */
};

struct lull_layers {
    size_t n_levels;                                /* caches */
    double capacity[LULL_LAYER_LEVELS];             /* bytes that count */
    bool fits[LULL_LAYER_LEVELS];                   /* everything is in this cache */
    struct lull_ecm_lines lines[LULL_LAYER_LEVELS]; /* between each cache and the level beyond it */
    struct lull_layer_condition *conditions;        /* shortest distance first */
    size_t n_conditions;
    struct lull_layer_held *held; /* n_conditions x n_levels */
    bool has_invariant;           /* an operand stays the same over a loop */
    bool has_others;              /* the nest has other innermost loops */
    const char *indirect;         /* an array with indirect accesses; NULL: none */
    double footprint;             /* bytes of all arrays */
};

/* Whether a condition holds in a cache, as `held[condition * n_levels + level]` says. */
static inline const struct lull_layer_held *lull_layers_held(const struct lull_layers *layers,
                                                             size_t condition, size_t level)
{
    return &layers->held[condition * layers->n_levels + level];
}

/* For `cores` cores working at the same time, each on its own part. Fails with LULL_ERR_RANGE where
 * the machine file does not know its caches. */
lull_status lull_layers_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             unsigned cores, struct lull_arena *arena,
                             struct lull_layers *ret_layers, struct lull_error *err);

#endif
