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

/* Those of each process of a member go their way. */
static bool
go_over_locations(const struct findings *findings, uint32_t member, struct lull_flow *flow,
                  bool (*go)(const struct lull_process *process,
                             struct lull_wait_location *locations, struct lull_flow *flow))
{
    const struct lull_waits *waits = findings->waits;
    const uint32_t *cuts = waits->options.division->cuts + member;
    bool good = true;
    for (uint32_t p = cuts[0]; good && p < cuts[1]; p++) {
        const struct lull_process *process = &waits->trace->processes[p];
        good = go(process, findings->locations + process->first_location, flow);
    }
    return good;
}

static bool put_locations(const struct lull_process *process, struct lull_wait_location *locations,
                          struct lull_flow *flow)
{
    return lull_flow_put(flow, locations, process->n_locations * sizeof *locations);
}

static bool get_locations(const struct lull_process *process, struct lull_wait_location *locations,
                          struct lull_flow *flow)
{
    return lull_flow_get(flow, locations, process->n_locations * sizeof *locations);
}

static bool put_findings(void *context, struct lull_flow *flow)
{
    const struct findings *findings = context;
    const struct lull_waits *waits = findings->waits;
    const struct lull_wait_result *result = findings->result;
    const struct counts counts = {result->messages, result->collectives, result->unmatched_sends,
                                  result->unmatched_operations};
    const uint32_t own = lull_team_index(lull_wait_team(waits));
    return lull_flow_put(flow, &counts, sizeof counts) &&
           go_over_locations(findings, own, flow, put_locations) &&
           lull_flow_put_items(flow, waits->charges, waits->charges_by_place.count,
                               sizeof *waits->charges);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    struct findings *findings = context;
    struct lull_waits *waits = findings->waits;
    struct lull_wait_result *result = findings->result;
    struct counts counts;
    size_t n_charges;
    if (!lull_flow_get(flow, &counts, sizeof counts) ||
        !go_over_locations(findings, member, flow, get_locations))
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
    const struct lull_freight freight = {put_findings, get, &findings, "waits"};
    return lull_team_bring(waits->options.division->team, &freight, err);
}

lull_status lull_wait_gather_others(struct lull_waits *waits, bool *others, struct lull_error *err)
{
    struct lull_team *team = waits->options.division->team;
    int64_t any = *others;
    lull_status status = lull_team_max_to_all(team, &any, 1, err);
    *others = any;
    return status;
}
