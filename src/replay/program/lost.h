/* Receives whose completion a tracer did not record (EZTrace): what they received, from the sends.
 *
 * Such a trace says that a receive was posted, but neither from whom nor when it was complete. What
 * it says are all sends, and where the waiting for the receive ended. What came in by then are
 * messages that no earlier wait has taken and that had been sent. The clocks of such tracers may be
 * far apart, so "sent before" is counted in collective operations of all processes: whoever has
 * been through n of them gets nothing that was sent behind more than n. (Without any, the clocks
 * decide.) Among those, the first of each sender come before the second ones; as many are taken as
 * there are receives. Receives for which nothing is left were from MPI_PROC_NULL.
 *
 * Memory: 40 bytes per message, for such traces only. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_LOST_H
#define LULL_REPLAY_PROGRAM_LOST_H

#include "activity/channel.h"
#include "base/error.h"
#include "base/hash.h"
#include "trace/trace.h"

/* ==== lost ==================================================================================== */

struct lull_lost_send {
    int64_t time;
    uint32_t source, target; /* processes */
    uint32_t comm;
    int32_t tag;
    uint32_t epoch;   /* collective operations of all processes before it */
    uint32_t ordinal; /* of this sender, communicator and tag in the epoch */
    uint64_t bytes;
};

struct lull_lost;

/* Reads all sends of the trace, in a pass of its own. */
lull_status lull_lost_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_lost **ret_lost, struct lull_error *err);
void lull_lost_destroy(struct lull_lost *lost); /* NULL is allowed */

/* Up to `most` messages that a process got in a wait that ended at `time`, behind `epoch`
 * collective operations of all; they are taken from the list. 0 where the process's trace has
 * completions after all. */
struct lull_lost_wait {
    uint32_t process, epoch;
    int64_t time;
    uint32_t most;
};
uint32_t lull_lost_take(struct lull_lost *lost, const struct lull_lost_wait *wait,
                        const struct lull_lost_send **ret_sends);

/* ==== unreceived ============================================================================== */

/* Messages that were sent, and of whose receive there is no record.
 *
 * A receive that the program has given up (MPI_Request_free), or of which it never asked whether it
 * is complete, may still take a message, of which the recorder hears nothing. So it is known only
 * by counting, channel by channel, whether one came: where more was sent than received, such
 * receives took the rest.
 *
 * Memory: some 70 bytes per channel while the run is read, then 32 for those with a rest. */

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
