/* Messages that were sent, and of whose receive there is no record; internal to the room.
 *
 * A receive that the program has given up (MPI_Request_free) may still take a message, of which the
 * recorder hears nothing. So it is known only by counting, channel by channel, whether one came:
 * where more was sent than received, receives that were given up took the rest. */
#ifndef LULL_REPLAY_UNRECEIVED_H
#define LULL_REPLAY_UNRECEIVED_H

#include "activity/channel.h"
#include "base/hash.h"

/* By channel, sends less receives. Zero it; two threads may not change it at the same time. */
struct lull_unreceived {
    struct lull_hash counts;
};

/* One more message was sent, or received; false: no memory. */
bool lull_unreceived_count(struct lull_unreceived *unreceived, const struct lull_channel *channel,
                           bool sent);
void lull_unreceived_free(struct lull_unreceived *unreceived);

/* The channel of a message that a receive may have taken, which is posted for `wanted`, whose
 * source may be LULL_NONE and whose tag may be LULL_ANY, for any; of several the one whose numbers
 * are the lowest. `taken` are those that were taken so far, and counts this one. False: there is
 * none, or no memory, which *ret_fits tells. */
bool lull_unreceived_take(const struct lull_unreceived *unreceived,
                          const struct lull_channel *wanted, struct lull_hash *taken,
                          struct lull_channel *ret_channel, bool *ret_fits);

#endif
