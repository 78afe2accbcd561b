/* Internal to sim: the labels of one rank of a GOAL file.
 *
 * Labels "l<number>" with numbers that are dense go to an array, all others to a hash table with
 * copies of their names. */
#ifndef LULL_SIM_GOAL_LABELS_H
#define LULL_SIM_GOAL_LABELS_H

#include "sim/goal/tokens.h"

#define GOAL_NO_OP UINT32_MAX

struct goal_dense {
    uint32_t rank_mark; /* entries of other ranks count as empty */
    uint32_t op;
};

struct goal_named {
    uint32_t rank_mark;
    uint32_t op;
    uint32_t hash;
    uint32_t length;
    size_t name; /* in names */
};

struct goal_labels {
    uint32_t mark; /* of the rank that is being read */
    struct goal_dense *dense;
    size_t n_dense;
    struct goal_named *named; /* open addressing, a power of two */
    size_t n_named, used;
    char *names;
    size_t names_used, names_capacity;
};

void lull_goal_labels_free(struct goal_labels *labels);
void lull_goal_labels_next_rank(struct goal_labels *labels);

/* Each returns GOAL_NO_OP where nothing is found. */
uint32_t lull_goal_labels_find_slow(const struct goal_labels *labels,
                                    const struct goal_label *label);
static inline uint32_t goal_labels_find(const struct goal_labels *labels,
                                        const struct goal_label *label)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark == labels->mark)
        return labels->dense[label->number].op;
    return lull_goal_labels_find_slow(labels, label);
}

/* `op` is the index of the operation. LULL_ERR_RANGE: the label is there already. */
lull_status lull_goal_labels_add_slow(struct goal_labels *labels, const struct goal_label *label,
                                      uint32_t op);
static inline lull_status goal_labels_add(struct goal_labels *labels,
                                          const struct goal_label *label, uint32_t op)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark != labels->mark &&
        labels->used == 0) {
        labels->dense[label->number] = (struct goal_dense){labels->mark, op};
        return LULL_OK;
    }
    return lull_goal_labels_add_slow(labels, label, op);
}

/* The label of an operation, or "(no label)"; written into `buffer` of GOAL_LONGEST_LABEL + 1. */
const char *lull_goal_labels_name(const struct goal_labels *labels, uint32_t op, char *buffer);

#endif
