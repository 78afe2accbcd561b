/* At which meetings of the barriers of pthreads all came that should: where a thread was not
 * recorded when it came, nobody is waited for. Internal to the room.
 *
 * Memory: for each meeting that not all have come to, and those behind it, 4 bytes; beyond
 * LULL_BARRIER_MOST_AHEAD of them a barrier's meetings are taken as such. */
#ifndef LULL_REPLAY_PROGRAM_BARRIERS_H
#define LULL_REPLAY_PROGRAM_BARRIERS_H

#include "base/hash.h"
#include "team/bring.h"

enum { LULL_BARRIER_MOST_AHEAD = 1 << 20 };

/* Begins as zeros. */
struct lull_barriers {
    struct lull_hash by_key; /* process and barrier -> index */
    struct lull_barrier *items;
    size_t count, capacity;
};

/* A thread comes to a meeting (the number of a barrier, and in the lower half that of its meeting)
 * of so many. False: no memory. */
bool lull_barriers_come(struct lull_barriers *barriers, uint32_t process, uint64_t meeting,
                        uint32_t threads);
/* Behind all of these: whether all have come. */
bool lull_barriers_all_came(const struct lull_barriers *barriers, uint32_t process,
                            uint64_t meeting, uint32_t threads);
/* From member to member of a team, each of which has the barriers of its processes. */
bool lull_barriers_put(const struct lull_barriers *barriers, struct lull_flow *flow);
bool lull_barriers_get(struct lull_barriers *barriers, struct lull_flow *flow);
void lull_barriers_free(struct lull_barriers *barriers);

#endif
