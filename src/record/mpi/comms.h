/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: which processes they hold, and keys (record/mpi/comms.c) that name the same
 * communicator alike in all processes. */
#ifndef LULL_RECORD_MPI_COMMS_H
#define LULL_RECORD_MPI_COMMS_H

#include "record/mpi/wrap.h"

/* After MPI_Init, called by all ranks: exchanges the process numbers. False: nothing can be
 * recorded. */
bool rec_mpi_begin_world(MPI_Comm world);

/* The highest process number in the world. */
uint32_t rec_mpi_highest_number(void);
/* A key by which all members of a communicator name its next spawn alike; each call counts one
 * spawn. 0: the members have no such key. */
uint64_t rec_mpi_spawn_key(const struct rec_mpi_comm *comm);
/* A communicator with the processes of a window, of which only size and members are filled in. */
const struct rec_mpi_comm *rec_mpi_look_at_window(MPI_Win window);
/* Process numbers of all members by rank, of an intercommunicator those of the own group; the
 * caller frees them. NULL: there is no memory. */
uint32_t *rec_mpi_list_members(MPI_Comm comm, int size);
/* Makes a communicator that MPI does not have. `members` are process numbers, of which ours is the
 * one at `rank`; the array is kept, not copied. Each member makes the communicator once. Returns
 * the world where there is no memory. */
const struct rec_mpi_comm *rec_mpi_add_members(const uint32_t *members, int size, int rank);
/* The id of the communicator on which a persistent collective operation matches, one for each: all
 * ranks make these operations in the same order on a communicator, and start them in any order. */
uint32_t rec_mpi_persistent_comm(const struct rec_mpi_comm *comm);
#if defined(MPI_SESSION_NULL)
/* In a program without MPI_Init: takes the processes of the session's world to be those that the
 * launcher has numbered. Nothing is exchanged with them. */
void rec_mpi_find_processes(MPI_Session session);
#endif
/* MPI_Comm_spawn has made `fresh`, which is called `name` where the library has no name for it. */
void rec_mpi_spawned_comm(struct rec_mpi_call *call, MPI_Comm parent, MPI_Comm fresh,
                          const char *name);
/* Rank r of the other group of `inter` is process first + r, below first + count. */
void rec_mpi_add_spawned(MPI_Comm inter, uint32_t first, uint32_t count);

#endif
