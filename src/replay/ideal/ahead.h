/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that go ahead: in the next epoch, before it is known how late they come to the end of this
 * one. Internal to the room. */
#ifndef LULL_REPLAY_IDEAL_AHEAD_H
#define LULL_REPLAY_IDEAL_AHEAD_H

#include "replay/ideal/share.h"

/* A note has been put at the end of the queue of a stream that waits. If the note ends the epoch,
 * the queue becomes a tail, and the stream can go on. `is_first`: the queue was empty. To be called
 * only in a reading with epochs, of a trace without synchronous sends. */
void lull_ahead_look(struct share *share, struct stream *stream, const struct note *note,
                     bool is_first);
/* All notes of a tail have been taken: it is gone. */
void lull_ahead_end_tail(struct share *share, struct stream *tail);

#endif
