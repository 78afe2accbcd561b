/* The rows of the ranks that other members of a team have read come to the first. */
#include "team/bring.h"
#include "wave/collector.h"

#include <stdlib.h>

struct gathering {
    struct lull_wave_collector *collector;
    struct lull_team *team;
    const uint32_t *cuts; /* [members + 1]: in front of each the ranks of the others */
};

/* ---- out ----------------------------------------------------------------------------------- */

/* What a rank has that did not end is that it has something. */
struct head {
    struct lull_wave_row row; /* its pointers are nobody's */
    uint64_t n_open;          /* phases that are in no row */
};

static bool put_rank(struct lull_wave_collector *collector, uint32_t rank, struct lull_flow *flow)
{
    const struct lull_wave_row *row = &collector->field.rows[rank];
    struct head head = {.n_open = collector->builders[rank].n_phases};
    if (!collector->trace && !lull_wave_collector_end_rank(collector, rank))
        return false;
    head.row = *row;
    return lull_flow_put(flow, &head, sizeof head) &&
           lull_flow_put_items(flow, row->cells, row->n_cells, sizeof *row->cells) &&
           lull_flow_put_items(flow, row->messages, row->n_messages, sizeof *row->messages) &&
           lull_flow_put_items(flow, row->collectives, row->n_collectives,
                               sizeof *row->collectives);
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    const uint32_t own = lull_team_index(gathering->team);
    bool good = true;
    for (uint32_t r = gathering->cuts[own]; good && r < gathering->cuts[own + 1]; r++) {
        good = put_rank(gathering->collector, r, flow);
        lull_wave_row_free(&gathering->collector->field.rows[r]);
    }
    return good;
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool get_rank(struct lull_wave_collector *collector, uint32_t rank, struct lull_flow *flow)
{
    struct lull_wave_row *row = &collector->field.rows[rank];
    struct head head;
    size_t n;
    if (!lull_flow_get(flow, &head, sizeof head))
        return false;
    *row = head.row;
    collector->builders[rank].n_phases = head.n_open;
    collector->told[rank].ended = true;
    row->cells = lull_flow_get_items(flow, sizeof *row->cells, &n);
    row->messages = row->cells ? lull_flow_get_items(flow, sizeof *row->messages, &n) : NULL;
    row->collectives =
        row->messages ? lull_flow_get_items(flow, sizeof *row->collectives, &n) : NULL;
    return row->collectives != NULL;
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    bool good = true;
    for (uint32_t r = gathering->cuts[member]; good && r < gathering->cuts[member + 1]; r++)
        good = get_rank(gathering->collector, r, flow);
    return good;
}

lull_status lull_wave_collector_gather_ranks(struct lull_wave_collector *collector,
                                             struct lull_team *team, const uint32_t *cuts,
                                             struct lull_error *err)
{
    struct gathering gathering = {collector, team, cuts};
    const struct lull_freight freight = {put, get, &gathering, "the iterations of all ranks"};
    return lull_team_bring(team, &freight, err);
}

/* The ranks of a member: of the processes that it reads, those of the application. */
lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       const struct lull_division *division, struct lull_error *err)
{
    const uint32_t n_ranks = collector->field.n_ranks, first = collector->first_process;
    const uint32_t members = division ? lull_team_size(division->team) : 0;
    if (!division)
        return LULL_OK;
    uint32_t *cuts = calloc(members + (size_t)1, sizeof *cuts);
    for (uint32_t m = 0; cuts && m <= members; m++) {
        const uint32_t rank = division->cuts[m] > first ? division->cuts[m] - first : 0;
        cuts[m] = rank < n_ranks ? rank : n_ranks;
    }
    lull_status status =
        cuts ? lull_wave_collector_gather_ranks(collector, division->team, cuts, err)
             : lull_team_agree(division->team,
                               lull_fail(err, LULL_ERR_MEMORY,
                                         "not enough memory for the iterations of all ranks"),
                               err);
    free(cuts);
    return status;
}
