/* The groups of a replay: group 0 is all ranks, group 1 + c the communicator c. An
 * intercommunicator has one for both of its sides together, that of its canonical number, and for
 * each root of operations on it one of this root and the other side: the others of the root's side
 * take no part. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_GROUPS_H
#define LULL_REPLAY_PROGRAM_GROUPS_H

#include "replay/program/stream.h"

/* Needs the ranks and the survey. */
lull_status lull_replay_make_groups(struct lull_program *program, struct lull_replay *replay,
                                    struct lull_error *err);

/* The group of the operations on an intercommunicator that have this process as their root;
 * LULL_NONE: there are none. */
uint32_t lull_replay_rooted_group(const struct lull_replay *replay, uint32_t comm, uint32_t root);

#endif
