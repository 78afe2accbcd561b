/* What the members of a team tell each other about waits; internal to the room.
 *
 * A letter goes to who needs it: a message to its receiver, with what its sender had done by then;
 * the question when its receive was posted, and the answer; who has come to a collective operation.
 * Letters between two members come in the order in which they were written. They are written, and
 * read, under the lock of `waits`; where there is no memory that is noted there. */
#ifndef LULL_WAIT_SHARED_LETTERS_H
#define LULL_WAIT_SHARED_LETTERS_H

#include "wait/share.h"

/* Of queues whose receiver another member has: */
/* before its first letter, */
void lull_wait_post_queue(struct lull_waits *waits, uint32_t queue,
                          const struct lull_channel *channel);
void lull_wait_post_message(struct lull_waits *waits, uint32_t queue, uint32_t number,
                            bool waits_for_receive, const struct wait_cause *sent);
/* for a message that waits for its receive: in a call that ends then, */
void lull_wait_post_watch(struct lull_waits *waits, uint32_t queue, uint32_t number,
                          int64_t call_ends);
/* it waits no more. */
void lull_wait_post_give_up(struct lull_waits *waits, uint32_t queue, uint32_t number);

/* To the watcher, which is of another member. */
void lull_wait_post_answer(struct lull_waits *waits, const struct wait_watcher *watcher,
                           const struct wait_cause *posted);
void lull_wait_post_news(struct lull_waits *waits, uint32_t member,
                         const struct wait_series *series, uint32_t number,
                         const struct wait_news *news);

/* From a member: as they stand in a parcel. Streams that may go on then are ready. */
void lull_wait_read_letters(struct lull_waits *waits, uint32_t from, const unsigned char *bytes,
                            size_t size);

#endif
