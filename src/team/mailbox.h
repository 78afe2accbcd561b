/* SPDX-License-Identifier: BSD-3-Clause */
/* A mailbox: what the members of a team tell each other while an analysis reads a run.
 *
 * Members send each other letters, whose content only the analysis knows. Letters travel in
 * parcels. The parcels from one member to another arrive in the order in which they were posted.
 *
 * Rounds. A member has settled when it does nothing before a letter comes. All members rest when
 * each of them has settled and as many parcels have come as were posted (team/ending.h). Then the
 * findings of all members are joined, and from the joined findings each member decides the same, as
 * one process would. That ends a round. What a member posts after a decision must not reach a
 * member that does not know of the decision yet, so each member holds parcels of a later round
 * back.
 *
 * Lead. A member keeps the letters that it has received until it needs them. A receiver that has
 * been read up to some measured time needs what was sent before that time. So a bound is set to the
 * letters that a share (some workers of this member) has posted beyond the time up to which the
 * slowest other member has been read. While there are more such letters, the share is too far
 * ahead, and its workers are to rest. As clocks may contradict each other, another member may wait
 * for something that was sent later still; then lull_mailbox_grant raises the bound. */
#ifndef LULL_TEAM_MAILBOX_H
#define LULL_TEAM_MAILBOX_H

#include "team/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== mailbox ================================================================================= */

/* What an analysis does with a mailbox: one constant struct per analysis. All functions but `take`
 * and `has_settled` may be NULL. They are called by the thread that takes mail, one at a time;
 * `go_on` is called by lull_mailbox_grant, too, and `fail` by any thread that fails. */
struct lull_mailbox_owner {
    enum lull_team_channel channel;
    unsigned at_once; /* as in struct lull_patience, for lull_mailbox_look_out */
    /* A parcel of letters has come. `letters` is aligned to 8 bytes, and valid until `take`
     * returns. */
    void (*take)(void *context, uint32_t from, const void *letters, size_t size);
    /* Whether this member does nothing before a letter comes. */
    bool (*has_settled)(void *context);
    /* The findings of this member as bits, asked for when it has settled. */
    uint64_t (*look)(void *context);
    /* All members rest, and `findings` has the bits that any of them found. The round is over. */
    void (*decide)(void *context, uint64_t findings);
    void (*go_on)(void *context, unsigned share); /* the share is not too far ahead any more */
    /* The first failure has been noted. */
    void (*fail)(void *context);
};

/* Where lull is alone, the mailbox is NULL. The functions that post, lull_mailbox_start and
 * lull_mailbox_fail need a mailbox. All others take NULL as a mailbox to which nothing comes. */
struct lull_mailbox;

struct lull_mailbox_options {
    struct lull_team *team;
    unsigned workers;          /* the number of workers of this member; each worker tells how far it
                                  has read */
    unsigned workers_of_share; /* worker w belongs to share w / workers_of_share; 0: all workers are
                                  one share */
    /* Bytes of letters that a share may be ahead; 0: its part of 64 MiB, which all shares of the
     * member have together. */
    uint64_t ahead;
};

/* Called by all members, after each has begun a reading of the channel (lull_team_begin). `owner`
 * and `context` are borrowed. NULL: no memory. */
struct lull_mailbox *lull_mailbox_open(const struct lull_mailbox_owner *owner, void *context,
                                       const struct lull_mailbox_options *options);
void lull_mailbox_close(struct lull_mailbox *mailbox);

/* Notes a failure, unless one has been noted before. Posting and taking note their failures
 * themselves, also that another member has failed or gone. After a failure no mail is taken. */
void lull_mailbox_fail(struct lull_mailbox *mailbox, lull_status status,
                       const struct lull_error *err);
/* The failure that has been noted, with its message; LULL_OK: none has. */
lull_status lull_mailbox_failure(struct lull_mailbox *mailbox, struct lull_error *err);

/* ---- posting ------------------------------------------------------------------------------- */

/* A parcel of letters begins with this many bytes, which lull_mailbox_post fills. */
enum { LULL_MAILBOX_HEAD = 8 };

/* Posts a parcel of letters of a share; `size` includes the head. The bytes are copied. Called by
 * any thread, while this member has not settled. */
void lull_mailbox_post(struct lull_mailbox *mailbox, unsigned share, uint32_t member, void *parcel,
                       size_t size);

/* Room for a letter of at most `most` bytes of the first share; NULL: no memory. Such letters to
 * one member are collected and go as one parcel, of at most 64 KiB. The parcel goes when the next
 * letter might not fit, or when lull_mailbox_look_out has posted none for 2 ms (in a team of more
 * than 40 members, for 50 us times the number of members). The caller writes the letter, and then
 * calls lull_mailbox_fill with the number of bytes that the letter has become. In between, other
 * threads wait that want room for a letter. */
void *lull_mailbox_room(struct lull_mailbox *mailbox, uint32_t member, size_t most);
void lull_mailbox_fill(struct lull_mailbox *mailbox, uint32_t member, size_t size);

/* ---- taking -------------------------------------------------------------------------------- */

/* Takes the mail that has come, and tells the other members now and then how far this member has
 * been read. Returns whether any mail had come; false also while another thread takes mail. */
bool lull_mailbox_take(struct lull_mailbox *mailbox);
/* The same by a thread that has nothing else to do: it also posts the letters that have been
 * collected, tells that this member has settled, and sleeps a little where nothing has come.
 * Returns false at once while another thread takes mail, else true. */
bool lull_mailbox_look_out(struct lull_mailbox *mailbox);
/* Starts a thread that calls lull_mailbox_look_out until lull_mailbox_stop. False: the thread
 * cannot be started. */
bool lull_mailbox_start(struct lull_mailbox *mailbox);
void lull_mailbox_stop(struct lull_mailbox *mailbox);

/* ---- lead ---------------------------------------------------------------------------------- */

/* A worker of this member has read up to this measured time; INT64_MAX: it has read all. */
void lull_mailbox_reads(struct lull_mailbox *mailbox, unsigned worker, int64_t time);
/* Whether the workers of a share are to rest. */
bool lull_mailbox_is_ahead(const struct lull_mailbox *mailbox, unsigned share);
/* If a share is too far ahead, doubles the bound of all shares, and lets those go on that are
 * within the new bound. */
void lull_mailbox_grant(struct lull_mailbox *mailbox);

/* ==== lead from inside ======================================================================== */

/* How far the shares of this member are ahead of other members; for the mailbox, and for tests. */
struct lull_lead;

/* NULL: no memory. */
struct lull_lead *lull_lead_create(const struct lull_mailbox_options *options);
void lull_lead_destroy(struct lull_lead *lead); /* NULL is allowed */
/* A worker of this member has read up to this measured time. */
void lull_lead_reads(struct lull_lead *lead, unsigned worker, int64_t time);
/* A share has posted this many bytes of letters. */
void lull_lead_posted(struct lull_lead *lead, unsigned share, size_t bytes);
/* Whether a share is too far ahead. */
bool lull_lead_is_too_large(const struct lull_lead *lead, unsigned share);
/* Whether the other members are to be told how far this member has read; *ret_time is the time up
 * to which all its workers have read. False: it has not changed, or was told a moment ago. */
bool lull_lead_to_tell(struct lull_lead *lead, int64_t *ret_time);
/* Another member has been read up to this time. */
void lull_lead_heard(struct lull_lead *lead, uint32_t member, int64_t time);
/* If a share is too far ahead, doubles the bound, and returns true. */
bool lull_lead_double(struct lull_lead *lead);
/* Whether a share was too far ahead and is so no more. To be asked of each share after
 * lull_lead_heard and lull_lead_double. */
bool lull_lead_goes_on(struct lull_lead *lead, unsigned share);

#endif
