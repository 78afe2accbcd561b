#include "diagnose/rule/threads/parallels.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    const struct lull_parallel_breakdown *const *x = a, *const *y = b;
    const int order = strcmp((*x)->name, (*y)->name);
    return order ? order : (*x)->process < (*y)->process ? -1 : (*x)->process > (*y)->process;
}

static void add_parallel(struct lull_parallels *to, const struct lull_breakdown *breakdown,
                         const struct lull_parallel_breakdown *from)
{
    const struct lull_process_breakdown *process = &breakdown->processes[from->process];
    const int64_t threads = process->n_cpu_threads;
    to->executions += from->executions;
    to->threads = process->n_cpu_threads > to->threads ? process->n_cpu_threads : to->threads;
    to->useful_ns += from->useful_ns;
    to->schedule_ns += from->schedule_ns;
    to->lock_ns += from->lock_ns;
    const int64_t shorter = threads * from->max_useful_ns - from->useful_ns;
    to->imbalance_ns += shorter < from->sync_ns ? shorter : from->sync_ns;
}

uint32_t lull_parallels_of(struct lull_case *c, struct lull_parallels **ret_parallels)
{
    const struct lull_breakdown *breakdown = c->evidence->breakdown;
    const uint32_t n = breakdown->n_parallels;
    const struct lull_parallel_breakdown **sorted =
        lull_arena_zero(c->arena, n + (size_t)1, sizeof *sorted);
    struct lull_parallels *all = lull_arena_zero(c->arena, n + (size_t)1, sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &breakdown->parallels[i];
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t rank = breakdown->processes[sorted[i]->process].rank;
        if (count == 0 || strcmp(all[count - 1].name, sorted[i]->name) != 0)
            all[count++] = (struct lull_parallels){.name = sorted[i]->name, .rank = rank};
        add_parallel(&all[count - 1], breakdown, sorted[i]);
        if (all[count - 1].rank != rank)
            all[count - 1].rank = LULL_NONE;
    }
    *ret_parallels = all;
    return count;
}

void lull_parallels_set_process(struct lull_case *c, struct lull_finding *finding,
                                const struct lull_parallels *parallels)
{
    const uint32_t process = parallels->rank == LULL_NONE
                                 ? LULL_NONE
                                 : lull_evidence_process_of_rank(c->evidence, parallels->rank);
    if (process != LULL_NONE)
        lull_finding_set_process(c, finding, process);
}

void lull_threads_fix(struct lull_case *c, struct lull_finding *finding,
                      enum lull_threads_change change, const char *region)
{
    struct lull_what_if_options *fix = lull_finding_fix(c, finding);
    fix->n_threads = 1;
    fix->threads[0] = (struct lull_what_if_threads){(uint8_t)change, region};
}
