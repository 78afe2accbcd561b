/* Letters from share to share, and from member to member of a team. Internal to the room.
 *
 * Letters are filled into batches, which are put into the inboxes of shares of this member. A batch
 * for a share of another member is posted as a parcel; a parcel that comes is put into the inbox of
 * its share. All members rest when each of them has settled (its readers sleep, and no batch of its
 * own is on its way) and as many parcels have come as were sent (team/ending.h). With that, members
 * tell each other what the next decision depends on (more may wait, sends are released, all is
 * over), so that all decide as one process would.
 *
 * What a member posts after a decision must not reach a member that does not know of it yet. So the
 * decisions are counted (the era), and a parcel of a later era is held back. */
#ifndef LULL_REPLAY_IDEAL_MAIL_H
#define LULL_REPLAY_IDEAL_MAIL_H

#include "replay/ideal/share.h"
#include "team/ending.h"

/* ==== lead ==================================================================================== */

/* The lead: how far a member of a team is ahead of the others.
 *
 * What a share posts to other members is kept there until it is needed. A receiver that has been
 * read up to some measured time needs what was sent before that time. So the letters that a share
 * has posted beyond the time of the member that has been read least far are bounded
 * (options->ahead; if 0, 64 MiB for all shares of a member together). While there are more, the
 * readers of the share rest, until the others have told that they have come nearer. As clocks may
 * contradict each other, others may wait for something that was sent later still. Then all rest,
 * and the decision that more may wait doubles the bound. */

struct leads;

struct leads *lull_leads_create(struct lull_ideal *ideal); /* NULL: no memory */
void lull_leads_destroy(struct leads *leads);              /* NULL is allowed */

/* A reader has come to this measured time; INT64_MAX: it has read all. */
void lull_lead_reads(struct reader *reader, int64_t time);
/* A share has posted so many letters to another member. The caller holds share->evaluation. */
void lull_lead_posted(struct share *share, uint32_t letters);
/* Whether the readers of a share are to rest. */
bool lull_lead_is_too_large(const struct share *share);

/* The time up to which all readers of this member have read. False: it need not be told now, as it
 * has not changed, or was told a moment ago. */
bool lull_lead_to_tell(struct leads *leads, int64_t *ret_time);
/* Another member has been read up to this time. Wakes readers that may go on. */
void lull_lead_heard(struct leads *leads, uint32_t member, int64_t time);
/* All rest: if a share of this member is too far ahead, doubles the bound and wakes its readers. */
void lull_lead_grant(struct leads *leads);

/* ==== letters ================================================================================= */

/* Puts a batch into the inbox of a share of this member, and wakes one of its readers if `wakes`.
 */
void lull_post_put(struct share *target, struct batch *batch, bool wakes);
/* A new letter, for the caller to fill. NULL: no memory, which is noted. */
struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind);
/* Hands over the letters for one share, or all. */
void lull_post_hand_over(struct share *share, uint32_t to);
void lull_post_flush(struct share *share);
/* Keeps a batch to be filled again. */
void lull_post_keep(struct share *share, struct batch *batch);
/* Wakes a reader if it sleeps for that reason; AWAKE: for any. */
void lull_post_rouse(struct reader *reader, enum sleep why);
void lull_post_rouse_all(struct lull_ideal *ideal);

/* ==== mail ==================================================================================== */

enum mail_kind { MAIL_BATCH, MAIL_NOTE, READ_TO };

/* The head of a parcel. In a MAIL_BATCH letters follow it. */
struct mail_head {
    uint32_t kind;     /* enum mail_kind */
    uint32_t era;      /* of the sender */
    uint32_t from, to; /* MAIL_BATCH: shares */
    uint32_t count;    /* MAIL_BATCH: letters */
    union {
        int64_t time;                 /* READ_TO: how far the member has been read */
        struct lull_ending_note note; /* MAIL_NOTE */
    };
};

struct mail {
    struct lull_ideal *ideal;
    struct lull_team *team;
    atomic_ullong sent; /* parcels with batches */
    atomic_bool failed; /* then status and error do not change any more */

    pthread_mutex_t lock; /* of all below */
    lull_status status;
    struct lull_error error;
    atomic_uint era; /* changed by the holder of the lock, read by anybody */
    struct lull_ending ending;
    struct lull_team_parcel *held; /* [n_held]: parcels of a later era */
    size_t n_held, held_capacity;
    struct lull_patience patience;
};

/* Needs ideal->reading->division. `look`: what the next decision depends on here (struct
 * lull_ending). NULL: no memory. */
struct mail *lull_mail_create(struct lull_ideal *ideal, uint64_t (*look)(void *mail));
void lull_mail_destroy(struct mail *mail); /* NULL is allowed */
/* The first failure stops the pass. */
void lull_mail_fail(struct mail *mail, lull_status status, const struct lull_error *err);
/* Fails if another member has failed or gone, or if its mail did not fit into memory; `mail` NULL:
 * never. */
lull_status lull_mail_failure(struct mail *mail, struct lull_error *err);

#endif
