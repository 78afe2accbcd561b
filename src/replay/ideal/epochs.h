/* Epochs: behind a blocking operation of all in which all wait for all, times count from there;
 * internal to the room.
 *
 * All streams leave such an operation at the same ideal time, that of the last one to come. Which
 * time that is need not be known to go on: a stream tells how late in its epoch it came, and goes
 * on at once at the begin of the next one. What it receives there was sent in the same epoch, or in
 * an earlier one and then is there already, as its sender came to the operation after it had sent.
 * The runtime is the sum over the epochs of how late the last stream came, of which each share
 * keeps 8 bytes an epoch to the end. So no letters are needed, and nobody waits.
 *
 * Ideal times have the number of their epoch above `epoch_bits`, so that a later one is larger.
 *
 * It is seen in its own share that a stream comes to such an operation: the communicator has all
 * processes of the application, each of them has one stream (no crews), there is no window. That
 * all others come to it, too, as their next one, with the same operation, is shown at the end
 * alone, by a signature of what each stream came to. Where that was not so, or a stream still
 * waits, or there was something that depends on how far others were able to go, what was found is
 * void, and the run is read again without epochs. So it is also where the call of such an operation
 * keeps some of its length (in a parallel region): then it matters how late the last stream came.
 */
#ifndef LULL_REPLAY_IDEAL_EPOCHS_H
#define LULL_REPLAY_IDEAL_EPOCHS_H

#include "replay/ideal/gather.h"

/* Whether there are any in this reading. When it is known which processes have crews. */
void lull_epochs_begin(struct lull_ideal *ideal);
/* Whether a communicator with so many members has each process that is analysed. */
bool lull_epochs_have_all(const struct lull_ideal *ideal, uint32_t comm, uint32_t size);
/* Whether a stream ends its epoch when it arrives so. */
bool lull_epoch_ends(const struct share *share, const struct circle *circle,
                     const struct stream *stream, const struct arrival *arrival);
/* `before`: blocking operations of its process on the communicator that end no epoch, so far. */
void lull_epoch_pass(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before);

/* The second half of that: it is in the next epoch, however late it came. */
void lull_epoch_move(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before);

/* ahead.c */
/* A note has been put into the queue of a stream that waits, which it was the first of, or not; the
 * stream may go on then. */
void lull_ahead_look(struct share *share, struct stream *stream, const struct note *note,
                     bool is_first);
/* All notes of a tail have been taken: it is gone. */
void lull_ahead_end_tail(struct share *share, struct stream *tail);
void lull_ahead_free(struct share *share);

/* What has been found is void. */
static inline void lull_epochs_spoil(struct lull_ideal *ideal)
{
    atomic_store_explicit(&ideal->epochs_are_void, true, memory_order_relaxed);
}

static inline int64_t lull_epoch_begin(const struct share *share, const struct stream *stream)
{
    return (int64_t)stream->epochs << share->ideal->epoch_bits;
}

/* A time of an epoch that the stream has not come to. */
static inline bool lull_epoch_is_later(const struct share *share, const struct stream *stream,
                                       int64_t time)
{
    return time >> share->ideal->epoch_bits > (int64_t)stream->epochs;
}

/* The call of an operation that has ended an epoch, is over. */
static inline void lull_epoch_leave(struct share *share, struct stream *stream)
{
    if (stream->passes && stream->time != lull_epoch_begin(share, stream))
        lull_epochs_spoil(share->ideal);
    stream->passes = false;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

/* Of all members of a team: what was found is void. */
lull_status lull_epochs_look_back(struct lull_ideal *ideal, bool *ret_void, struct lull_error *err);
/* How long the epochs have lasted that all streams have ended, on the first. */
lull_status lull_epochs_sum(const struct lull_ideal *ideal, int64_t *ret_sum,
                            struct lull_error *err);

#endif
