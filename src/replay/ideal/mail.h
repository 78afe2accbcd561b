/* SPDX-License-Identifier: BSD-3-Clause */
/* Letters from share to share, also of different members of a team. Internal to the room.
 *
 * Letters are filled into batches, which are put into the inboxes of shares of this member. A batch
 * for a share of another member is posted as a parcel (team/mailbox.h); a parcel that comes is put
 * into the inbox of its share. */
#ifndef LULL_REPLAY_IDEAL_MAIL_H
#define LULL_REPLAY_IDEAL_MAIL_H

#include "replay/ideal/share.h"

/* Puts a batch into the inbox of a share of this member, and wakes one of its readers if `wakes`.
 */
void lull_post_put(struct share *target, struct batch *batch, bool wakes);
/* A new letter, for the caller to fill. NULL: no memory, which is noted. */
struct letter *lull_post(struct share *share, uint32_t to, uint8_t kind);
/* Posts a path to another share, before the letter that it belongs to; the caller goes on to hold it. */
void lull_post_path(struct share *share, uint32_t to, uint32_t path);
/* A letter with a part of a path has come. */
void lull_post_path_letter(struct share *share, uint32_t from, const struct letter *letter);
/* The path that came before a letter from that share; the caller holds it. */
uint32_t lull_post_path_of(struct share *share, uint32_t from);
/* Hands over the letters for one share, or all. */
void lull_post_hand_over(struct share *share, uint32_t to);
void lull_post_flush(struct share *share);
/* Keeps a batch to be filled again. */
void lull_post_keep(struct share *share, struct batch *batch);
/* Wakes a reader if it sleeps for that reason; AWAKE: for any. */
void lull_post_rouse(struct reader *reader, enum sleep why);
void lull_post_rouse_all(struct lull_ideal *ideal);

/* A parcel from another member: puts its batch into the inbox of its share. */
void lull_post_deliver(struct lull_ideal *ideal, const void *letters);

#endif
