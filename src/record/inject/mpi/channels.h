/* Channels: which messages are matched in their order, and how many there were. Internal to the
 * folder. */
#ifndef LULL_RECORD_INJECT_MPI_CHANNELS_H
#define LULL_RECORD_INJECT_MPI_CHANNELS_H

#include "record/mpi/wrap.h"

#include <pthread.h>

/* A hash of two numbers that is never 0 or 1. */
uint64_t rec_channel_mix(uint64_t a, uint64_t b);

/* The same communicator at all of its members; 0: it cannot be told. */
uint64_t rec_channel_comm(const struct rec_mpi_comm *comm);

/* From rank `peer` (of the other group, where there are two) to this process, or (`sends`) to it
 * from here; 0: it cannot be told which process that is. *ret_source: number of the sender. */
uint64_t rec_channel_of(const struct rec_mpi_comm *comm, int peer, int tag, bool sends,
                        uint32_t *ret_source);

/* Of the counters, and of the requests of this folder. */
extern pthread_mutex_t rec_channel_lock;

/* Counters by key, 0 at first; with the lock held, until the next call. NULL: there is no memory.
 */
uint64_t *rec_channel_count(uint64_t key);

#endif
