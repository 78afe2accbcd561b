/* Letters of a replay that the members of a team simulate together (sim/engine/part.h): how they
 * reach each other, and when all is over.
 *
 * Letters to a member go together, 4 KiB of them at most. Who has posted to a member much that was
 * not taken, waits until it was; and who keeps many messages that its ranks have not received yet,
 * leaves it so until they have, or until nothing else can be done. So what is on its way and what
 * is kept take some MiB for each member, however long the run is. Internal to the room. */
#ifndef LULL_REPLAY_SHARED_LETTERS_H
#define LULL_REPLAY_SHARED_LETTERS_H

#include "sim/engine/part.h"
#include "team/team.h"

struct lull_letters;

/* By all members together, behind lull_team_begin. NULL: not enough memory. */
struct lull_letters *lull_letters_create(struct lull_team *team);
void lull_letters_destroy(struct lull_letters *letters); /* NULL is allowed */

/* To be given to lull_simulate, with the cuts and the signatures that are missing; valid as long as
 * the letters. */
struct lull_sim_part lull_letters_part(struct lull_letters *letters);

/* Whether all came to the end of it; else, whether others cannot be reached. */
bool lull_letters_ended(const struct lull_letters *letters);
bool lull_letters_lost(const struct lull_letters *letters);

#endif
