/* Shared: a replay that the members of a team simulate together, each the ranks of the processes
 * that it reads (sim/engine/engine.h). What is simulated is the same as by one process, to the ns.
 *
 * Not everything can be: networks with contention, and runs in which the order of time counts
 * beyond that of each channel, are one process's. That may show only at the end. */
#ifndef LULL_REPLAY_SHARED_REPLAY_H
#define LULL_REPLAY_SHARED_REPLAY_H

#include "sim/engine/engine.h"
#include "team/division.h"
#include "team/team.h"

/* ==== shared ================================================================================== */

struct lull_shared {
    const struct lull_division *division;
    struct lull_program *program;           /* a replay of the range of this member */
    const struct lull_sim_options *options; /* without a part */
};

/* Whether replays on a network can be shared, as far as the network is concerned. */
bool lull_shared_may_be(const struct lull_network *network);

/* What all know then. */
struct lull_shared_result {
    bool alone;          /* somebody could not go on: one process has to simulate all, and ... */
    int64_t runtime;     /* ... these are not known; ns */
    uint64_t n_messages; /* that were received */
};

/* By all members together; `status`: of what came before, on this one, with which it takes part in
 * any case. Scratch memory is of `arena`. Fails, on all, where a member has gone. */
lull_status lull_shared_simulate(const struct lull_shared *shared, lull_status status,
                                 struct lull_arena *arena, struct lull_shared_result *ret_result,
                                 struct lull_error *err);

/* ==== letters ================================================================================= */

/* Letters of a replay that the members of a team simulate together (sim/engine/engine.h): how they
 * reach each other, and when all is over.
 *
 * Letters to a member go together, 4 KiB of them at most. Who has posted to a member much that was
 * not taken, waits until it was; and who keeps many messages that its ranks have not received yet,
 * leaves it so until they have, or until nothing else can be done. So what is on its way and what
 * is kept take some MiB for each member, however long the run is. */

struct lull_letters;

/* By all members together, behind lull_team_begin. NULL: not enough memory. */
struct lull_letters *lull_letters_create(struct lull_team *team);
void lull_letters_destroy(struct lull_letters *letters); /* NULL is allowed */

/* To be given to lull_simulate, with the cuts and the signatures that are missing; valid as long as
 * the letters. */
struct lull_sim_part lull_letters_part(struct lull_letters *letters);

/* Whether all came to the end of it; else, whether others cannot be reached. */
bool lull_letters_ended(const struct lull_letters *letters);

#endif
