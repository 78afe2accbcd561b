/* Receives whose completion a tracer did not record (EZTrace): what they received, from the sends.
 *
 * Such a trace says that a receive was posted, but neither from whom nor when it was complete. What
 * it says are all sends, and when the waiting for the receive ended. The messages that had been sent
 * to the process before then, and that no earlier wait has taken, are what came in; where there are
 * more of them than receives, the earliest. Receives for which there is none were from
 * MPI_PROC_NULL. Memory: 32 bytes per message, for such traces only. Internal to the room. */
#ifndef LULL_SIM_REPLAY_LOST_H
#define LULL_SIM_REPLAY_LOST_H

#include "trace/scan.h"

struct lull_lost_send {
    int64_t time;
    uint32_t source, target; /* processes */
    uint32_t comm;
    int32_t tag;
    uint64_t bytes;
};

struct lull_lost;

/* Reads all sends of the trace. */
lull_status lull_lost_create(const struct lull_trace *trace, uint32_t application,
                             struct lull_lost **ret_lost, struct lull_error *err);
void lull_lost_destroy(struct lull_lost *lost); /* NULL is allowed */

/* Up to `most` messages that a process got in a wait that ended at `time`; they are taken from the
 * list. 0 where the process's trace has completions after all. */
uint32_t lull_lost_take(struct lull_lost *lost, uint32_t process, int64_t time, uint32_t most,
                        const struct lull_lost_send **ret_sends);

#endif
