/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/memory.h"

#include <stdlib.h>

/* The share of what processes may have from which on they have nearly all of it. */
#define NEARLY_ALL 0.9

/* By node, and on a node by control group. */
static int compare_memory_places(const void *a, const void *b)
{
    const struct lull_memory_of *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->memory.group != y->memory.group)
        return x->memory.group < y->memory.group ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Whether a of b is a larger share than c of d. */
static bool is_larger_share(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return (double)a * (double)d > (double)c * (double)b;
}

/* Processes that have something together: those of a node, or of a control group. */
struct memory_party {
    uint64_t together, largest;
    uint32_t members, of;
};

static void join_party(struct memory_party *party, const struct lull_memory_of *of)
{
    if (of->memory.peak == 0)
        return;
    party->together += of->memory.peak;
    party->members++;
    if (of->memory.peak > party->largest) {
        party->largest = of->memory.peak;
        party->of = of->index;
    }
}

static void take_capacity(struct lull_memory_sum *sum, uint32_t node,
                          const struct memory_party *party, uint64_t capacity, bool is_limit)
{
    if (capacity == 0 || (sum->capacity > 0 && !is_larger_share(party->together, capacity,
                                                                sum->together, sum->capacity)))
        return;
    sum->together = party->together;
    sum->members = party->members;
    sum->largest_member = party->largest;
    sum->of_members = party->of;
    sum->capacity = capacity;
    sum->node = node;
    sum->is_limit = is_limit;
}

struct lull_memory_sum lull_memory_sum(struct lull_memory_of *processes, uint32_t count)
{
    struct lull_memory_sum sum = {.node = LULL_NONE};
    struct memory_party on_node = {0}, in_group = {0}, all = {0};
    uint64_t node_memory = 0;
    if (count > 0)
        qsort(processes, count, sizeof *processes, compare_memory_places);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_memory_of *of = &processes[i], *next = i + 1 < count ? of + 1 : NULL;
        const struct lull_process_memory *memory = &of->memory;
        const bool ends_node = !next || next->node != of->node,
                   ends_group = ends_node || next->memory.group != memory->group;
        join_party(&all, of);
        join_party(&on_node, of);
        join_party(&in_group, of);
        sum.swapped += memory->swapped;
        node_memory = memory->node > node_memory ? memory->node : node_memory;
        if (ends_group) {
            take_capacity(&sum, of->node, &in_group, memory->limit, true);
            in_group = (struct memory_party){0};
        }
        if (ends_node) {
            if (of->node != LULL_NONE)
                take_capacity(&sum, of->node, &on_node, node_memory, false);
            on_node = (struct memory_party){0};
            node_memory = 0;
        }
    }
    sum.known = all.members;
    sum.largest = all.largest;
    sum.of = all.of;
    return sum;
}

bool lull_memory_is_full(const struct lull_memory_sum *sum)
{
    return sum->capacity > 0 && (double)sum->together >= NEARLY_ALL * (double)sum->capacity;
}

struct lull_memory_sum lull_memory_sum_of(const struct lull_trace *trace)
{
    struct lull_memory_of *of = malloc((trace->n_processes + (size_t)1) * sizeof *of);
    for (uint32_t p = 0; of && p < trace->n_processes; p++)
        of[p] = (struct lull_memory_of){trace->processes[p].memory, trace->processes[p].node, p};
    const struct lull_memory_sum sum = lull_memory_sum(of, of ? trace->n_processes : 0);
    free(of);
    return sum;
}
