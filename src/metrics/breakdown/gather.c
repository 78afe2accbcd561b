/* What the members of a team have collected, each of its processes, comes to the first: the ledgers
 * of locations and the parallel regions of processes one behind the other, regions as sums. */
#include "metrics/breakdown/collector.h"
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of_counters(const struct lull_collector *collector)
{
    return (size_t)collector->trace->n_counters * LULL_ACTIVITIES * sizeof(uint64_t);
}

static bool is_collected(const struct lull_collector *collector, uint32_t process)
{
    return collector->trace->processes[process].application == collector->options->application;
}

/* ---- out ----------------------------------------------------------------------------------- */

static bool put_process(const struct lull_collector *collector, uint32_t p, struct lull_flow *flow)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool fits = true;
    for (uint32_t i = 0; fits && i < process->n_locations; i++) {
        const struct location *location = &collector->locations[process->first_location + i];
        fits = lull_flow_put(flow, location->ns, sizeof location->ns);
        if (fits && location->counters)
            fits = lull_flow_put(flow, location->counters, size_of_counters(collector));
    }
    const struct lull_parallel_breakdown *sums = NULL;
    const uint32_t *regions = NULL;
    const uint32_t n = collector->executions[p]
                           ? lull_executions_result(collector->executions[p], &sums, &regions)
                           : 0;
    return fits && lull_flow_put_items(flow, sums, n, sizeof *sums) &&
           lull_flow_put_items(flow, regions, n, sizeof *regions);
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool get_parallels(struct lull_executions *executions, struct lull_flow *flow)
{
    size_t n, same = 0;
    struct lull_parallel_breakdown *sums = lull_flow_get_items(flow, sizeof *sums, &n);
    uint32_t *regions = sums ? lull_flow_get_items(flow, sizeof *regions, &same) : NULL;
    const bool good = regions && same == n && (executions || n == 0);
    if (good && n > 0) {
        lull_executions_adopt(executions, (uint32_t)n, sums, regions);
        return true;
    }
    free(sums);
    free(regions);
    return good;
}

static bool get_process(const struct lull_collector *collector, uint32_t p, struct lull_flow *flow)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool good = true;
    for (uint32_t i = 0; good && i < process->n_locations; i++) {
        struct location *location = &collector->locations[process->first_location + i];
        good = lull_flow_get(flow, location->ns, sizeof location->ns);
        if (good && location->counters)
            good = lull_flow_get(flow, location->counters, size_of_counters(collector));
    }
    return good && get_parallels(collector->executions[p], flow);
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Each process of a member goes its way. */
static bool go_over(const struct lull_collector *collector, uint32_t member, struct lull_flow *flow,
                    bool (*go)(const struct lull_collector *collector, uint32_t p,
                               struct lull_flow *flow))
{
    const uint32_t *cuts = collector->options->division->cuts;
    bool good = true;
    for (uint32_t p = cuts[member]; good && p < cuts[member + 1]; p++)
        if (is_collected(collector, p))
            good = go(collector, p, flow);
    return good;
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct lull_collector *collector = context;
    return go_over(collector, lull_team_index(collector->options->division->team), flow,
                   put_process);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    return go_over(context, member, flow, get_process);
}

/* ---- regions ------------------------------------------------------------------------------- */

static_assert(sizeof(struct lull_region_ledger) == 4 * sizeof(int64_t), "summed as integers");

static lull_status sum_regions(struct lull_collector *collector, struct lull_error *err)
{
    const size_t n = (size_t)collector->trace->n_regions * 4;
    if (!collector->regions)
        return LULL_OK;
    int64_t *sums = calloc(n + 1, sizeof *sums), *part = calloc(n + 1, sizeof *part);
    lull_status status = LULL_OK;
    for (unsigned w = 0; sums && part && w < collector->workers; w++) {
        memcpy(part, collector->regions + w * (size_t)collector->trace->n_regions,
               n * sizeof *part);
        for (size_t i = 0; i < n; i++)
            sums[i] += part[i];
    }
    if (!sums || !part)
        status = lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    status = lull_team_agree(collector->options->division->team, status, err);
    if (status == LULL_OK)
        status = lull_team_sum(collector->options->division->team, sums, n, err);
    if (status == LULL_OK) {
        memset(collector->regions, 0, collector->workers * n * sizeof *sums);
        memcpy(collector->regions, sums, n * sizeof *sums);
    }
    free(sums);
    free(part);
    return status;
}

lull_status lull_collector_gather(struct lull_collector *collector, struct lull_error *err)
{
    const struct lull_division *division = collector->options->division;
    const struct lull_freight freight = {put, get, collector, "a breakdown"};
    if (!division)
        return LULL_OK;
    lull_status status = lull_team_bring(division->team, &freight, err);
    return status == LULL_OK ? sum_regions(collector, err) : status;
}
