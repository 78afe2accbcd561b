/* SPDX-License-Identifier: BSD-3-Clause */
/* Ending: how members find out that all of them have nothing to do and no parcel is on its way.
 *
 * A member has *settled* when it does nothing before a parcel comes. Settled members report to the
 * first how many parcels they have sent and received. When as many were received as sent, the first
 * asks all once more. If nothing has changed, no parcel was on its way at the end of the first
 * count (F. Mattern, Distributed Computing 2, 1987, the method of four counters). The owner of an
 * ending sends and takes its notes as parcels among other parcels, but does not count them. In its
 * answer each member also tells its findings; at the end every member has those of all, and so all
 * decide alike how to go on. */
#ifndef LULL_TEAM_ENDING_H
#define LULL_TEAM_ENDING_H

#include "team/team.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== ending ================================================================================== */

struct lull_ending_note {
    uint32_t kind;  /* internal */
    uint32_t probe; /* the number of the question that the note asks or answers */
    uint64_t settled, sent, received;
    uint64_t findings; /* of the member that answers; in the last note, of all members */
};

struct lull_ending_known;

struct lull_ending {
    struct lull_team *team;
    /* Sends a note as a parcel. */
    lull_status (*tell)(void *context, uint32_t to, const struct lull_ending_note *note,
                        struct lull_error *err);
    /* Returns the findings of this member, as bits, once it has settled; NULL: it has none. */
    uint64_t (*look)(void *context);
    void *context;
    bool settled;            /* set by the owner: this member has settled */
    uint64_t sent, received; /* set by the owner: parcels so far */
    bool over;               /* the result */
    uint64_t findings;       /* when it is over: the findings of all members, joined by `or` */

    /* internal */
    bool told;
    uint64_t told_sent, told_received; /* in the last report */
    struct lull_ending_known *known;   /* [members], used on the first */
    uint32_t probe;                    /* number of the last question */
    bool asked;                        /* the question has not been answered by all */
    bool spoilt;                       /* a member has answered that it has not settled after all */
    uint64_t counted;                  /* parcels that had been sent when the question was asked */
};

/* The caller sets team, tell, look and context; all else is zero. False: no memory. */
bool lull_ending_open(struct lull_ending *ending);
void lull_ending_close(struct lull_ending *ending);

/* Begins another ending. All members call this once an ending is over, before they send anything
 * else. */
void lull_ending_again(struct lull_ending *ending);

/* A note has come. */
lull_status lull_ending_hear(struct lull_ending *ending, uint32_t from,
                             const struct lull_ending_note *note, struct lull_error *err);
/* Called now and then by a member that has settled: reports it to the first, unless nothing has
 * changed since the last report. */
lull_status lull_ending_report(struct lull_ending *ending, struct lull_error *err);

/* ==== patience ================================================================================ */

/* Patience: how long a member waits between two looks for mail. At first it looks again at once,
 * then it sleeps longer and longer, because another member may need the core. */

struct lull_patience {
    unsigned at_once; /* how many times the member looks again at once, before it sleeps */
    unsigned looks;   /* how often it has looked since something came, up to `at_once` */
    int64_t nap;      /* how long it slept last, ns; 0: it has not slept yet */
    int64_t since;    /* since when the member has been settled, ns of the monotonic clock; 0: it is
                         not */
};

/* Something has come. */
void lull_patience_renew(struct lull_patience *patience);

/* Whether a member has been settled for so long that it is worth a report to the first. Most
 * members get a parcel sooner than that, so that a report at once would be wasted. */
bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled);

/* Nothing has come: returns how long to wait before the next look, in ns; 0: not at all. */
int64_t lull_patience_lose(struct lull_patience *patience);

/* Sleeps for `ns`; 0: only lets another process have the core. */
void lull_patience_wait(int64_t ns);

#endif
