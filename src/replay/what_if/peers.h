/* Peers: streams that are compared, on whatever members of a team they are. The first compares
 * them, some epochs at a time: what it has of others then is some ten MiB, however long the run is.
 * Internal to the room. */
#ifndef LULL_REPLAY_WHAT_IF_PEERS_H
#define LULL_REPLAY_WHAT_IF_PEERS_H

#include "base/error.h"
#include "replay/what_if/units.h"
#include "team/team.h"

struct lull_peer {
    struct lull_units *units;
    bool meant; /* to be cut */
};

struct lull_peers {
    struct lull_team *team; /* NULL: alone */
    struct lull_peer *own;  /* [count] */
    uint32_t count;
    /* Of all members: how many epochs the longest has, how long units are to be, and whether all
     * are meant, so that they are peers of each other. */
    size_t n_epochs;
    unsigned shift;
    bool all_meant;
};

/* Called by all members together; where one fails, it may go on to lull_team_agree at once. Units
 * of those that are meant become what is left of them, as a share; those of others stay as they
 * are, but for their length. */
lull_status lull_peers_cut(const struct lull_peers *peers, struct lull_error *err);

#endif
