/* SPDX-License-Identifier: BSD-3-Clause */
/* Division: which member of a team has which items. The items are cut into ranges of neighbours of
 * about equal weight, one range for each member. */
#ifndef LULL_TEAM_DIVISION_H
#define LULL_TEAM_DIVISION_H

#include "base/arena.h"
#include "team/team.h"

struct lull_division {
    struct lull_team *team;
    const uint32_t *cuts; /* [size + 1]: member m has [cuts[m], cuts[m + 1]) */
};

struct lull_division_items {
    uint32_t count;
    const uint64_t *weights; /* [count]: how much work an item is */
    const uint32_t *groups;  /* [count]: the group of each item; NULL: no groups. Neighbours of
                                one group stay together if there are at least as many groups as
                                members */
};

/* The first member cuts, so that all have the same cuts. *ret_division is NULL for a team of one.
 * The division lives in `arena`. */
lull_status lull_division_make(struct lull_team *team, const struct lull_division_items *items,
                               struct lull_arena *arena, struct lull_division **ret_division,
                               struct lull_error *err);

/* The team that shares; NULL: this process is alone, or `division` is NULL. */
static inline struct lull_team *lull_division_team(const struct lull_division *division)
{
    return division ? division->team : NULL;
}

/* The member that has an item. */
uint32_t lull_division_owner(const struct lull_division *division, uint32_t item);

/* Whether members other than the first have items; false also if `division` is NULL. */
bool lull_division_divides(const struct lull_division *division);
/* How many members have no items. */
uint32_t lull_division_idle(const struct lull_division *division);

#endif
