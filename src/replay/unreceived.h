/* Messages that were sent, and of whose receive there is no record; internal to the room.
 *
 * A receive that the program has given up (MPI_Request_free), or of which it never asked whether it
 * is complete, may still take a message, of which the recorder hears nothing. So it is known only
 * by counting, channel by channel, whether one came: where more was sent than received, such
 * receives took the rest.
 *
 * Memory: some 70 bytes per channel while the run is read, then 32 for those with a rest. */
#ifndef LULL_REPLAY_UNRECEIVED_H
#define LULL_REPLAY_UNRECEIVED_H

#include "activity/channel.h"
#include "base/error.h"
#include "base/hash.h"

struct lull_unreceived;

/* Counts all messages of an application, in a pass of its own. */
lull_status lull_unreceived_create(const struct lull_trace *trace, uint32_t application,
                                   struct lull_unreceived **ret_unreceived, struct lull_error *err);
void lull_unreceived_destroy(struct lull_unreceived *unreceived); /* NULL is allowed */

/* The channel of a message that a receive may have taken, which is posted for `wanted`, whose
 * source may be LULL_NONE and whose tag may be LULL_ANY, for any; of several the one whose numbers
 * are the lowest. `taken` are those that were taken so far, and counts this one. False: there is
 * none, or no memory, which *ret_fits tells. */
bool lull_unreceived_take(const struct lull_unreceived *unreceived,
                          const struct lull_channel *wanted, struct lull_hash *taken,
                          struct lull_channel *ret_channel, bool *ret_fits);

#endif
