/* Who of a team has which items of a row: neighbours, cut by weight. */
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
    const uint64_t *weights; /* [count]: of the work */
    const uint32_t *groups;  /* [count]: neighbours of one group stay together where there are as
                                many  groups as members; NULL: each is by itself */
};

/* Cut by the first, so that all have the same. NULL for a team of one. The cuts live in `arena`. */
lull_status lull_division_make(struct lull_team *team, const struct lull_division_items *items,
                               struct lull_arena *arena, struct lull_division **ret_division,
                               struct lull_error *err);

/* The member that has an item. */
uint32_t lull_division_owner(const struct lull_division *division, uint32_t item);

/* Whether others than the first have something to do; not where there is no division. */
bool lull_division_divides(const struct lull_division *division);
/* Who has nothing to do. */
uint32_t lull_division_idle(const struct lull_division *division);

#endif
