/* What members have collected is brought to the first, by one of them after the other, or what the
 * first has to all, in parts: of what is on its way neither side has more than a part of some MiB.
 */
#ifndef LULL_TEAM_BRING_H
#define LULL_TEAM_BRING_H

#include "base/arena.h"
#include "team/team.h"

struct lull_flow;

/* The bytes that a member puts, the first gets in that order, in pieces as it likes. False: it goes
 * on no more, and whoever called this returns false, too. */
bool lull_flow_put(struct lull_flow *flow, const void *bytes, size_t size);
bool lull_flow_get(struct lull_flow *flow, void *bytes, size_t size);

/* The same of an array with its length. What is got is allocated, also where there are none of
 * them; NULL: it goes on no more. */
bool lull_flow_put_items(struct lull_flow *flow, const void *items, size_t count, size_t size);
void *lull_flow_get_items(struct lull_flow *flow, size_t size, size_t *ret_count);

/* A text, or NULL. What is got lives in `arena`. */
bool lull_flow_put_text(struct lull_flow *flow, const char *text);
bool lull_flow_get_text(struct lull_flow *flow, struct lull_arena *arena, const char **ret_text);

struct lull_freight {
    /* False: not enough memory, unless the flow does not go on. */
    bool (*put)(void *context, struct lull_flow *flow); /* on others than the first */
    bool (*get)(void *context, uint32_t member, struct lull_flow *flow); /* all that was put */
    void *context;
    const char *what; /* "a breakdown", for which memory may be missing */
};

/* Together (team.h), with an agreement at the end. Nothing happens where there is no team. */
lull_status lull_team_bring(struct lull_team *team, const struct lull_freight *freight,
                            struct lull_error *err);
/* The other way: the first puts, and each of the others gets all of it, as from member 0. */
lull_status lull_team_spread(struct lull_team *team, const struct lull_freight *freight,
                             struct lull_error *err);

#endif
