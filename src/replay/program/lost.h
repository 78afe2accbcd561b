/* SPDX-License-Identifier: BSD-3-Clause */
/* Lost records: messages of which a tracer recorded the send, but not what became of it.
 *
 * Some tracers (EZTrace) do not record when a receive completes. Such a trace says that a receive
 * was posted, but neither from whom nor when it was complete. It also tells all sends, and when the
 * wait for the receive ended. The wait must have received some of the messages that had been sent
 * by then and that no earlier wait has taken. The clocks of such tracers may be far apart, so "sent
 * by then" is counted in collective operations of all processes: a process that has been through n
 * of them gets nothing that was sent after more than n. (In a run without any, the clocks decide.)
 * Among these messages, the first of each sender come before the second of each; as many are taken
 * as there are receives. Receives for which no message is left were from MPI_PROC_NULL.
 *
 * Memory: 40 bytes per message, for such traces only. Internal to the room. */
#ifndef LULL_REPLAY_PROGRAM_LOST_H
#define LULL_REPLAY_PROGRAM_LOST_H

#include "activity/channel.h"
#include "base/error.h"
#include "base/hash.h"
#include "trace/trace.h"

/* ==== receives without completion ============================================================= */

struct lull_lost_send {
    int64_t time;            /* measured */
    uint32_t source, target; /* processes */
    uint32_t comm;
    int32_t tag;
    uint32_t epoch;   /* how many collective operations of all processes came before it */
    uint32_t ordinal; /* its number in the epoch among those of its sender, communicator and tag */
    uint64_t bytes;
};

struct lull_lost;

/* Reads all sends of the trace, in a pass of its own. */
lull_status lull_lost_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_lost **ret_lost, struct lull_error *err);
void lull_lost_destroy(struct lull_lost *lost); /* NULL is allowed */

/* A wait of a process: it ended at `time`, after `epoch` collective operations of all processes,
 * and completed at most `most` receives. */
struct lull_lost_wait {
    uint32_t process, epoch;
    int64_t time;
    uint32_t most;
};
/* Takes the messages that a wait received off the list and returns how many they are; 0 if the
 * trace has completions of this process after all. *ret_sends lives as long as `lost`. */
uint32_t lull_lost_take(struct lull_lost *lost, const struct lull_lost_wait *wait,
                        const struct lull_lost_send **ret_sends);

/* ==== messages without receive ================================================================ */

/* Messages that were sent, but of whose receive there is no record.
 *
 * A receive that the program has given up (MPI_Request_free), or never asked about, may still take
 * a message, and the recorder learns nothing of that. Only counting tells whether it did: on a
 * channel where more messages were sent than received, such receives took the rest.
 *
 * Memory: some 70 bytes per channel while the run is read, then 32 for each channel with a rest. */

struct lull_unreceived;

/* Counts all messages of an application, in a pass of its own. */
lull_status lull_unreceived_create(const struct lull_trace *trace, uint32_t application,
                                   struct lull_unreceived **ret_unreceived, struct lull_error *err);
void lull_unreceived_destroy(struct lull_unreceived *unreceived); /* NULL is allowed */

/* Finds a channel on which a message is left for a receive that was posted for `wanted`; its source
 * may be LULL_NONE and its tag LULL_ANY, for any. Of several channels the one with the lowest
 * numbers is taken. `taken` counts, by channel, the messages that were taken so far, with this one
 * added. False: there is no such channel (*ret_fits is true), or no memory (false). */
bool lull_unreceived_take(const struct lull_unreceived *unreceived,
                          const struct lull_channel *wanted, struct lull_hash *taken,
                          struct lull_channel *ret_channel, bool *ret_fits);

#endif
