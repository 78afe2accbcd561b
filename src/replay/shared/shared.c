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

enum { SENDS, RECEIVES, COMPUTES, MESSAGES, COLLECTIVES, SUMS };

/* What all know then. */
struct outcome {
    int64_t alone, runtime, sums[SUMS];
};

static lull_status reduce(struct lull_team *team, bool alone, struct lull_sim_result *result,
                          struct outcome *ret_outcome, struct lull_error *err)
{
    struct outcome outcome = {.sums = {(int64_t)result->n_sends, (int64_t)result->n_receives,
                                       (int64_t)result->n_computes, (int64_t)result->n_messages,
                                       (int64_t)result->n_collectives}};
    int64_t most[2] = {alone, result->runtime};
    lull_status status = lull_team_sum(team, outcome.sums, SUMS, err);
    if (status == LULL_OK)
        status = lull_team_max(team, most, 2, err);
    outcome.alone = most[0];
    outcome.runtime = most[1];
    *ret_outcome = outcome;
    return status;
}

static lull_status put_together(const struct lull_shared *shared, bool alone,
                                const uint64_t *signatures, struct lull_sim_result *result,
                                bool *ret_alone, struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    struct outcome outcome;
    bool differ = false;
    lull_status status = reduce(team, alone, result, &outcome, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &outcome, sizeof outcome, err);
    if (status == LULL_OK && !outcome.alone)
        status = compare_signatures(team, signatures, shared->program->n_groups, &differ, err);
    if (status == LULL_OK)
        status = lull_team_broadcast(team, &differ, sizeof differ, err);
    result->runtime = outcome.runtime;
    result->n_sends = (uint64_t)outcome.sums[SENDS];
    result->n_receives = (uint64_t)outcome.sums[RECEIVES];
    result->n_computes = (uint64_t)outcome.sums[COMPUTES];
    result->n_messages = (uint64_t)outcome.sums[MESSAGES];
    result->n_collectives = (uint64_t)outcome.sums[COLLECTIVES];
    *ret_alone = outcome.alone || differ;
    return lull_team_agree(team, status, err);
}

/* ---- simulating -------------------------------------------------------------------------------
 */

/* The part of this member. Sets *ret_lost where the others cannot be reached. */
static lull_status simulate(const struct lull_shared *shared, uint64_t *signatures,
                            struct lull_arena *arena, struct lull_sim_result *ret_result,
                            bool *ret_lost, struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    struct lull_letters *letters = lull_letters_create(team, ranks_of(shared, arena));
    struct lull_sim_options options = *shared->options;
    if (!letters || !signatures) {
        lull_letters_destroy(letters);
        lull_team_stop(team);
        return lull_fail(err, LULL_ERR_MEMORY, "not enough memory for a replay");
    }
    struct lull_sim_part part = lull_letters_part(letters);
    part.signatures = signatures;
    options.part = &part;
    lull_status status = lull_simulate(shared->program, &options, arena, ret_result, NULL, err);
    if (!lull_letters_ended(letters)) /* others wait for those of this member */
        lull_team_stop(team);
    *ret_lost = lull_letters_lost(letters);
    lull_letters_destroy(letters);
    return status;
}

lull_status lull_shared_simulate(const struct lull_shared *shared, lull_status status,
                                 struct lull_arena *arena, struct lull_sim_result *ret_result,
                                 bool *ret_alone, struct lull_error *err)
{
    struct lull_team *team = shared->division->team;
    uint64_t *signatures = NULL;
    bool lost = false;
    lull_team_begin(team);
    *ret_result = (struct lull_sim_result){0};
    if (status == LULL_OK) {
        signatures = calloc(shared->program->n_groups + (size_t)1, sizeof *signatures);
        status = simulate(shared, signatures, arena, ret_result, &lost, err);
    } else {
        lull_team_stop(team);
    }
    const bool alone = status != LULL_OK;
    status = lull_team_agree(team, lost ? status : LULL_OK, err);
    if (status == LULL_OK)
        status = put_together(shared, alone, signatures, ret_result, ret_alone, err);
    free(signatures);
    return status;
}
