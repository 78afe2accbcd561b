/* SPDX-License-Identifier: BSD-3-Clause */
/* A shared replay: the members of a team simulate it together, each the ranks of the processes that
 * it reads (sim/engine/engine.h). The result is the same as that of one process, to the ns.
 *
 * Not every replay can be shared: on networks with contention, and for runs in which the order of
 * events of different channels matters, one process must simulate all. The latter may show only at
 * the end. */
#ifndef LULL_REPLAY_SHARED_REPLAY_H
#define LULL_REPLAY_SHARED_REPLAY_H

#include "sim/engine/engine.h"
#include "team/division.h"
#include "team/team.h"

/* ==== shared replay =========================================================================== */

struct lull_shared {
    const struct lull_division *division;
    struct lull_program *program;           /* a replay of the range of this member */
    const struct lull_sim_options *options; /* whose `part` is not set */
};

/* Whether the network allows replays on it to be shared. */
bool lull_shared_may_be(const struct lull_network *network);

/* What all members know then. */
struct lull_shared_result {
    bool alone;          /* a member could not go on, so one process has to simulate all; then the
                            following members are not set */
    int64_t runtime;     /* ns */
    uint64_t n_messages; /* that were received */
};

/* By all members together. A member whose earlier work failed passes that `status`, and must take
 * part nevertheless. Scratch memory is of `arena`. Fails, on all, if a member failed or has gone.
 */
lull_status lull_shared_simulate(const struct lull_shared *shared, lull_status status,
                                 struct lull_arena *arena, struct lull_shared_result *ret_result,
                                 struct lull_error *err);

/* ==== letters ================================================================================= */

/* The letters of a shared replay (sim/engine/engine.h): how members reach each other, and how they
 * find out that all is over.
 *
 * Letters to a member wait until there are 4 KiB of them, and go in one batch. A member that has
 * posted many batches which the receiver has not taken waits until it takes some. A member that
 * keeps many messages which its ranks have not received takes no more mail until they have, or
 * until it can do nothing else. So letters on their way and kept messages take some MiB for each
 * member, however long the run is.
 *
 * They are no mailbox (team/mailbox.h): the engine pulls one batch when it has nothing else to do,
 * and what bounds it is how many batches others have taken, as a replay has no measured time by
 * which a member could be ahead. */

struct lull_letters;

/* By all members together, behind lull_team_begin. NULL: not enough memory. */
struct lull_letters *lull_letters_create(struct lull_team *team);
void lull_letters_destroy(struct lull_letters *letters); /* NULL is allowed */

/* To be given to lull_simulate, once the caller has set its cuts and signatures; valid as long as
 * the letters. */
struct lull_sim_part lull_letters_part(struct lull_letters *letters);

/* Whether all members came to the end of the simulation; false: others cannot be reached. */
bool lull_letters_ended(const struct lull_letters *letters);

#endif
