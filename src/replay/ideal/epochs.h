/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs: a blocking operation of all processes in which all wait for all (a barrier, an allreduce)
 * ends an epoch, and times behind it count from there. Internal to the room.
 *
 * All streams leave such an operation at the same ideal time, that of the last one to come. To go
 * on, a stream need not know that time: it tells its share how late in its epoch it came, and is at
 * once at the begin of the next epoch. A message that it receives there was sent in the same epoch;
 * or it was sent in an earlier one and is there already, because its sender came to the operation
 * after it had sent. The runtime is the sum over all epochs of how late the last stream came. For
 * that each share keeps 8 bytes an epoch to the end. So shares need no letters and do not wait.
 *
 * An ideal time has the number of its epoch above its low `epoch_bits` bits, so that times of a
 * later epoch are larger.
 *
 * A share sees by itself that a stream comes to such an operation: the communicator has all
 * processes of the application, each of which has one stream (no crews), and there is no window.
 * Only the end shows that all other streams came to the same operation as their next one: then the
 * signatures of the streams are compared. What was found is void, and the run is read again without
 * epochs, where
 *  - the signatures differ, or a stream still waits;
 *  - something depended on how far other streams were able to go;
 *  - the call of such an operation keeps some of its length (in a parallel region), because then it
 *    matters how late the last stream came. */
#ifndef LULL_REPLAY_IDEAL_EPOCHS_H
#define LULL_REPLAY_IDEAL_EPOCHS_H

#include "replay/ideal/share.h"

/* Decides whether this reading has epochs; called when it is known which processes have crews. A reading with paths
 * (path.h) has none, because it has to know who came last. */
void lull_epochs_begin(struct lull_ideal *ideal);
/* Whether a communicator of `size` members has each process that is analysed, once; false where
 * this reading has no epochs. */
bool lull_epochs_have_all(const struct lull_ideal *ideal, uint32_t comm, uint32_t size);
/* Whether a stream that arrives at this operation of a communicator that has all ends its epoch. */
bool lull_epoch_ends(const struct share *share, const struct stream *stream,
                     const struct arrival *arrival);
/* The stream ends its epoch: notes how late it came, and moves to the next epoch. `before`:
 * blocking operations of its process on the communicator so far that ended no epoch; they are part
 * of the signature. */
void lull_epoch_pass(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before);

/* Only moves the stream to the next epoch. */
void lull_epoch_move(struct share *share, struct stream *stream, const struct arrival *arrival,
                     uint32_t before);

/* ---- times --------------------------------------------------------------------------------- */

/* What this reading finds is void. */
static inline void lull_epochs_spoil(struct lull_ideal *ideal)
{
    atomic_store_explicit(&ideal->epochs_are_void, true, memory_order_relaxed);
}

/* The ideal time at which the epoch of a stream begins. */
static inline int64_t lull_epoch_begin(const struct share *share, const struct stream *stream)
{
    return (int64_t)stream->epochs << share->ideal->epoch_bits;
}

/* Whether a time is of an epoch that the stream has not come to. */
static inline bool lull_epoch_is_later(const struct share *share, const struct stream *stream,
                                       int64_t time)
{
    return time >> share->ideal->epoch_bits > (int64_t)stream->epochs;
}

/* A call is over. If its operation ended an epoch, it must have kept nothing of its length. */
static inline void lull_epoch_leave(struct share *share, struct stream *stream)
{
    if (stream->passes && stream->time != lull_epoch_begin(share, stream))
        lull_epochs_spoil(share->ideal);
    stream->passes = false;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* By all members of a team together, when shares have complained: whether what they found is void. */
lull_status lull_epochs_look_back(struct lull_ideal *ideal, bool *ret_void, struct lull_error *err);
/* By all members together: the sum of the lengths of all epochs, ns; right on the first member. */
lull_status lull_epochs_sum(const struct lull_ideal *ideal, int64_t *ret_sum,
                            struct lull_error *err);

#endif
