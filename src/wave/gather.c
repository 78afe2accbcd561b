/* What members of a team have collected comes to the first: of each rank the head and the messages
 * or, where the first is to be alone with it, all. */
#include "team/bring.h"
#include "wave/collector.h"

#include <stdlib.h>

struct gathering {
    struct lull_wave_collector *collector;
    bool whole;
};

/* ---- out ----------------------------------------------------------------------------------- */

/* In front: of which ranks a member tells. */
struct range {
    uint32_t first, end;
};

/* What a rank has that did not end is that it has something. */
struct head {
    struct lull_wave_row row; /* its pointers are nobody's */
    uint64_t n_open;          /* phases that are in no row */
};

static bool put_rank(const struct lull_wave_collector *collector, uint32_t rank, bool whole,
                     struct lull_flow *flow)
{
    const struct lull_wave_row *row = &collector->field.rows[rank];
    const struct head head = {*row, collector->builders[rank].n_phases};
    return lull_flow_put(flow, &head, sizeof head) &&
           lull_flow_put_items(flow, row->messages, row->n_messages, sizeof *row->messages) &&
           (!whole || (lull_flow_put_items(flow, row->cells, row->n_cells, sizeof *row->cells) &&
                       lull_flow_put_items(flow, row->collectives, row->n_collectives,
                                           sizeof *row->collectives)));
}

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_wave_field *field = &gathering->collector->field;
    const struct range own = {field->own, field->own_end};
    bool good = lull_flow_put(flow, &own, sizeof own);
    for (uint32_t r = own.first; good && r < own.end; r++) {
        good = put_rank(gathering->collector, r, gathering->whole, flow);
        if (gathering->whole)
            lull_wave_row_free(&field->rows[r]);
    }
    return good;
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool get_rank(struct lull_wave_collector *collector, uint32_t rank, bool whole,
                     struct lull_flow *flow)
{
    struct lull_wave_row *row = &collector->field.rows[rank];
    struct head head;
    size_t n;
    if (!lull_flow_get(flow, &head, sizeof head))
        return false;
    *row = head.row;
    row->cells = NULL;
    row->collectives = NULL;
    collector->builders[rank].n_phases = head.n_open;
    row->messages = lull_flow_get_items(flow, sizeof *row->messages, &n);
    if (whole && row->messages)
        row->cells = lull_flow_get_items(flow, sizeof *row->cells, &n);
    if (whole && row->cells)
        row->collectives = lull_flow_get_items(flow, sizeof *row->collectives, &n);
    return whole ? row->collectives != NULL : row->messages != NULL;
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_wave_collector *collector = gathering->collector;
    struct range theirs;
    (void)member;
    bool good = lull_flow_get(flow, &theirs, sizeof theirs);
    for (uint32_t r = theirs.first; good && r < theirs.end; r++)
        good = get_rank(collector, r, gathering->whole, flow);
    return good;
}

static lull_status gather(struct lull_wave_collector *collector, bool whole, struct lull_error *err)
{
    struct gathering gathering = {collector, whole};
    const struct lull_freight freight = {put, get, &gathering, "the iterations of all ranks"};
    return lull_team_bring(collector->field.team, &freight, err);
}

/* ---- both ------------------------------------------------------------------------------------ */

lull_status lull_wave_collector_gather_heads(struct lull_wave_collector *collector,
                                             struct lull_error *err)
{
    return gather(collector, false, err);
}

lull_status lull_wave_collector_gather(struct lull_wave_collector *collector,
                                       struct lull_error *err)
{
    struct lull_wave_field *field = &collector->field;
    lull_status status = gather(collector, true, err);
    field->team = NULL;
    field->own = 0;
    field->own_end = field->n_ranks;
    return status;
}

void lull_wave_collector_share(struct lull_wave_collector *collector, struct lull_team *team,
                               uint32_t first, uint32_t end)
{
    collector->field.team = team;
    collector->field.own = first;
    collector->field.own_end = end;
}

/* The ranks in front of a process of the run. */
static uint32_t ranks_before(const struct lull_wave_collector *collector, uint32_t process)
{
    const uint32_t first = collector->first_process, n_ranks = collector->field.n_ranks;
    const uint32_t rank = process > first ? process - first : 0;
    return rank < n_ranks ? rank : n_ranks;
}

void lull_wave_collector_share_processes(struct lull_wave_collector *collector,
                                         const struct lull_division *division)
{
    if (!division)
        return;
    const uint32_t *cuts = &division->cuts[lull_team_index(division->team)];
    lull_wave_collector_share(collector, division->team, ranks_before(collector, cuts[0]),
                              ranks_before(collector, cuts[1]));
}
