/* A mailbox: what the members of a team tell each other while an analysis reads a run.
 *
 * What they tell are letters, of which only the analysis knows what they say. They go in parcels,
 * and come in order between two members.
 *
 * Rounds. All members rest when each of them has settled (it does nothing before a letter comes) and
 * as many parcels have come as were posted (team/ending.h). Then all members put together what they
 * find, and each decides the same by that, as one process would. That ends a round. What a member
 * posts after a decision must not reach a member that does not know of it yet, so a parcel of a
 * later round is held back.
 *
 * Lead. What a member posts to others is kept there until it is needed. A receiver that has been
 * read up to some measured time needs what was sent before that time. So the letters that a share
 * (some workers of this member) has posted beyond the time of the member that has been read least
 * far are bounded. While there are more, the share is too far ahead, and its workers are to rest.
 * As clocks may contradict each other, others may wait for something that was sent later still; then
 * lull_mailbox_grant lets the shares go on. */
#ifndef LULL_TEAM_MAILBOX_H
#define LULL_TEAM_MAILBOX_H

#include "team/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== mailbox ================================================================================= */

/* What an analysis does with a mailbox: one constant struct per analysis. All but `take` and
 * `has_settled` may be NULL. They are called by whoever looks for mail, one at a time. */
struct lull_mailbox_owner {
    enum lull_team_channel channel;
    unsigned at_once; /* as in struct lull_patience: for lull_mailbox_look_out */
    /* A parcel of letters has come. `letters` is aligned to 8, and lives until `take` returns. */
    void (*take)(void *context, uint32_t from, const void *letters, size_t size);
    bool (*has_settled)(void *context);
    uint64_t (*look)(void *context); /* what this member finds, in bits, once all rest */
    /* All rest, and have found this together. The round is over. */
    void (*decide)(void *context, uint64_t findings);
    void (*go_on)(void *context, unsigned share); /* the share is not too far ahead any more */
    /* The first failure has been noted. Called by any thread that posts, too. */
    void (*fail)(void *context);
};

/* NULL: lull is alone. All functions but those that post take that as a mailbox to which nothing
 * comes. */
struct lull_mailbox;

struct lull_mailbox_options {
    struct lull_team *team;
    unsigned workers;          /* of this member, each of which tells how far it has read */
    unsigned workers_of_share; /* worker w is of share w / workers_of_share; 0: one share has all */
    uint64_t ahead; /* bytes of letters that a share may be ahead; 0: 64 MiB for all together */
};

/* By all members, which have begun a reading of the channel (lull_team_begin). `owner` and `context`
 * are borrowed. NULL: no memory. */
struct lull_mailbox *lull_mailbox_open(const struct lull_mailbox_owner *owner, void *context,
                                       const struct lull_mailbox_options *options);
void lull_mailbox_close(struct lull_mailbox *mailbox);

/* The first failure of posting or taking is kept, as where another member has failed or gone. From
 * then on nothing is taken. */
void lull_mailbox_fail(struct lull_mailbox *mailbox, lull_status status,
                       const struct lull_error *err);
lull_status lull_mailbox_failure(struct lull_mailbox *mailbox, struct lull_error *err);

/* ---- posting ------------------------------------------------------------------------------- */

/* A parcel of letters begins with so many bytes, which lull_mailbox_post fills. */
enum { LULL_MAILBOX_HEAD = 8 };

/* Posts a parcel of letters of a share. By any thread, while this member has not settled. */
void lull_mailbox_post(struct lull_mailbox *mailbox, unsigned share, uint32_t member, void *parcel,
                       size_t size);

/* A letter of the first share that waits for company: up to 64 KiB of letters to a member, or for 2
 * ms, go as one parcel. Room for such a letter, which has at most so many bytes; NULL: no memory.
 * Between this and lull_mailbox_fill, which says how many bytes it has become, nobody else writes
 * one. */
void *lull_mailbox_room(struct lull_mailbox *mailbox, uint32_t member, size_t most);
void lull_mailbox_fill(struct lull_mailbox *mailbox, uint32_t member, size_t size);

/* ---- taking -------------------------------------------------------------------------------- */

/* Takes what has come, and tells the others now and then how far this member has been read. Returns
 * whether there was anything; false also while another thread does this. */
bool lull_mailbox_take(struct lull_mailbox *mailbox);
/* The same by a thread that has nothing else to do: it also posts what has waited for company, tells
 * that this member has settled, and waits a little where nothing has come. Returns false at once
 * while another thread looks. */
bool lull_mailbox_look_out(struct lull_mailbox *mailbox);
/* A thread of the mailbox looks out, from start to stop. False: it cannot be started. */
bool lull_mailbox_start(struct lull_mailbox *mailbox);
void lull_mailbox_stop(struct lull_mailbox *mailbox);

/* ---- lead ---------------------------------------------------------------------------------- */

/* A worker of this member has come to this measured time; INT64_MAX: it has read all. */
void lull_mailbox_reads(struct lull_mailbox *mailbox, unsigned worker, int64_t time);
/* Whether the workers of a share are to rest. */
bool lull_mailbox_is_ahead(const struct lull_mailbox *mailbox, unsigned share);
/* If a share is too far ahead, doubles the bound of all. */
void lull_mailbox_grant(struct lull_mailbox *mailbox);

/* ==== lead from inside ======================================================================== */

/* For the mailbox, and for tests. */
struct lull_lead;

/* As in the options. NULL: no memory. */
struct lull_lead *lull_lead_create(const struct lull_mailbox_options *options);
void lull_lead_destroy(struct lull_lead *lead); /* NULL is allowed */
void lull_lead_reads(struct lull_lead *lead, unsigned worker, int64_t time);
/* A share has posted so many bytes of letters. */
void lull_lead_posted(struct lull_lead *lead, unsigned share, size_t bytes);
bool lull_lead_is_too_large(const struct lull_lead *lead, unsigned share);
/* The time up to which all workers of this member have read. False: it need not be told now, as it
 * has not changed, or was told a moment ago. */
bool lull_lead_to_tell(struct lull_lead *lead, int64_t *ret_time);
/* Another member has been read up to this time, or (lull_lead_double) the bound is doubled if a share
 * is too far ahead. lull_lead_goes_on then asks of each share whether it is too far ahead no more. */
void lull_lead_heard(struct lull_lead *lead, uint32_t member, int64_t time);
bool lull_lead_double(struct lull_lead *lead);
bool lull_lead_goes_on(struct lull_lead *lead, unsigned share);

#endif
