/* The mail of a member of a team; internal to the room.
 *
 * Letters (letters.h) to a member wait for company, up to 64 KiB or for 2 ms, and go as a parcel.
 * While a pass goes on, a thread takes what comes, so that nobody waits for a reader of this
 * member. Behind it, who concludes takes it.
 *
 * What this member has written to others is kept there until it is needed: when these have been
 * read as far. So its readers are not to be ahead of the member that has been read least far by
 * more measured time than 64 MiB of letters hold. As clocks may contradict each other, and another
 * consumer of the pass may have readers of another member wait for this one, a reader waits for no
 * longer than a tenth of a second for each block that it reads. */
#ifndef LULL_WAIT_SHARED_OFFICE_H
#define LULL_WAIT_SHARED_OFFICE_H

#include "wait/shared/wire.h"

struct wait_office;

/* Of waits whose options have a division, for so many workers of the pass. */
lull_status lull_wait_office_open(struct lull_waits *waits, unsigned workers,
                                  struct lull_error *err);
void lull_wait_office_close(struct lull_waits *waits); /* also where there is none */

/* A worker reads what happened then; INT64_MAX: it has read all. Without the lock of `waits`. Fails
 * where the others cannot be reached, or have failed. */
lull_status lull_wait_office_reads(struct lull_waits *waits, unsigned worker, int64_t time,
                                   struct lull_error *err);

/* Behind the pass, on all members: takes and sends until there is nothing on its way. */
lull_status lull_wait_office_settle(struct lull_waits *waits, struct lull_error *err);

/* ---- letters, under the lock of `waits` ----------------------------------------------------- */

/* Room for a letter to a member, of which lull_wait_office_fill says how much it has become. NULL:
 * no memory. */
unsigned char *lull_wait_office_room(struct wait_office *office, uint32_t member, size_t most);
void lull_wait_office_fill(struct wait_office *office, uint32_t member, size_t size);

/* A queue whose receiver a member has is known there by its port: they are counted. */
uint32_t lull_wait_office_new_port(struct wait_office *office, uint32_t member);
/* The same of queues that the other one sends on. False: no memory. */
bool lull_wait_office_add_port(struct wait_office *office, uint32_t member, uint32_t queue);
uint32_t lull_wait_office_queue(const struct wait_office *office, uint32_t member, uint32_t port);

struct wait_told *lull_wait_office_told(struct wait_office *office);  /* to others */
struct wait_told *lull_wait_office_heard(struct wait_office *office); /* by others */

#endif
