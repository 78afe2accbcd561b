#include "study/replay/to_all.h"

#include "replay/measured_network.h"
#include "team/bring.h"

#include <stdlib.h>
#include <string.h>

/* ---- the survey -------------------------------------------------------------------------------
 */

static bool put_survey(void *context, struct lull_flow *flow)
{
    return lull_survey_put(context, flow);
}

static bool get_survey(void *context, uint32_t member, struct lull_flow *flow)
{
    (void)member;
    return lull_survey_get(context, flow);
}

lull_status lull_measured_survey_to_all(struct lull_measured *measured,
                                        const struct lull_trace *trace, uint32_t application,
                                        struct lull_team *team, struct lull_error *err)
{
    lull_status status = LULL_OK;
    if (!lull_team_is_first(team)) { /* what it knew itself comes back with the rest */
        lull_survey_destroy(measured->survey);
        measured->survey = NULL;
        status = lull_survey_create(trace, application, &measured->survey, err);
    }
    if (status != LULL_OK)
        return lull_team_agree(team, status, err);
    const struct lull_freight freight = {put_survey, get_survey, measured->survey,
                                         "what a replay has to know"};
    status = lull_team_spread(team, &freight, err);
    if (status == LULL_OK && !lull_team_is_first(team))
        lull_survey_conclude(measured->survey);
    return status;
}

/* ---- the network ------------------------------------------------------------------------------
 */

/* The text and the arrays are followed by what they point to. */
struct facts {
    struct lull_network *network;
    const bool **callers;
    uint32_t n_locations;
    struct lull_arena *arena;
};

static bool put_facts(void *context, struct lull_flow *flow)
{
    const struct facts *facts = context;
    const struct lull_network *network = facts->network;
    bool good = lull_flow_put(flow, network, sizeof *network) &&
                lull_flow_put_text(flow, network->class->name) &&
                lull_flow_put_text(flow, network->algorithms);
    for (unsigned level = 0; level < LULL_LEVELS && good; level++)
        good = lull_flow_put_items(flow, network->ranges[level], network->n_ranges[level],
                                   sizeof *network->ranges[level]);
    return good && lull_flow_put_items(flow, *facts->callers,
                                       *facts->callers ? facts->n_locations : 0, sizeof(bool));
}

/* An array in the arena; NULL where it has no elements, too: *ret_good tells. */
static void *get_array(struct lull_flow *flow, struct lull_arena *arena, size_t size,
                       bool *ret_good)
{
    size_t count;
    void *items = lull_flow_get_items(flow, size, &count);
    void *kept = items && count > 0 ? lull_arena_zero(arena, count, size) : NULL;
    if (kept)
        memcpy(kept, items, count * size);
    *ret_good = items;
    free(items);
    return kept;
}

static bool get_facts(void *context, uint32_t member, struct lull_flow *flow)
{
    struct facts *facts = context;
    struct lull_network *network = facts->network;
    const char *class;
    (void)member;
    if (!lull_flow_get(flow, network, sizeof *network) ||
        !lull_flow_get_text(flow, facts->arena, &class))
        return false;
    network->class = class ? lull_network_find(class) : NULL;
    if (!network->class)
        return false;
    bool good = lull_flow_get_text(flow, facts->arena, &network->algorithms);
    for (unsigned level = 0; level < LULL_LEVELS && good; level++)
        network->ranges[level] =
            get_array(flow, facts->arena, sizeof *network->ranges[level], &good);
    if (good)
        *facts->callers = get_array(flow, facts->arena, sizeof(bool), &good);
    return good;
}

lull_status lull_measured_network_to_all(const struct lull_trace *trace, uint32_t application,
                                         struct lull_team *team, struct lull_arena *arena,
                                         struct lull_network *network, const bool **callers,
                                         struct lull_error *err)
{
    struct facts facts = {network, callers, trace->n_locations, arena};
    const struct lull_freight freight = {put_facts, get_facts, &facts, "a network"};
    lull_status status = lull_team_spread(team, &freight, err);
    if (status == LULL_OK && !lull_team_is_first(team))
        lull_replay_placement(trace, application, arena, &network->placement);
    return status;
}
