/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers: the workers of the pass, who read steps, evaluate the notes and letters of their share,
 * and find out together when all is over. Internal to the room. */
#ifndef LULL_REPLAY_IDEAL_READER_H
#define LULL_REPLAY_IDEAL_READER_H

#include "replay/ideal/share.h"
#include "team/mailbox.h"

/* Whether the readers of a share are to rest, as it is too far ahead of other members. */
static inline bool lull_share_is_ahead(const struct share *share)
{
    const struct lull_ideal *ideal = share->ideal;
    return lull_mailbox_is_ahead(ideal->mailbox, share->index - ideal->first_share);
}

struct reader *lull_reader_create(void);         /* NULL: no memory */
void lull_reader_destroy(struct reader *reader); /* NULL is allowed */
lull_status lull_reader_steps(struct reader *reader, const struct lull_steps *steps,
                              struct lull_error *err);
/* Reads the letters in the inbox of a share. */
void lull_reader_take_letters(struct share *share);
/* Evaluates what is there, and sleeps until something may have changed for the reader. */
void lull_reader_sleep(struct reader *reader, enum sleep why);
/* The failure of the share, or of the mailbox, if there is one. */
lull_status lull_reader_failure(struct share *share, struct lull_error *err);
/* All readers of a struct lull_ideal wake, and read no further. */
void lull_reader_stop(void *ideal);

extern const struct lull_mailbox_owner lull_reader_mail;

#endif
