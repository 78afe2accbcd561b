/* A team from inside; internal to the room.
 *
 * team.c: mail, parcels, begin and end; tree.c: what all do together, along a binomial tree whose
 * root is the first: the parent of a member is its number without the lowest bit. */
#ifndef LULL_TEAM_TEAM_STATE_H
#define LULL_TEAM_TEAM_STATE_H

#include "team/backend.h"

#include <pthread.h>

enum lull_mail_kind {
    LULL_MAIL_PARCEL,
    LULL_MAIL_PARCEL_LAST = LULL_MAIL_PARCEL + LULL_TEAM_CHANNELS - 1, /* one for each channel */
    LULL_MAIL_UP,                                                      /* along the tree */
    LULL_MAIL_DOWN,                                                    /* likewise */
    LULL_MAIL_BROUGHT, /* a part of what a member brings to the first (bring.h), */
    LULL_MAIL_ASKED,   /* who asks for the next one */
    LULL_MAIL_AGREE,   /* up, */
    LULL_MAIL_AGREED,  /* and down, of an agreement */
    LULL_MAIL_FAILED,  /* the sender waits in an agreement, and will do nothing before that */
    LULL_MAIL_STOP,    /* the sender has failed in a reading */
    LULL_MAIL_LAST     /* of its sender */
};

struct lull_mail_head {
    uint32_t kind;
    /* A parcel: of the reading of its channel; STOP: of the replay; UP, DOWN: of the operation;
     * AGREE, AGREED, FAILED: of the agreement; BROUGHT, ASKED: of that at the end of it; LAST: 1 +
     * a member that has gone without a word, or 0. */
    uint32_t number;
};

struct lull_mail {
    struct lull_mail *next;
    uint32_t from;
    size_t size; /* without the head */
    struct lull_mail_head head;
    unsigned char bytes[]; /* aligned to 8 */
};

struct lull_mail_list {
    struct lull_mail *first, **end; /* NULL: empty */
};

struct lull_team {
    const struct lull_team_backend *backend;
    void *state;
    uint32_t index, size;
    char (*hosts)[64];                    /* [size], on the first */
    uint32_t reading[LULL_TEAM_CHANNELS]; /* its number */
    uint32_t operation;
    uint32_t stopped; /* the last replay that a member has stopped */

    pthread_mutex_t lock; /* of all below, and of the back-end */
    uint32_t agreements;  /* that this member has begun */
    uint32_t failed;      /* the last one that another has come to with a failure */
    struct lull_mail_list parcels[LULL_TEAM_CHANNELS], others;
    bool *last; /* [size]: has sent its last */
    uint32_t n_last;
    uint32_t gone; /* a member that has gone without; LULL_NOBODY_GONE */
    bool no_memory;
};

enum { LULL_NOBODY_GONE = UINT32_MAX };

/* Sends, and fails where there is no memory. */
lull_status lull_team_send(struct lull_team *team, uint32_t to, struct lull_mail_head head,
                           const void *bytes, size_t size, struct lull_error *err);
/* Whether others fail before this member does: what it waits for may never come. Under the lock. */
bool lull_team_others_failed(const struct lull_team *team);
/* Drops what has come and is of an operation that was broken off. Under the lock. */
void lull_team_drop(struct lull_team *team, uint32_t kind);
/* Waits for the mail of a kind that a member sends; it is the caller's then, to be freed. */
lull_status lull_team_expect(struct lull_team *team, uint32_t from, struct lull_mail_head head,
                             struct lull_mail **ret_mail, struct lull_error *err);

#endif
