/* Keys of communicators: numbers that all members of one compute alike, without a message, and that
 * differ from those of all others.
 *
 * What all members of a communicator make of it, they make in the same order, as MPI demands: so
 * the key of one that is made is a hash of its parent's key, of how many were made of that before,
 * and of its first member, which tells it from the others that the same call makes (of a split). So
 * nobody has to know all members. Who gets none of them counts as well.
 *
 * MPI_Comm_create_group and its like are calls of the new one's members alone, and of an
 * intercommunicator each side has a parent of its own: there the key is a hash of all members, the
 * parent and the tag, and of how many of the same were made before.
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

/* What the members of a communicator make of it in the same order. */
enum rec_key_use {
    REC_KEY_SPAWN = 0x737061,
    REC_KEY_PERSISTENT = 0x6b6570,
    REC_KEY_NEW = 0x6e6577,   /* an intercommunicator */
    REC_KEY_MAKING = 0x6d616b /* a call of all members that makes communicators */
};

/* Of the world whose rank 0 has that number. */
uint64_t rec_key_of_world(uint32_t first, int size);
/* Of what a call has made that all members of another one call; `making`: rec_key_next of that. 0
 * of 0. */
uint64_t rec_key_of_child(uint64_t making, uint32_t first);
/* By all members; 0 when one is not known: such a one is nobody else's. `parent`: its key, or 0.
 * Counts. */
uint64_t rec_key_of_members(const struct rec_mpi_comm *info, uint64_t parent, int tag);
/* Of a group of the intercommunicator with that key; 0 of 0. */
uint64_t rec_key_of_group(uint64_t key, uint32_t first);
/* Of the next thing of its kind that is made of what has this key; 0 of 0. Counts. */
uint64_t rec_key_next(uint64_t key, enum rec_key_use use);

/* Of all intercommunicators that `local` makes with that tag. */
uint64_t rec_key_of_halves(const struct rec_mpi_comm *local, int tag);
/* At a leader: of all that it makes with another one, `rank` of `peer`; 0: it cannot be told. */
uint64_t rec_key_of_links(const struct rec_mpi_comm *peer, int rank, int tag);

#endif
