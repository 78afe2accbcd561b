/* What the members of a team have collected, each of its processes, comes to the first: the ledgers
 * of locations and the parallel regions of processes one behind the other, regions as sums. */
#include "base/array.h"
#include "metrics/breakdown/collector.h"

#include <stdlib.h>
#include <string.h>

struct gathered {
    unsigned char *bytes;
    size_t size, capacity;
};

/* Where somebody else's bytes are read. */
struct place {
    const unsigned char *at;
    size_t left;
};

static bool put(struct gathered *to, const void *bytes, size_t size)
{
    if (!lull_array_reserve(&to->bytes, &to->capacity, to->size + size, 1))
        return false;
    if (size)
        memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return true;
}

static bool get(struct place *from, void *bytes, size_t size)
{
    if (from->left < size)
        return false;
    if (size)
        memcpy(bytes, from->at, size);
    from->at += size;
    from->left -= size;
    return true;
}

static size_t size_of_counters(const struct lull_collector *collector)
{
    return (size_t)collector->trace->n_counters * LULL_ACTIVITIES * sizeof(uint64_t);
}

static bool is_collected(const struct lull_collector *collector, uint32_t process)
{
    return collector->trace->processes[process].application == collector->options->application;
}

/* ---- out ----------------------------------------------------------------------------------- */

static bool put_process(const struct lull_collector *collector, uint32_t p, struct gathered *to)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool fits = true;
    for (uint32_t i = 0; fits && i < process->n_locations; i++) {
        const struct location *location = &collector->locations[process->first_location + i];
        fits = put(to, location->ns, sizeof location->ns);
        if (fits && location->counters)
            fits = put(to, location->counters, size_of_counters(collector));
    }
    const struct lull_parallel_breakdown *sums = NULL;
    const uint32_t *regions = NULL;
    const uint32_t n = collector->executions[p]
                           ? lull_executions_result(collector->executions[p], &sums, &regions)
                           : 0;
    return fits && put(to, &n, sizeof n) && put(to, sums, n * sizeof *sums) &&
           put(to, regions, n * sizeof *regions);
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool get_parallels(struct lull_executions *executions, struct place *from)
{
    uint32_t n;
    if (!get(from, &n, sizeof n))
        return false;
    if (n == 0)
        return true;
    struct lull_parallel_breakdown *sums = malloc(n * sizeof *sums);
    uint32_t *regions = malloc(n * sizeof *regions);
    if (executions && sums && regions && get(from, sums, n * sizeof *sums) &&
        get(from, regions, n * sizeof *regions)) {
        lull_executions_adopt(executions, n, sums, regions);
        return true;
    }
    free(sums);
    free(regions);
    return false;
}

static bool get_process(const struct lull_collector *collector, uint32_t p, struct place *from)
{
    const struct lull_process *process = &collector->trace->processes[p];
    bool good = true;
    for (uint32_t i = 0; good && i < process->n_locations; i++) {
        struct location *location = &collector->locations[process->first_location + i];
        good = get(from, location->ns, sizeof location->ns);
        if (good && location->counters)
            good = get(from, location->counters, size_of_counters(collector));
    }
    return good && get_parallels(collector->executions[p], from);
}

static lull_status take_member(void *context, uint32_t member, const void *bytes, size_t size,
                               struct lull_error *err)
{
    const struct lull_collector *collector = context;
    const uint32_t *cuts = collector->options->division->cuts;
    struct place place = {bytes, size};
    bool good = true;
    for (uint32_t p = cuts[member]; member > 0 && good && p < cuts[member + 1]; p++)
        if (is_collected(collector, p))
            good = get_process(collector, p, &place);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_MEMORY,
                            "%s: not enough memory for what rank %u has collected",
                            collector->trace->path, member);
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
    if (!division)
        return LULL_OK;
    const uint32_t own = lull_team_index(division->team);
    struct gathered gathered = {0};
    bool fits = true;
    for (uint32_t p = division->cuts[own]; own > 0 && fits && p < division->cuts[own + 1]; p++)
        if (is_collected(collector, p))
            fits = put_process(collector, p, &gathered);
    lull_status status =
        fits ? LULL_OK : lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a breakdown");
    status = lull_team_agree(division->team, status, err);
    if (status == LULL_OK)
        status = lull_team_collect(division->team, gathered.bytes, gathered.size, take_member,
                                   collector, err);
    free(gathered.bytes);
    return status == LULL_OK ? sum_regions(collector, err) : status;
}
