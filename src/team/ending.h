/* Ending: when all members have nothing to do and no parcel is on its way.
 *
 * A member has *settled* when it does nothing before a parcel comes. Settled members report how
 * many parcels they have sent and received to the first. When that adds up, it asks all once more;
 * if nothing has changed, nothing was on its way at the end of the first count (F. Mattern,
 * Distributed Computing 2, 1987, the method of four counters). Notes of this are parcels, too,
 * which do not count: their owner sends and takes them among its own. With their answers members
 * tell what a decision depends on that all take then. */
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
    bool settled; /* these three its owner keeps */
    uint64_t sent, received;
    bool over;         /* the result, ... */
    uint64_t findings; /* ... with that of all members */

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

/* Once it is over, on all members, before anything else is sent: there is another one. */
void lull_ending_again(struct lull_ending *ending);

/* A note has come. */
lull_status lull_ending_hear(struct lull_ending *ending, uint32_t from,
                             const struct lull_ending_note *note, struct lull_error *err);
/* By a member that has settled, now and then: it tells so where that is not known. */
lull_status lull_ending_report(struct lull_ending *ending, struct lull_error *err);

/* ==== patience ================================================================================ */

/* Patience: how a member waits that looks for mail again and again. It looks at once at first, then
 * sleeps longer and longer, as another member may need the core. */

struct lull_patience {
    unsigned at_once; /* so many times it looks at once */
    unsigned looks;   /* since it was renewed ... */
    int64_t nap;      /* ... and how long it sleeps next, ns; 0: not yet */
    int64_t since; /* since when it has had nothing to do, ns of the monotonic clock; 0: has not */
};

/* Something has come. */
void lull_patience_renew(struct lull_patience *patience);

/* Whether who has nothing to do, as `settled` says, has had nothing for so long that it is worth a
 * word: most are woken sooner. */
bool lull_patience_is_worth_a_word(struct lull_patience *patience, bool settled);

/* Nothing has come: how long to wait for it, in ns; 0: it looks at once. */
int64_t lull_patience_lose(struct lull_patience *patience);

/* Sleeps so long, or lets another member have the core. */
void lull_patience_wait(int64_t ns);

#endif
