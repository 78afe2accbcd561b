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

/* What all do when they rest. */
enum lull_rest_verdict {
    LULL_REST_OVER,         /* all is read and evaluated */
    LULL_REST_RELEASE_SOME, /* sends whose message nobody is known to receive go on */
    LULL_REST_RELEASE_ALL,  /* likewise those whose message will be received */
    LULL_REST_READ_ON,      /* more may wait */
    LULL_REST_STUCK
};

/* What it depends on; bits. */
enum lull_rest {
    LULL_REST_UNREAD = 1,       /* a reader has not read all */
    LULL_REST_MORE = 2,         /* a step that is to come may let somebody go on */
    LULL_REST_AHEAD = 4,        /* a reader rests as it is too far ahead */
    LULL_REST_RELEASES = 8,     /* there are sends for RELEASE_SOME ... */
    LULL_REST_RELEASES_ALL = 16 /* ... for RELEASE_ALL */
};

enum lull_rest_verdict lull_rest_judge(uint64_t rest);
/* post.c: of the shares here, all of which rest; and what is to be done with them. */
uint64_t lull_post_look_at_rest(const struct lull_ideal *ideal);
void lull_post_decide(struct lull_ideal *ideal, enum lull_rest_verdict verdict);

/* NULL: no memory. */
struct mail *lull_mail_create(struct lull_ideal *ideal);
void lull_mail_destroy(struct mail *mail); /* NULL is allowed */
/* A batch for a share of another member. */
void lull_mail_send(struct share *share, uint32_t to, const struct batch *batch);
/* Puts what has come into inboxes; whether there was anything. By any reader. */
bool lull_mail_take(struct lull_ideal *ideal);
/* By a reader that sleeps: looks out for mail, tells that this member has settled, and waits a
 * little. Another one may do so already: false. */
bool lull_mail_look_out(struct lull_ideal *ideal);
/* Whether another member has failed, or is not there any more. */
lull_status lull_mail_failure(struct mail *mail, struct lull_error *err);

#endif
