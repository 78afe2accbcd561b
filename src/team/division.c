/* SPDX-License-Identifier: BSD-3-Clause */
/* A seam is a place between two items where a cut may be. The cut between members m - 1 and m is at
 * the seam in front of which the sum of the weights is nearest to m / members of the whole. */
#include "team/division.h"

#include "base/sorted.h"

/* Whether there is a seam in front of item `at`. */
static bool is_seam(const struct lull_division_items *items, uint32_t at, bool by_groups)
{
    return at == 0 || at >= items->count || !by_groups ||
           items->groups[at] != items->groups[at - 1];
}

static bool has_groups(const struct lull_division_items *items, uint32_t members)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; items->groups && i < items->count; i++)
        groups += i == 0 || items->groups[i] != items->groups[i - 1];
    return groups >= members;
}

/* Of the seams from item `from` on, the one in front of which the sum of the weights is nearest to
 * `wanted`; of equally near ones the first. `before`: the sum in front of `from`. */
static uint32_t find_cut(const struct lull_division_items *items, bool by_groups, uint32_t from,
                         uint64_t before, uint64_t wanted)
{
    uint32_t best = from;
    uint64_t there = before, distance = wanted > before ? wanted - before : before - wanted;
    for (uint32_t at = from; at < items->count;) {
        there += items->weights[at++];
        if (!is_seam(items, at, by_groups))
            continue;
        const uint64_t off = there > wanted ? there - wanted : wanted - there;
        if (off >= distance)
            break;
        best = at;
        distance = off;
    }
    return best;
}

static void cut(const struct lull_division_items *items, uint32_t members, uint32_t *cuts)
{
    const bool by_groups = has_groups(items, members);
    uint64_t all = 0, before = 0;
    for (uint32_t i = 0; i < items->count; i++)
        all += items->weights[i];
    for (uint32_t m = 1; m < members; m++) {
        const uint64_t wanted = (uint64_t)((double)all * m / members);
        if (members >= items->count)
            cuts[m] = m < items->count ? m : items->count;
        else
            cuts[m] = find_cut(items, by_groups, cuts[m - 1], before, wanted);
        for (uint32_t i = cuts[m - 1]; i < cuts[m]; i++)
            before += items->weights[i];
    }
    cuts[members] = items->count;
}

lull_status lull_division_make(struct lull_team *team, const struct lull_division_items *items,
                               struct lull_arena *arena, struct lull_division **ret_division,
                               struct lull_error *err)
{
    const uint32_t members = lull_team_size(team);
    *ret_division = NULL;
    if (members == 1)
        return LULL_OK;
    uint32_t *cuts = lull_arena_zero(arena, members + (size_t)1, sizeof *cuts);
    if (lull_team_is_first(team))
        cut(items, members, cuts);
    lull_status status = lull_team_broadcast(team, cuts, (members + (size_t)1) * sizeof *cuts, err);
    if (status != LULL_OK)
        return status;
    struct lull_division *division = lull_arena_zero(arena, 1, sizeof *division);
    *division = (struct lull_division){team, cuts};
    *ret_division = division;
    return LULL_OK;
}

uint32_t lull_division_owner(const struct lull_division *division, uint32_t item)
{
    return (uint32_t)lull_sorted_first_u32(division->cuts + 1, lull_team_size(division->team) - 1,
                                           sizeof *division->cuts, 0, item + 1);
}

bool lull_division_divides(const struct lull_division *division)
{
    return division && division->cuts[1] < division->cuts[lull_team_size(division->team)];
}

uint32_t lull_division_idle(const struct lull_division *division)
{
    uint32_t idle = 0;
    for (uint32_t m = 0; division && m < lull_team_size(division->team); m++)
        idle += division->cuts[m] == division->cuts[m + 1];
    return idle;
}
