/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations, communicators and their members. Internal to the room.
 *
 * All members of a communicator arrive at its home, the share of its first analysed process. The
 * home tells other shares with members what these wait for. Whether a member may go on is decided
 * in its own share.
 *
 * Waits gather their operations in wait/collective.c. Who takes part, and for whom each one waits, is
 * the same (match/circle.h). Here each arrival is a time and an operation, which is compared with
 * those of the others; there it is a ledger of some KiB, so that a member tells one for all of its
 * ranks, and what comes from ranks whose records have ended. */
#ifndef LULL_REPLAY_IDEAL_GATHER_H
#define LULL_REPLAY_IDEAL_GATHER_H

#include "replay/ideal/share.h"

/* Gives a share its communicators; false: no memory. */
bool lull_gather_create(struct share *share);
void lull_gather_free(struct share *share); /* NULL is allowed */
/* Takes the next ticket of a process: the number of its next operation in the series. LULL_NONE: it
 * is no member, or there is no memory. */
uint32_t lull_gather_ticket(struct share *share, struct process *process, uint32_t comm, uint8_t op,
                            bool non_blocking);
/* The stream arrives at an operation. False: it has nothing to wait for, as its process is no
 * member (which is a complaint), the operation ends an epoch, or there is no memory, which is
 * noted. */
bool lull_gather_arrive(struct share *share, struct stream *stream, const struct arrival *arrival,
                        struct pending *ret_pending);
/* Whether the stream would end its epoch if it arrived so. */
bool lull_gather_ends_epoch(struct share *share, const struct stream *stream,
                            const struct arrival *arrival);
/* The stream goes on in the next epoch; its tail will tell how late it came to the end of this one.
 */
void lull_gather_skip(struct share *share, struct stream *stream, const struct arrival *arrival);
/* Whether the process may leave the operation, and at which ideal time, with its path, which the
 * caller holds then; if so, it has left. */
bool lull_gather_leave(struct share *share, const struct pending *pending, int64_t *ret_time,
                       uint32_t *ret_path);
void lull_gather_wait(struct share *share, struct stream *stream, const struct pending *pending);
void lull_gather_letter(struct share *share, uint32_t from, const struct letter *letter);
/* At the end: complains about operations that are still open and contradict each other. */
void lull_gather_complain(struct share *share);

#endif
