#include "sim/goal/labels.h"
#include "base/array.h"
#include "base/fnv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number is dense if it is below this for a rank with so many operations so far. */
static uint64_t dense_limit(uint32_t op)
{
    return 4 * (uint64_t)op + 1024;
}

void lull_goal_labels_free(struct goal_labels *labels)
{
    free(labels->dense);
    free(labels->named);
    free(labels->names);
}

void lull_goal_labels_next_rank(struct goal_labels *labels)
{
    labels->used = 0;
    labels->names_used = 0;
    if (++labels->mark != 0)
        return;
    if (labels->n_dense)
        memset(labels->dense, 0, labels->n_dense * sizeof *labels->dense);
    if (labels->n_named)
        memset(labels->named, 0, labels->n_named * sizeof *labels->named);
    labels->mark = 1;
}

static uint32_t hash_of(const struct goal_label *label)
{
    const uint64_t hash = lull_fnv(LULL_FNV_BEGIN, label->name, label->length);
    return (uint32_t)(hash ^ hash >> 29);
}

/* The entry of the label, or the empty one where it belongs. */
static struct goal_named *slot_of(const struct goal_labels *labels, const struct goal_label *label,
                                  uint32_t hash)
{
    for (size_t i = hash & (labels->n_named - 1);; i = (i + 1) & (labels->n_named - 1)) {
        struct goal_named *slot = &labels->named[i];
        if (slot->rank_mark != labels->mark)
            return slot;
        if (slot->hash == hash && slot->length == label->length &&
            memcmp(labels->names + slot->name, label->name, label->length) == 0)
            return slot;
    }
}

uint32_t lull_goal_labels_find_slow(const struct goal_labels *labels,
                                    const struct goal_label *label)
{
    if (label->number < labels->n_dense && labels->dense[label->number].rank_mark == labels->mark)
        return labels->dense[label->number].op;
    if (labels->used == 0)
        return GOAL_NO_OP;
    const struct goal_named *slot = slot_of(labels, label, hash_of(label));
    return slot->rank_mark == labels->mark ? slot->op : GOAL_NO_OP;
}

static bool grow_dense(struct goal_labels *labels, uint32_t number)
{
    size_t before = labels->n_dense;
    if (!lull_array_reserve(&labels->dense, &labels->n_dense, number + (size_t)1,
                            sizeof *labels->dense))
        return false;
    memset(labels->dense + before, 0, (labels->n_dense - before) * sizeof *labels->dense);
    return true;
}

static bool grow_named(struct goal_labels *labels)
{
    struct goal_labels old = *labels;
    labels->n_named = old.n_named ? 2 * old.n_named : 1024;
    labels->named = calloc(labels->n_named, sizeof *labels->named);
    if (!labels->named) {
        *labels = old;
        return false;
    }
    for (size_t i = 0; i < old.n_named; i++) {
        if (old.named[i].rank_mark != labels->mark)
            continue;
        size_t to = old.named[i].hash & (labels->n_named - 1);
        while (labels->named[to].rank_mark == labels->mark)
            to = (to + 1) & (labels->n_named - 1);
        labels->named[to] = old.named[i];
    }
    free(old.named);
    return true;
}

static bool keep_name(struct goal_labels *labels, const struct goal_label *label, size_t *ret_name)
{
    size_t need = labels->names_used + label->length;
    if (!lull_array_reserve(&labels->names, &labels->names_capacity, need, 1))
        return false;
    memcpy(labels->names + labels->names_used, label->name, label->length);
    *ret_name = labels->names_used;
    labels->names_used = need;
    return true;
}

static lull_status add_named_label(struct goal_labels *labels, const struct goal_label *label,
                                   uint32_t op)
{
    size_t name;
    if (2 * (labels->used + 1) > labels->n_named && !grow_named(labels))
        return LULL_ERR_MEMORY;
    if (!keep_name(labels, label, &name))
        return LULL_ERR_MEMORY;
    uint32_t hash = hash_of(label);
    *slot_of(labels, label, hash) =
        (struct goal_named){labels->mark, op, hash, label->length, name};
    labels->used++;
    return LULL_OK;
}

lull_status lull_goal_labels_add_slow(struct goal_labels *labels, const struct goal_label *label,
                                      uint32_t op)
{
    if (lull_goal_labels_find_slow(labels, label) != GOAL_NO_OP)
        return LULL_ERR_RANGE;
    if (label->number == GOAL_NOT_NUMBERED ||
        (label->number >= labels->n_dense && label->number >= dense_limit(op)))
        return add_named_label(labels, label, op);
    if (label->number >= labels->n_dense && !grow_dense(labels, label->number))
        return LULL_ERR_MEMORY;
    labels->dense[label->number] = (struct goal_dense){labels->mark, op};
    return LULL_OK;
}

const char *lull_goal_labels_name(const struct goal_labels *labels, uint32_t op, char *buffer)
{
    for (size_t i = 0; i < labels->n_dense; i++)
        if (labels->dense[i].rank_mark == labels->mark && labels->dense[i].op == op) {
            snprintf(buffer, GOAL_LONGEST_LABEL + 1, "l%zu", i);
            return buffer;
        }
    for (size_t i = 0; i < labels->n_named && labels->used; i++)
        if (labels->named[i].rank_mark == labels->mark && labels->named[i].op == op) {
            snprintf(buffer, GOAL_LONGEST_LABEL + 1, "%.*s", (int)labels->named[i].length,
                     labels->names + labels->named[i].name);
            return buffer;
        }
    snprintf(buffer, GOAL_LONGEST_LABEL + 1, "(no label)");
    return buffer;
}
