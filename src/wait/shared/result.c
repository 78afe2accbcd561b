#include "wait/shared/result.h"

#include "team/bring.h"

#include <stdlib.h>

struct findings {
    struct lull_waits *waits;
    struct lull_wait_result *result;
    struct lull_wait_location *locations; /* [n_locations] of the trace */
};

struct counts {
    uint64_t messages, collectives, unmatched_sends, unmatched_operations;
};

/* The locations of a member's processes: from *ret_first on. */
static uint32_t locations_of(const struct lull_waits *waits, uint32_t member, uint32_t *ret_first)
{
    const struct lull_trace *trace = waits->trace;
    const uint32_t *cuts = waits->options.division->cuts + member;
    const struct lull_process *processes = trace->processes;
    const uint32_t end =
        cuts[1] < trace->n_processes ? processes[cuts[1]].first_location : trace->n_locations;
    *ret_first =
        cuts[0] < trace->n_processes ? processes[cuts[0]].first_location : trace->n_locations;
    return end - *ret_first;
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct findings *findings = context;
    const struct lull_waits *waits = findings->waits;
    const struct lull_wait_result *result = findings->result;
    const struct counts counts = {result->messages, result->collectives, result->unmatched_sends,
                                  result->unmatched_operations};
    uint32_t first;
    const uint32_t n = locations_of(waits, lull_team_index(waits->options.division->team), &first);
    return lull_flow_put(flow, &counts, sizeof counts) &&
           lull_flow_put(flow, findings->locations + first, n * sizeof *findings->locations) &&
           lull_flow_put_items(flow, waits->charges, waits->charges_by_place.count,
                               sizeof *waits->charges);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    struct findings *findings = context;
    struct lull_waits *waits = findings->waits;
    struct lull_wait_result *result = findings->result;
    struct counts counts;
    uint32_t first;
    const uint32_t n = locations_of(waits, member, &first);
    size_t n_charges;
    if (!lull_flow_get(flow, &counts, sizeof counts) ||
        !lull_flow_get(flow, findings->locations + first, n * sizeof *findings->locations))
        return false;
    result->messages += counts.messages;
    result->collectives += counts.collectives;
    result->unmatched_sends += counts.unmatched_sends;
    result->unmatched_operations += counts.unmatched_operations;
    struct lull_wait_charge *charges = lull_flow_get_items(flow, sizeof *charges, &n_charges);
    bool good = charges;
    for (size_t i = 0; i < n_charges && good; i++)
        good = lull_wait_add_charge(waits, &charges[i]);
    free(charges);
    return good;
}

lull_status lull_wait_gather_result(struct lull_waits *waits, struct lull_wait_result *result,
                                    struct lull_wait_location *locations, struct lull_error *err)
{
    struct findings findings = {waits, result, locations};
    const struct lull_freight freight = {put, get, &findings, "waits"};
    return lull_team_bring(waits->options.division->team, &freight, err);
}

lull_status lull_wait_gather_others(struct lull_waits *waits, bool *others, struct lull_error *err)
{
    struct lull_team *team = waits->options.division->team;
    int64_t any = *others;
    lull_status status = lull_team_max(team, &any, 1, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &any, sizeof any, err);
    *others = any;
    return status;
}
