/* Keys of communicators: numbers that all members of one compute alike, without a message, and that
 * differ from those of all others.
 *
 * A key is a hash of the members, the parent and the tag, and how many of the same were made
 * before. All members of a communicator take part in making every other one of the same members, so
 * that they count alike; MPI itself demands that they do it in the same order.
 *
 * That does not hold for MPI_Intercomm_create where several threads call it at once with the same
 * tag and the same members: what they have apart is only the communicator of their own side. There
 * each side has a key that follows from that one (its half), and the two leaders one more (the
 * link) that follows from the communicator in which they talk.
 *
 * What counts is called with the lock of comms.c held. */
#ifndef LULL_RECORD_MPI_KEYS_H
#define LULL_RECORD_MPI_KEYS_H

#include "record/mpi/wrap.h"

/* A member whose process number is not known. */
#define REC_UNKNOWN_MEMBER UINT32_MAX

/* What the members of a communicator make of it in the same order. */
enum rec_key_use {
    REC_KEY_SPAWN = 0x737061,
    REC_KEY_PERSISTENT = 0x6b6570,
    REC_KEY_NEW = 0x6e6577 /* an intercommunicator */
};

/* Of one that all members make; 0 when a member is not known: such a one is nobody else's. Counts.
 */
uint64_t rec_key_make(const struct rec_mpi_comm *info, const struct rec_mpi_comm *parent, int tag);
/* Of a group of the intercommunicator with that key; 0 of 0. */
uint64_t rec_key_of_group(uint64_t key, const uint32_t *members);
/* Of the next thing of its kind that is made of what has this key; 0 of 0. Counts. */
uint64_t rec_key_next(uint64_t key, enum rec_key_use use);

/* Of all intercommunicators that `local` makes with that tag. */
uint64_t rec_key_of_halves(const struct rec_mpi_comm *local, int tag);
/* At a leader: of all that it makes with another one, `rank` of `peer`; 0: it cannot be told. */
uint64_t rec_key_of_links(const struct rec_mpi_comm *peer, int rank, int tag);

#endif
