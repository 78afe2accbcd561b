/* Shares of other members of a team: letters to them, and when all of all members rest; internal to
 * the room.
 *
 * A batch for a share of another member is posted as a parcel, and one that comes is put into the
 * inbox of its share. All rest when each member has settled (its readers sleep and no batch of its
 * own is on its way) and as many parcels have come as were sent (team/ending.h). Members tell with
 * that what a decision depends on, so that all decide as one process would.
 *
 * What a member posts behind a decision must not come to one that does not know of it yet. So the
 * decisions are counted (the era), and a parcel of a later era waits. */
#ifndef LULL_REPLAY_IDEAL_MAIL_H
#define LULL_REPLAY_IDEAL_MAIL_H

#include "replay/ideal/share.h"

/* ==== mail ==================================================================================== */

/* NULL: no memory. */
struct mail *lull_mail_create(struct lull_ideal *ideal);
void lull_mail_destroy(struct mail *mail); /* NULL is allowed */
/* Whether another member has failed, or is not there any more. */
lull_status lull_mail_failure(struct mail *mail, struct lull_error *err);

/* ==== lead ==================================================================================== */

/* How far a member of a team is ahead of the others.
 *
 * What a share has posted to other members is kept there until it is needed. A receiver that has
 * been read up to some measured time needs what was sent before it. So a share may be ahead of the
 * member that has been read least far by so much measured time as LULL_LEAD_BYTES of letters hold,
 * and its readers rest where it is more, until the others have told that they have come nearer. As
 * clocks may contradict each other, others may wait for what is sent behind that: then all rest,
 * and the decision that more may wait (mail.h) doubles the bytes. */

struct leads;

struct leads *lull_leads_create(struct lull_ideal *ideal); /* NULL: no memory */
void lull_leads_destroy(struct leads *leads);              /* NULL is allowed */

/* A reader has come to this time; INT64_MAX: to its end. */
void lull_lead_reads(struct reader *reader, int64_t time);
/* A share, whose evaluation the caller holds, has posted so many letters to another member. */
void lull_lead_posted(struct share *share, uint32_t letters);
/* Whether the readers of a share are to rest. */
bool lull_lead_is_too_large(const struct share *share);

/* How far all of this member has been read; false: that was told lately, or is as it was told. */
bool lull_lead_to_tell(struct leads *leads, int64_t *ret_time);
/* Another member has come to this time. Wakes readers that may go on. */
void lull_lead_heard(struct leads *leads, uint32_t member, int64_t time);
/* All rest. */
void lull_lead_grant(struct leads *leads);

#endif
