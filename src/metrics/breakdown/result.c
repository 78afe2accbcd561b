/* From what a collector holds to a breakdown. */
#include "metrics/breakdown/collector.h"
#include "metrics/breakdown/merge.h"
#include "metrics/breakdown/outline.h"

#include <string.h>

static void fill_thread(const struct lull_collector *collector, const struct location *location,
                        struct lull_thread_breakdown *thread)
{
    const size_t n = (size_t)collector->trace->n_counters * LULL_ACTIVITIES;
    const int64_t *ns = location->ns;
    thread->disabled_ns =
        ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 0)] + ns[LULL_SLOT(LULL_ACTIVITY_DISABLED, 1)];
    if (location->counters)
        memcpy(thread->counters, location->counters, n * sizeof *thread->counters);
    for (int activity = 0; activity < LULL_ACTIVITIES; activity++) {
        thread->times.ns[activity][0] = ns[LULL_SLOT(activity, 0)];
        thread->times.ns[activity][1] = ns[LULL_SLOT(activity, 1)];
    }
}

/* In the order of the outline. */
static void fill_threads(const struct lull_collector *collector, struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    uint32_t thread = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++)
        for (uint32_t i = 0; i < trace->processes[p].n_locations; i++) {
            if (trace->processes[p].application != collector->options->application)
                continue;
            uint32_t location = trace->processes[p].first_location + i;
            fill_thread(collector, &collector->locations[location], &breakdown->threads[thread++]);
        }
}

static struct lull_region_ledger sum_of_region(const struct lull_collector *collector,
                                               uint32_t region)
{
    struct lull_region_ledger sum = {0};
    for (unsigned worker = 0; worker < collector->workers; worker++) {
        const struct lull_region_ledger *part =
            &collector->regions[(size_t)worker * collector->trace->n_regions + region];
        sum.visits += part->visits;
        sum.inclusive_ns += part->inclusive_ns;
        sum.exclusive_ns += part->exclusive_ns;
        sum.useful_ns += part->useful_ns;
    }
    return sum;
}

/* What a region mostly counted as: functions of a device's paradigm are its runtime on the host,
 * and kernels on its streams. */
static uint8_t activity_of(const struct lull_region *region, const struct lull_region_ledger *sum)
{
    bool kernel = region->activity == LULL_DEVICE && 2 * sum->useful_ns > sum->exclusive_ns;
    return kernel ? LULL_USEFUL : region->activity;
}

static void fill_collected_regions(const struct lull_collector *collector, struct lull_arena *arena,
                                   struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    if (!collector->regions)
        return;
    breakdown->regions = lull_arena_zero(arena, trace->n_regions, sizeof *breakdown->regions);
    for (uint32_t i = 0; i < trace->n_regions; i++) {
        const struct lull_region *region = &trace->regions[i];
        struct lull_region_ledger sum = sum_of_region(collector, i);
        if (sum.visits == 0 && sum.inclusive_ns == 0)
            continue;
        breakdown->regions[breakdown->n_regions++] = (struct lull_region_breakdown){
            .name = lull_arena_strdup(arena, region->name),
            .site = lull_arena_strdup(arena, region->site),
            .paradigm = region->paradigm,
            .role = region->role,
            .activity = activity_of(region, &sum),
            .visits = sum.visits,
            .inclusive_ns = sum.inclusive_ns,
            .exclusive_ns = sum.exclusive_ns,
            .useful_ns = sum.useful_ns,
        };
    }
}

static void fill_parallels(const struct lull_collector *collector, struct lull_arena *arena,
                           struct lull_breakdown *breakdown)
{
    const struct lull_trace *trace = collector->trace;
    size_t capacity = 0;
    uint32_t process = 0;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        if (trace->processes[p].application != collector->options->application)
            continue;
        const struct lull_parallel_breakdown *sums = NULL;
        const uint32_t *regions = NULL;
        uint32_t n = collector->executions[p]
                         ? lull_executions_result(collector->executions[p], &sums, &regions)
                         : 0;
        breakdown->parallels =
            lull_arena_grow(arena, breakdown->parallels, &capacity, breakdown->n_parallels + n,
                            sizeof *breakdown->parallels);
        for (uint32_t i = 0; i < n; i++) {
            struct lull_parallel_breakdown *to = &breakdown->parallels[breakdown->n_parallels++];
            *to = sums[i];
            to->process = process;
            to->name = regions[i] == LULL_NONE
                           ? "parallel region"
                           : lull_arena_strdup(arena, trace->regions[regions[i]].name);
        }
        process++;
    }
}

lull_status lull_collector_result(const struct lull_collector *collector, struct lull_arena *arena,
                                  struct lull_breakdown **ret_breakdown, struct lull_error *err)
{
    struct lull_breakdown *breakdown =
        lull_breakdown_outline(collector->trace, collector->options->application, arena);
    fill_threads(collector, breakdown);
    fill_collected_regions(collector, arena, breakdown);
    fill_parallels(collector, arena, breakdown);
    lull_status status = lull_breakdown_join(breakdown, NULL, arena, breakdown, err);
    if (status == LULL_OK)
        *ret_breakdown = breakdown;
    return status;
}
