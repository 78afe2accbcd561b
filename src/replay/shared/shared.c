#include "replay/shared/shared.h"

#include "replay/replay.h"
#include "replay/shared/letters.h"

#include <stdlib.h>

bool lull_shared_may_be(const struct lull_network *network)
{
    return network->class->any_order;
}

/* Which ranks each member has. */
static const uint32_t *ranks_of(const struct lull_shared *shared, struct lull_arena *arena)
{
    const uint32_t members = lull_team_size(shared->division->team);
    uint32_t *cuts = lull_arena_zero(arena, members + (size_t)1, sizeof *cuts);
    for (uint32_t m = 0; m <= members; m++)
        cuts[m] = lull_replay_ranks_before(shared->program, shared->division->cuts[m]);
    return cuts;
}

/* ---- whether all have called the same collective operations -----------------------------------
 */

/* The largest of numbers and of their negatives contradict each other where they differ. */
static lull_status compare_signatures(struct lull_team *team, const uint64_t *signatures,
                                      uint32_t n, bool *ret_differ, struct lull_error *err)
{
    int64_t *values = malloc((2 * (size_t)n + 1) * sizeof *values);
    if (!values)
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    for (uint32_t i = 0; i < n; i++) {
        const int64_t own = (int64_t)signatures[i];
        values[2 * (size_t)i] = own ? own : INT64_MIN;
        values[2 * (size_t)i + 1] = own ? -own : INT64_MIN;
    }
    lull_status status = lull_team_max(team, values, 2 * (size_t)n, err);
    *ret_differ = false;
    for (uint32_t i = 0; i < n && lull_team_is_first(team); i++)
        *ret_differ |= values[2 * (size_t)i] != INT64_MIN &&
                       values[2 * (size_t)i] != -values[2 * (size_t)i + 1];
    free(values);
    return status;
}

/* ---- the result -------------------------------------------------------------------------------
 */

static lull_status put_together(const struct lull_shared *shared, bool alone,
                                const uint64_t *signatures, const struct lull_sim_result *own,
                                struct lull_shared_result *ret_result, struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    int64_t messages = (int64_t)own->n_messages, most[2] = {alone, own->runtime};
    struct lull_shared_result all = {0};
    bool differ = false;
    lull_status status = lull_team_sum(team, &messages, 1, err);
    if (status == LULL_OK)
        status = lull_team_max(team, most, 2, err);
    all.alone = most[0];
    all.runtime = most[1];
    all.n_messages = (uint64_t)messages;
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &all, sizeof all, err);
    if (status == LULL_OK && !all.alone)
        status = compare_signatures(team, signatures, shared->program->n_groups, &differ, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &differ, sizeof differ, err);
    all.alone |= differ;
    *ret_result = all;
    return lull_team_agree(team, status, err);
}

/* ---- simulating -------------------------------------------------------------------------------
 */

/* The part of this member. Sets *ret_lost where the others cannot be reached. */
static lull_status simulate(const struct lull_shared *shared, uint64_t *signatures,
                            struct lull_arena *arena, struct lull_sim_result *ret_own,
                            bool *ret_lost, struct lull_error *err)
{
    struct lull_letters *letters = lull_letters_create(shared->division->team);
    if (!letters || !signatures) {
        lull_letters_destroy(letters);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    }
    struct lull_sim_options options = *shared->options;
    struct lull_sim_part part = lull_letters_part(letters);
    part.cuts = ranks_of(shared, arena);
    part.signatures = signatures;
    options.part = &part;
    lull_status status = lull_simulate(shared->program, &options, arena, ret_own, NULL, err);
    *ret_lost = lull_letters_lost(letters);
    lull_letters_destroy(letters);
    return status;
}

lull_status lull_shared_simulate(const struct lull_shared *shared, lull_status status,
                                 struct lull_arena *arena, struct lull_shared_result *ret_result,
                                 struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    struct lull_sim_result own = {0};
    uint64_t *signatures = NULL;
    bool lost = false;
    lull_team_begin(team, LULL_TEAM_REPLAY);
    if (status == LULL_OK) {
        signatures = calloc(shared->program->n_groups + (size_t)1, sizeof *signatures);
        status = simulate(shared, signatures, arena, &own, &lost, err);
    }
    const bool alone = status != LULL_OK;
    if (alone) /* others may wait for its letters */
        lull_team_stop(team);
    status = lull_team_agree(team, lost ? status : LULL_OK, err);
    if (status == LULL_OK)
        status = put_together(shared, alone, signatures, &own, ret_result, err);
    free(signatures);
    return status;
}
