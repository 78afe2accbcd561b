/* The rows of the ranks that other members of a team have read come to the first. */
#include "team/bring.h"
#include "wave/collector.h"

struct gathering {
    struct lull_wave_collector *collector;
    const struct lull_division *division;
};

/* The ranks of a member: of the processes that it reads, those of the application. */
static uint32_t first_rank(const struct gathering *gathering, uint32_t member)
{
    const struct lull_wave_collector *collector = gathering->collector;
    const uint32_t cut = gathering->division->cuts[member], first = collector->first_process;
    const uint32_t rank = cut > first ? cut - first : 0;
    return rank < collector->field.n_ranks ? rank : collector->field.n_ranks;
}

/* ---- out ----------------------------------------------------------------------------------- */

/* What a rank has that did not end is that it has something. */
struct head {
    struct lull_wave_row row; /* its pointers are nobody's */
    uint64_t n_open;          /* phases that are in no row */
};

static bool put_rank(const struct lull_wave_collector *collector, uint32_t rank,
                     struct lull_flow *flow)
{
    const struct lull_wave_row *row = &collector->field.rows[rank];
    const struct head head = {*row, collector->builders[rank].n_phases};
    return lull_flow_put(flow, &head, sizeof head) &&
           lull_flow_put_items(flow, row->cells, row->n_cells, sizeof *row->cells) &&
           lull_flow_put_items(flow, row->messages, row->n_messages, sizeof *row->messages) &&
           lull_flow_put_items(flow, row->collectives, row->n_collectives,
                               sizeof *row->collectives);
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    const uint32_t own = lull_team_index(gathering->division->team);
    const uint32_t end = first_rank(gathering, own + 1);
    bool good = true;
    for (uint32_t r = first_rank(gathering, own); good && r < end; r++) {
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
    row->cells = lull_flow_get_items(flow, sizeof *row->cells, &n);
    row->messages = row->cells ? lull_flow_get_items(flow, sizeof *row->messages, &n) : NULL;
    row->collectives =
        row->messages ? lull_flow_get_items(flow, sizeof *row->collectives, &n) : NULL;
    return row->collectives != NULL;
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    const uint32_t end = first_rank(gathering, member + 1);
    bool good = true;
    for (uint32_t r = first_rank(gathering, member); good && r < end; r++)
        good = get_rank(gathering->collector, r, flow);
    return good;
}

lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       const struct lull_division *division, struct lull_error *err)
{
    struct gathering gathering = {collector, division};
    const struct lull_freight freight = {put, get, &gathering, "the iterations of all ranks"};
    return division ? lull_team_bring(division->team, &freight, err) : LULL_OK;
}
