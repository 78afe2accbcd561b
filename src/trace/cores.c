/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/cores.h"

#include <stdlib.h>
#include <string.h>

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
