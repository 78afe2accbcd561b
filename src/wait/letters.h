/* SPDX-License-Identifier: BSD-3-Clause */
/* What the members of a team tell each other about waits. Internal to the room.
 *
 * A letter goes to the member that needs it. There are letters for a message, with what its sender
 * had done by then, to its receiver; for the question when its receive was posted, and for the
 * answer; and for who has come to a collective operation. Letters between two members arrive in the
 * order in which they were written. They are written, and read, under the lock of `waits`; missing
 * memory is noted there. */
#ifndef LULL_WAIT_LETTERS_H
#define LULL_WAIT_LETTERS_H

#include "wait/stream.h"

/* ==== letters ================================================================================= */

/* The following letters go to the member that has the receiver of the queue. This one names the
 * queue to that member, before all others of the queue. */
void lull_wait_post_queue(struct lull_waits *waits, uint32_t queue,
                          const struct lull_channel *channel);
void lull_wait_post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                            bool waits_for_receive, const struct wait_cause *sent);
/* The sender of a message waits for its receive, in a call that ends at `call_ends`. */
void lull_wait_post_watch(struct lull_waits *waits, uint32_t queue, uint32_t number,
                          int64_t call_ends);
/* The sender does not wait for the receive any more. */
void lull_wait_post_give_up(struct lull_waits *waits, uint32_t queue, uint32_t number);

/* To the member that has the watcher: when the receive was posted. */
void lull_wait_post_answer(struct lull_waits *waits, const struct wait_watcher *watcher,
                           const struct wait_cause *posted);
/* To a member with ranks of a series: news of an operation. */
void lull_wait_post_news(struct lull_waits *waits, uint32_t member,
                         const struct wait_series *series, uint32_t number,
                         const struct wait_news *news);

/* ==== office ================================================================================== */

/* The mail of a member of a team (team/mailbox.h).
 *
 * While a pass goes on, the thread of the mailbox takes the letters that come, so that no other
 * member waits for a reader of this member. After the pass, the thread that concludes takes them.
 *
 * Where this member is too far ahead of the others, its readers are to rest. A reader rests for no
 * longer than a tenth of a second for each block that it reads, because clocks may contradict each
 * other, and another consumer of the pass may make readers of other members wait for this one. */

/* Opens the office of waits whose reading has a division. The pass has this many workers. */
lull_status lull_wait_office_open(struct lull_waits *waits, unsigned workers,
                                  struct lull_error *err);
void lull_wait_office_close(struct lull_waits *waits); /* also where there is none */

/* A worker reads what happened at `time`; INT64_MAX: it has read all. To be called without the lock
 * of `waits`. Fails where the other members cannot be reached, or have failed. */
lull_status lull_wait_office_reads(struct lull_waits *waits, unsigned worker, int64_t time,
                                   struct lull_error *err);

/* After the pass, on all members: takes and sends letters until none is on its way. */
lull_status lull_wait_office_settle(struct lull_waits *waits, struct lull_error *err);

#endif
