/* What other members of a team have read comes to the first: leaf by leaf, then what several leaves
 * share. All of it is integers that add up. */
#include "timeline/builder.h"

struct gathering {
    struct lull_timeline_builder *builder;
    const struct lull_division *division;
    bool all_steps, all_messages; /* of the run are kept */
};

/* Whether all steps and messages fit is known by their numbers in all members. */
static lull_status count_all(struct gathering *gathering, struct lull_error *err)
{
    const struct lull_timeline_builder *builder = gathering->builder;
    struct lull_team *team = gathering->division->team;
    int64_t counts[2] = {0, (int64_t)atomic_load(&builder->mail.count)};
    for (uint32_t l = 0; l < builder->timeline.n_leaves; l++)
        counts[0] += (int64_t)builder->recording.recorders[l].count;
    lull_status status = lull_team_sum_to_all(team, counts, 2, err);
    gathering->all_steps = (uint64_t)counts[0] <= builder->recording.most;
    gathering->all_messages = (uint64_t)counts[1] <= 2 * builder->mail.most;
    return status;
}

/* ---- leaf by leaf -------------------------------------------------------------------------- */

static bool put_leaf(const struct gathering *gathering, uint32_t leaf, struct lull_flow *flow)
{
    const struct lull_timeline_builder *builder = gathering->builder;
    return lull_timeline_grid_put_leaf(builder->timeline.grid, leaf, flow) &&
           lull_timeline_tally_put(&builder->tally, leaf, flow) &&
           lull_timeline_record_put(&builder->recording, leaf, gathering->all_steps, flow) &&
           lull_timeline_mail_put_leaf(&builder->mail, leaf, gathering->all_messages, flow);
}

static bool get_leaf(const struct gathering *gathering, uint32_t leaf, struct lull_flow *flow)
{
    struct lull_timeline_builder *builder = gathering->builder;
    return lull_timeline_grid_get_leaf(builder->timeline.grid, leaf, flow) &&
           lull_timeline_tally_get(&builder->tally, leaf, flow) &&
           lull_timeline_record_get(&builder->recording, leaf, gathering->all_steps, flow) &&
           lull_timeline_mail_get_leaf(&builder->mail, leaf, gathering->all_messages, flow);
}

/* Each leaf of the processes that a member reads goes its way. */
static bool go_over(const struct gathering *gathering, uint32_t member, struct lull_flow *flow,
                    bool (*go)(const struct gathering *gathering, uint32_t leaf,
                               struct lull_flow *flow))
{
    const struct lull_trace *trace = gathering->builder->timeline.trace;
    const uint32_t *leaf_of = gathering->builder->layout.leaf_of;
    const uint32_t *cuts = gathering->division->cuts;
    bool good = true;
    for (uint32_t p = cuts[member]; p < cuts[member + 1]; p++) {
        const struct lull_process *process = &trace->processes[p];
        for (uint32_t i = 0; good && i < process->n_locations; i++) {
            const uint32_t leaf = leaf_of[process->first_location + i];
            good = leaf == LULL_NONE || go(gathering, leaf, flow);
        }
    }
    return good;
}

/* ---- both ---------------------------------------------------------------------------------- */

static bool put(void *context, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    const struct lull_timeline_builder *builder = gathering->builder;
    const uint64_t activities = atomic_load(&builder->activities);
    return go_over(gathering, lull_team_index(gathering->division->team), flow, put_leaf) &&
           lull_flow_put(flow, &activities, sizeof activities) &&
           lull_timeline_grid_put(builder->timeline.grid, flow) &&
           lull_timeline_mail_put(&builder->mail, flow);
}

static bool get(void *context, uint32_t member, struct lull_flow *flow)
{
    const struct gathering *gathering = context;
    struct lull_timeline_builder *builder = gathering->builder;
    uint64_t activities;
    if (!go_over(gathering, member, flow, get_leaf) ||
        !lull_flow_get(flow, &activities, sizeof activities))
        return false;
    atomic_fetch_or(&builder->activities, activities);
    return lull_timeline_grid_get(builder->timeline.grid, flow) &&
           lull_timeline_mail_get(&builder->mail, flow);
}

lull_status lull_timeline_gather(struct lull_timeline_builder *builder,
                                 const struct lull_division *division, struct lull_error *err)
{
    struct gathering gathering = {.builder = builder, .division = division};
    const struct lull_freight freight = {put, get, &gathering, "a timeline of all locations"};
    if (!division)
        return LULL_OK;
    lull_status status = count_all(&gathering, err);
    if (status != LULL_OK)
        return lull_team_agree(division->team, status, err);
    atomic_store(&builder->mail.over, !gathering.all_messages);
    return lull_team_bring(division->team, &freight, err);
}
