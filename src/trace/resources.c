/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/resources.h"

#include <stdlib.h>
#include <string.h>

/* ==== cores =================================================================================== */

/* ---- threads that might use the same cores --------------------------------------------------- */

struct thread_cores {
    uint32_t node;
    const struct lull_cores *cores;
};

static int by_cores(const void *a, const void *b)
{
    const struct thread_cores *one = a, *other = b;
    if (one->node != other->node)
        return one->node < other->node ? -1 : 1;
    return (one->cores->which > other->cores->which) - (one->cores->which < other->cores->which);
}

static bool share_cores(const struct thread_cores *one, const struct thread_cores *other)
{
    return by_cores(one, other) == 0;
}

/* ---- how many cores -------------------------------------------------------------------------- */

/* Of the threads of a node, which stand together. Sets that are not told, only their sizes, may overlap or not:
 * they add up to no more than the node has. */
static uint32_t count_cores(const struct thread_cores *threads, size_t count)
{
    uint64_t set[LULL_CORE_WORDS] = {0};
    uint32_t there = 0, told = 0, others = 0;
    for (size_t i = 0; i < count; i++) {
        const struct lull_cores *cores = threads[i].cores;
        there = cores->there > there ? cores->there : there;
        for (uint32_t w = 0; cores->set && w < LULL_CORE_WORDS; w++)
            set[w] |= cores->set[w];
        if (!cores->set && (i == 0 || !share_cores(&threads[i - 1], &threads[i])))
            others += cores->allowed;
    }
    for (uint32_t w = 0; w < LULL_CORE_WORDS; w++)
        told += (uint32_t)__builtin_popcountll(set[w]);
    const uint32_t more = there > told ? there - told : 0;
    return told + (others < more ? others : more);
}

uint32_t lull_cores_of(const struct lull_trace *trace, struct lull_arena *arena)
{
    struct thread_cores *threads = lull_arena_zero(arena, trace->n_locations, sizeof *threads);
    size_t n = 0;
    uint32_t count = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++)
        if (trace->locations[l].cores.allowed > 0)
            threads[n++] = (struct thread_cores){trace->processes[trace->locations[l].process].node,
                                                 &trace->locations[l].cores};
    qsort(threads, n, sizeof *threads, by_cores);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && threads[end].node == threads[i].node; end++)
            ;
        count += count_cores(threads + i, end - i);
    }
    return count;
}

/* ---- who had none ---------------------------------------------------------------------------- */

static double share_of(const struct lull_trace *trace, uint64_t ns)
{
    const double share = (double)ns / (double)trace->duration;
    return share < 1 ? share : 1;
}

/* Fills in, on average, the cores that the threads lacked because they themselves wanted more than there are, and
 * those that they lacked although they were no more than there are. */
static void divide_lack(const struct lull_trace *trace, const struct thread_cores *threads,
                        size_t n, struct lull_core_shortage *found)
{
    for (size_t i = 0, end; i < n; i = end) {
        double wanted = 0, lacked = 0;
        for (end = i; end < n && share_cores(&threads[i], &threads[end]); end++) {
            lacked += share_of(trace, threads[end].cores->off);
            wanted +=
                share_of(trace, threads[end].cores->on) + share_of(trace, threads[end].cores->off);
        }
        const double excess = wanted - threads[i].cores->allowed;
        found->own += excess < 0 ? 0 : excess < lacked ? excess : lacked;
        if (end - i <= threads[i].cores->allowed)
            found->others += lacked;
    }
}

struct lull_core_shortage lull_core_shortage_of(const struct lull_trace *trace,
                                                uint32_t application, struct lull_arena *arena)
{
    struct lull_core_shortage found = {0};
    struct thread_cores *threads = lull_arena_zero(arena, trace->n_locations, sizeof *threads);
    double lacked = 0;
    for (uint32_t l = 0; l < trace->n_locations && trace->duration > 0; l++) {
        const struct lull_location *location = &trace->locations[l];
        const struct lull_process *process = &trace->processes[location->process];
        if (location->kind != LULL_LOCATION_THREAD || location->cores.on == 0 ||
            (application != LULL_NONE && process->application != application))
            continue;
        threads[found.known++] = (struct thread_cores){process->node, &location->cores};
        const double share = share_of(trace, location->cores.off);
        lacked += share;
        found.preempted += location->cores.preempted;
        if (share <= LULL_CORE_SHORTAGE_NOTABLE)
            continue;
        found.threads++;
        if (share > found.worst_share) {
            found.worst = location;
            found.worst_share = share;
        }
    }
    qsort(threads, found.known, sizeof *threads, by_cores);
    if (lacked > 0) {
        found.share = lacked / found.known;
        divide_lack(trace, threads, found.known, &found);
        found.own /= lacked;
        found.others /= lacked;
    }
    return found;
}

/* ==== memory ================================================================================== */

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

/* ==== the kernel's work ======================================================================= */

struct lull_usage_sum lull_usage_of(const struct lull_trace *trace, uint32_t application)
{
    struct lull_usage_sum sum = {0};
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const struct lull_location *location = &trace->locations[l];
        const struct lull_usage *usage = &location->usage;
        if (location->kind != LULL_LOCATION_THREAD || (usage->user == 0 && usage->system == 0) ||
            (application != LULL_NONE &&
             trace->processes[location->process].application != application))
            continue;
        sum.known++;
        sum.user += (double)usage->user;
        sum.system += (double)usage->system;
        sum.outside += (double)usage->outside;
        sum.minor += (double)usage->minor;
        sum.major += (double)usage->major;
        sum.voluntary += (double)usage->voluntary;
        if (usage->outside > 0 && (!sum.most || usage->outside > sum.most->usage.outside))
            sum.most = location;
    }
    return sum;
}
