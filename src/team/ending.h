/* Ending: how members find out that all of them have nothing to do and no parcel is on its way.
 *
 * A member has *settled* when it does nothing before a parcel comes. Settled members report to the
 * first how many parcels they have sent and received. When as many were received as sent, the first
 * asks all once more. If nothing has changed, no parcel was on its way at the end of the first
 * count (F. Mattern, Distributed Computing 2, 1987, the method of four counters). The notes of an
 * ending are sent and taken by its owner as parcels among its own, but are not counted. In their
 * answers members also tell their findings, on which the decision depends that all take then. */
#ifndef LULL_TEAM_ENDING_H
#define LULL_TEAM_ENDING_H

#include "team/team.h"

#include <stdbool.h>
#include <stdint.h>

/* ==== ending ================================================================================== */

struct lull_ending_note {
    uint32_t kind;  /* internal */
    uint32_t probe; /* the number of the question that it asks or answers */
    uint64_t settled, sent, received;
    uint64_t findings; /* of the member; at the end, of all */
};

struct lull_ending_known;

struct lull_ending {
    struct lull_team *team;
    /* Sends a note as a parcel. */
    lull_status (*tell)(void *context, uint32_t to, const struct lull_ending_note *note,
                        struct lull_error *err);
    /* What this member, which has settled, finds, in bits; NULL: nothing. */
    uint64_t (*look)(void *context);
    void *context;
    bool settled;            /* set by the owner: this member has settled */
    uint64_t sent, received; /* set by the owner: parcels so far */
    bool over;               /* the result */
    uint64_t findings;       /* when it is over: those of all members, put together with `or` */

    /* internal */
    bool told;
    uint64_t told_sent, told_received; /* in the last report */
    struct lull_ending_known *known;   /* the first: [members] */
    uint32_t probe;
    bool asked;
    bool spoilt;      /* one has answered that it has not settled after all */
    uint64_t counted; /* parcels, when it asked */
};

/* The caller sets team, tell, look and context; all else is zero. False: no memory. */
bool lull_ending_open(struct lull_ending *ending);
void lull_ending_close(struct lull_ending *ending);

/* Begins another ending; on all members, once one is over, before anything else is sent. */
void lull_ending_again(struct lull_ending *ending);

/* A note has come. */
lull_status lull_ending_hear(struct lull_ending *ending, uint32_t from,
                             const struct lull_ending_note *note, struct lull_error *err);
/* Called now and then by a member that has settled: tells the first, unless it has told already. */
lull_status lull_ending_report(struct lull_ending *ending, struct lull_error *err);

/* ==== patience ================================================================================ */

/* Patience: how a member waits that looks for mail again and again. It looks at once at first, then
 * sleeps longer and longer, as another member may need the core. */

struct lull_patience {
    unsigned at_once; /* so many times it looks again at once, before it sleeps in between */
    unsigned looks;   /* how often it has looked since something came */
    int64_t nap;      /* how long it sleeps next, ns; 0: it has not slept yet */
    int64_t since; /* since when it has had nothing to do, ns of the monotonic clock; 0: it has */
};

/* Something has come. */
void lull_patience_renew(struct lull_patience *patience);

/* Whether a member has been settled for so long that it is worth a word. Most members are woken
 * sooner, so it would be a waste to tell at once. */
bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled);

/* Nothing has come: how long to wait for it, in ns; 0: it looks at once. */
int64_t lull_patience_lose(struct lull_patience *patience);

/* Sleeps for `ns`; 0: only lets another process have the core. */
void lull_patience_wait(int64_t ns);

#endif
