/* What the members of a team tell each other about waits; internal to the room.
 *
 * A letter goes to who needs it: a message to its receiver, with what its sender had done by then;
 * the question when its receive was posted, and the answer; who has come to a collective operation.
 * Letters between two members come in the order in which they were written. They are written, and
 * read, under the lock of `waits`; where there is no memory that is noted there. */
#ifndef LULL_WAIT_LETTERS_H
#define LULL_WAIT_LETTERS_H

#include "wait/stream.h"

/* ==== letters ================================================================================= */

/* To the member that has the receiver of a queue. The queue itself, before its first letter: */
void lull_wait_post_queue(struct lull_waits *waits, uint32_t queue,
                          const struct lull_channel *channel);
void lull_wait_post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                            bool waits_for_receive, const struct wait_cause *sent);
/* The sender of a message waits for its receive, in a call that ends at `call_ends`: */
void lull_wait_post_watch(struct lull_waits *waits, uint32_t queue, uint32_t number,
                          int64_t call_ends);
/* The sender does not wait any more: */
void lull_wait_post_give_up(struct lull_waits *waits, uint32_t queue, uint32_t number);

/* To the member of the watcher: when the receive was posted. */
void lull_wait_post_answer(struct lull_waits *waits, const struct wait_watcher *watcher,
                           const struct wait_cause *posted);
void lull_wait_post_news(struct lull_waits *waits, uint32_t member,
                         const struct wait_series *series, uint32_t number,
                         const struct wait_news *news);

/* ==== office ================================================================================== */

/* The mail of a member of a team (team/mailbox.h).
 *
 * While a pass goes on, the thread of the mailbox takes what comes, so that nobody waits for a reader
 * of this member. After the pass, the thread that concludes takes it.
 *
 * Where this member is too far ahead, its readers are to wait. As clocks may contradict each other,
 * and another consumer of the pass may have readers of another member wait for this one, a reader
 * waits for no longer than a tenth of a second for each block that it reads. */

/* Of waits whose reading has a division, for so many workers of the pass. */
lull_status lull_wait_office_open(struct lull_waits *waits, unsigned workers,
                                  struct lull_error *err);
void lull_wait_office_close(struct lull_waits *waits); /* also where there is none */

/* A worker reads what happened then; INT64_MAX: it has read all. Without the lock of `waits`. Fails
 * where the others cannot be reached, or have failed. */
lull_status lull_wait_office_reads(struct lull_waits *waits, unsigned worker, int64_t time,
                                   struct lull_error *err);

/* Behind the pass, on all members: takes and sends until there is nothing on its way. */
lull_status lull_wait_office_settle(struct lull_waits *waits, struct lull_error *err);

#endif
